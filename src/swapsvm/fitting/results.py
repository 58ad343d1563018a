"""The results of all problems of a plan. There may be thousands, of which few are ever looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from .._core import PairSolutions
from ..problems import L2SVC
from ..result import Result
from ..stopping import relative
from ..trace import RAW, Trace

COLUMNS: dict[str, Callable[[PairSolutions], np.ndarray]] = {  # by the names of ``Result``
    "value": lambda found: found.values,
    "gap": lambda found: found.gaps,
    "scale": lambda found: found.scales,
    "simplex_gap": lambda found: found.simplex_gaps,
    "primal_gap": lambda found: found.primal_gaps,
    "iterations": lambda found: found.iterations,
    "evaluations": lambda found: found.evaluations,
}


class Results(Sequence[Result]):
    """Results of problems, and numbers of all of them as arrays.

    ``solutions`` are those that the core has found together: their results are made when they are asked for, one by
    one. ``numbers`` says for each problem which solution is its own. A problem with a negative number has none, and
    gets its result by ``put``.
    """

    def __init__(
        self, numbers: Sequence[int], solutions: PairSolutions | None = None, memory_pays: bool = False
    ) -> None:
        self._numbers, self._solutions, self._memory_pays = list(numbers), solutions, memory_pays
        self._together = solutions is not None and -1 not in self._numbers
        self._made: dict[int, Result] = {}

    @classmethod
    def of(cls, results: Sequence[Result]) -> Results:
        """Results that are made."""
        found = cls([-1] * len(results))
        for place, result in enumerate(results):
            found.put(place, result)
        return found

    def put(self, place: int, result: Result) -> None:
        """The result of a problem that has no solution."""
        self._made[place] = result

    @property
    def unsolved(self) -> list[int]:
        """The problems without a solution."""
        return [place for place, number in enumerate(self._numbers) if number < 0]

    def column(self, name: str) -> np.ndarray:
        """A number of each result, by its name there."""
        if self._together and self._solutions:
            return COLUMNS[name](self._solutions)
        return np.array([getattr(result, name) for result in self])

    def relative(self, name: str) -> list[float]:
        """A gap of each result as a part of its scale."""
        return [relative(*own) for own in zip(self.column(name).tolist(), self.column("scale").tolist(), strict=True)]

    @cached_property
    def bounds(self) -> np.ndarray:
        """P and D of each result, a column for each."""
        if not (self._together and self._solutions):
            return np.array([(result.primal_value, result.dual_value) for result in self])
        numbers = self._solutions.values, self._solutions.primal_gaps, self._solutions.roundings
        return np.array([L2SVC.bounds_of(*own) for own in zip(*(each.tolist() for each in numbers), strict=True)])

    @property
    def stop_reasons(self) -> list[str]:
        """Why each run ended."""
        return ["gap"] * len(self) if self._together else [result.stop_reason for result in self]

    @property
    def weights(self) -> np.ndarray:
        """The weights of all problems, one behind the other."""
        if self._together and self._solutions:
            return self._solutions.weights
        return np.concatenate([result.weights for result in self])

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> list[Result]: ...
    def __getitem__(self, place: int | slice) -> Result | list[Result]:
        if isinstance(place, slice):
            return [self[k] for k in range(len(self))[place]]
        place = range(len(self))[place]
        if place not in self._made:
            self._made[place] = self._result(self._numbers[place])
        return self._made[place]

    def __iter__(self) -> Iterator[Result]:
        return (self[place] for place in range(len(self)))

    def _result(self, number: int) -> Result:
        assert self._solutions
        solution, trace = self._solutions[number], Trace(self._memory_pays)
        records = np.frombuffer(solution.records, RAW)
        trace.append(records)
        trace.kinds["corrective"] = len(records)
        primal, dual = L2SVC.bounds_of(solution.value, solution.primal_gap, solution.rounding)
        return Result(
            weights=solution.weights,
            value=solution.value,
            gap=solution.gap,
            relative_gap=relative(solution.gap, solution.scale),
            stop_reason="gap",
            iterations=len(records),
            evaluations=solution.evaluations,
            samplings=0,
            certificate_seconds=solution.certificate_seconds,
            trace=trace,
            simplex_gap=solution.simplex_gap,
            primal_gap=solution.primal_gap,
            primal_value=primal,
            dual_value=dual,
            scale=solution.scale,
            level=solution.level,
        )
