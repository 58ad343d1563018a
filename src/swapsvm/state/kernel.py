"""The state of a kernel quadratic, in the compiled core: with all of the gradient, or with a sampled toward vertex."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..problems import Quadratic
from ..rays import KINDS, Away, Correction, Move, Ray, Search, Swap, Toward
from ..trace import RAW
from ._base import Chooser, Limits, Ran, State

LOOKS = 64  # most samples that are drawn between two looks at the stop rules


@dataclass(frozen=True)
class Sampling:
    """How to look for the toward vertex among a few random variables.

    Parameters
    ----------
    size : int, default=59
        Variables in a sample; 59 contain one of the best 5 % with probability 0.95.
    with_active : bool, default=True
        The active variables are candidates too, which costs nothing. False is [SWAP14].
    trusted : int, optional
        So many samples in a row without a violator end the run (``stop_reason`` ``"sample"``), as in [SWAP14]; the gap
        that is then reported is the certified one, which may be large. By default only a full pass ends it.
    """

    size: int = 59
    with_active: bool = True
    trusted: int | None = None

    def __post_init__(self) -> None:
        if int(self.size) != self.size or self.size < 1:
            raise ValueError(f"sampling={self.size!r} must be a positive integer, or None to look at every row")
        if self.trusted is not None and self.trusted < 1:
            raise ValueError(f"trusted={self.trusted!r} must be a positive number of samples, or None")


class KernelState(State):
    """The state of a kernel quadratic, in the compiled core."""

    def __init__(self, problem: Quadratic, *, sampling: int | Sampling | None = None, seed: int = 0) -> None:
        self.problem = problem
        self.sampling = sampling if sampling is None or isinstance(sampling, Sampling) else Sampling(sampling)
        self.seed = seed
        self.size = problem.size
        ridge = np.atleast_1d(np.asarray(problem.ridge, dtype=np.float64))
        half_linear = np.empty(0) if problem.linear is None else np.asarray(problem.linear, dtype=np.float64) / 2
        bits = "32" if problem.gram.single else "64"
        radius = (float(problem.radius or 0.0), problem.grows)
        arguments = (problem.gram.core, list(problem.segments), ridge, half_linear, float(problem.bias), radius)
        if self.sampling is None:
            self.core = getattr(_core, "FullState" + bits)(*arguments)
        else:
            chosen = (int(min(self.sampling.size, self.size)), self.sampling.with_active, seed)
            self.core = getattr(_core, "SampledState" + bits)(*arguments, *chosen)
        self._token: _core.StopToken | None = None
        self._patience, self._empty = 1, 0  # empty samples in a row before a full pass, and so far

    radius = property(lambda self: self.core.radius)
    weights = property(lambda self: np.asarray(self.core.weights) * self.core.radius)
    support = property(lambda self: np.asarray(self.core.support))
    support_size = property(lambda self: self.core.support_size)
    value = property(lambda self: self.core.value)
    gap = property(lambda self: self.core.gap)
    gap_floor = property(lambda self: self.core.gap_floor)
    exhausted = property(lambda self: self.core.exhausted)
    scale = property(lambda self: self.core.scale)
    evaluations = property(lambda self: self.problem.gram.evaluations)
    single = property(lambda self: self.problem.gram.single)

    @property
    def samplings(self) -> int:
        """How many samples were drawn."""
        return 0 if self.sampling is None else int(self.core.samplings)

    def toward(self) -> int:
        return int(self.core.toward)

    def away(self) -> int:
        return int(self.core.away)

    def swap_slope(self, i: int, j: int) -> float:
        return 2.0 * float(self.core.score(j) - self.core.score(i))

    def second_order_away(self, i: int) -> int:
        return int(self.core.second_order_away(i))

    def search(self, ray: Ray) -> Search:
        match ray:
            case Toward(i):
                found = self.core.search_toward(i)
            case Away(j):
                found = self.core.search_away(j)
            case Swap(i, j):
                found = self.core.search_swap(i, j)
        return Search(ray, *found)

    def move(self, move: Move | Correction) -> None:
        if isinstance(move, Correction):
            variables, weights = np.asarray(move.variables, np.int32), np.asarray(move.weights, np.float64)
            self.core.correct(variables, weights, move.scale, move.growth, move.fused)
        else:
            kind = KINDS.index(move.kind)
            self.core.move(kind, move.scale, move.i, move.add, move.j, move.sub, move.drop)

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.core.set_weights(np.asarray(variables, np.int32), np.asarray(weights, np.float64))

    def set_ridge(self, ridge: Any) -> None:
        """Another ridge at the same weights, which stay feasible; no kernel value is computed."""
        self.problem = replace(self.problem, ridge=ridge)
        self.core.set_ridge(np.atleast_1d(np.asarray(ridge, dtype=np.float64)))

    @property
    def token(self) -> _core.StopToken | None:
        return self._token

    @token.setter
    def token(self, token: _core.StopToken | None) -> None:
        self._token = token
        self.core.set_token(token)

    def certify(self) -> None:
        self.core.certify()

    def prove(self) -> None:
        self.core.prove()

    certified = property(lambda self: self.core.certified)
    gap_rounding = property(lambda self: self.core.gap_rounding)
    value_rounding = property(lambda self: self.core.value_rounding)
    certificate_seconds = property(lambda self: self.core.certificate_seconds)

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**self.core.snapshot(), "looks": np.array([self._patience, self._empty])}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        core = dict(snapshot)
        self._patience, self._empty = core.pop("looks").tolist()
        self.core.restore(**core)

    def face(self, variables: np.ndarray) -> State:
        variables = np.asarray(variables, np.int32)
        return self._placed(
            KernelState(self.problem.restricted(variables, self.core.face(variables))), self.weights[variables]
        )

    def kernel_values(self) -> np.ndarray:
        """k of every two variables, in double; for problems of a few hundred."""
        return np.asarray(self.core.face(np.arange(self.size, dtype=np.int32)), np.float64)

    def diagonal_range(self) -> tuple[float, float]:
        diagonal = self.problem.gram.diagonal()[self.problem.rows] + self.problem.bias + np.asarray(self.problem.ridge)
        of_rows = diagonal[self.problem.signs != 0]
        return float(of_rows.min()), float(of_rows.max())

    @property
    def patience(self) -> int:
        return 0 if self.sampling is None else 20  # a sample sees little of the gap: full passes bring it on slowly

    def confirmed(self, stop_gap: float) -> bool:
        if self.sampling is None:
            return True
        needed = self.sampling.trusted or self._patience
        for _ in range(LOOKS):
            self._empty += 1
            if self._empty >= needed:
                self._empty = 0
                self._patience = min(
                    2 * self._patience, LOOKS
                )  # should the full pass find a violator, the next is later
                return True
            self.core.look()
            if self.gap > stop_gap:
                self._empty = 0
                return False
        return False

    @property
    def trusts_samples(self) -> bool:
        return self.sampling is not None and self.sampling.trusted is not None

    @property
    def memory_pays(self) -> bool:
        return self.sampling is None and self.problem.gram.memory_pays

    @property
    def largest_face(self) -> float:
        gram = self.problem.gram
        budget = gram.cache_counts["budget"] / (2 if gram.memory_pays else 1)  # the other half is for lines
        return max(512.0, float(np.sqrt(budget / gram.dtype.itemsize)))

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        return self.problem.start_weights(variables)

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        return self.problem.sample_order(rng)

    def violators(self, count: int) -> np.ndarray:
        return np.asarray(self.core.violators(count))

    def shrink(self) -> None:
        self.core.shrink()

    def watch(self, variables: np.ndarray) -> None:
        """Until the next certificate, look only at these variables and the active ones."""
        self.core.watch(np.asarray(variables, np.int32))

    def refresh(self) -> None:
        """Look at every variable again; h is summed afresh."""
        self.core.refresh()

    def extreme(self, size: int) -> np.ndarray:
        """So many variables: the best toward vertices and the worst active ones."""
        return np.asarray(self.core.extreme(size))

    def solve_on(self, variables: np.ndarray, block: int, blocks: int, accuracy: float) -> Correction:
        """Weights that solve the problem on these variables to a part of their gap or value, by blocks of swaps."""
        capacity = min(self.largest_face, self.size)
        listed = np.asarray(variables, np.int32)
        found, weights, scale, growth = self.core.solve_on(listed, int(capacity), block, blocks, accuracy)
        return Correction(found, weights, scale, growth, fused=True)

    def refined(self) -> State | None:
        if not self.problem.gram.refinable:
            return None
        return KernelState(self.problem.in_double(), sampling=self.sampling, seed=self.seed)

    def run(self, solver: Chooser, limits: Limits) -> Ran:
        if solver.compiled is None:
            return super().run(solver, limits)
        step: Any = getattr(_core.StepKind, solver.compiled)
        moves, stalled, kinds, records = self.core.run(step, limits.moves, limits.tol, limits.eps, limits.iteration)
        return Ran(
            moves,
            stalled,
            Counter({kind: n for kind, n in zip(KINDS, kinds, strict=True) if n}),
            np.frombuffer(records, RAW),
        )
