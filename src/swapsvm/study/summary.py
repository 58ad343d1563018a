"""What is known of runs: medians over repetitions, and times as intervals.

A run that was cut at its limit took at least that long, and says nothing about accuracy or size. So a time is an
interval, and the answer to a question about it is yes, no or unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from .protocol import EVERY_SET, EXPERIMENTS, METHODS
from .records import Measure, Run

Answer = bool | None


class Interval(NamedTuple):
    """The bounds that are known for a number."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.3g}"
        if self.high == inf:
            return f"at least {self.low:.3g}" if self.low else "unknown"
        return f"at most {self.high:.3g}" if not self.low else f"{self.low:.3g} to {self.high:.3g}"

    def below(self, other: Interval) -> Answer:
        """Whether this number is smaller than the other."""
        return True if self.high < other.low else False if self.low >= other.high else None

    def within(self, least: float, most: float) -> Answer:
        """Whether this number is from ``least`` to ``most``."""
        if self.low > most or self.high < least:
            return False
        return True if least <= self.low and self.high <= most else None

    def over(self, other: Interval) -> Interval:
        """The bounds of the quotient."""
        return Interval(self.low / other.high, self.high / other.low if other.low else inf)

    @staticmethod
    def of(summary: Callable[[Iterable[float]], float], intervals: Sequence[Interval]) -> Interval:
        """The bounds of the median, smallest or largest of several numbers."""
        return Interval(summary(i.low for i in intervals), summary(i.high for i in intervals))


def if_known(test: Callable[..., bool], *values: float | None) -> Answer:
    """The test of the values; unknown if one of them is."""
    return None if None in values else test(*values)


class Results:
    """Runs by experiment, data set and method.

    If a cut run was tried again with a larger limit, only the longer attempt counts; of runs with different C and gamma
    only the last ones count.
    """

    def __init__(self, records: Iterable[Run]) -> None:
        self._runs: dict[tuple[str, str, str], dict[int, Run]] = defaultdict(dict)
        for record in records:
            runs = self._runs[record["experiment"], record["data"], record["method"]]
            if any(problem_of(run) != problem_of(record) for run in runs.values()):
                runs.clear()
            earlier = runs.get(record["seed"], record)
            if earlier["parameters"]["max_time"] <= record["parameters"]["max_time"]:
                runs[record["seed"]] = record

    def runs(self, experiment: str, data: str, method: str) -> list[Run]:
        """The repetitions."""
        return list(self._runs.get((experiment, data, method), {}).values())

    def all_runs(self, experiment: str) -> Iterator[Run]:
        """The runs of an experiment, in the paper's order."""
        return (run for d in self.data(experiment) for m in METHODS for run in self.runs(experiment, d, m))

    def median(self, experiment: str, data: str, method: str, measure: Measure) -> float | None:
        """The median of a measure over the repetitions; None if there is no run."""
        found = [run["measures"] for run in self.runs(experiment, data, method)]
        values = [measures[measure] for measures in found if measure in measures]
        return float(median(values)) if values else None

    def cut(self, experiment: str, data: str, method: str) -> bool:
        """Whether any repetition reached its time limit: its time is then a lower bound."""
        return any(run["measures"]["cut"] for run in self.runs(experiment, data, method))

    def finished(self, data: str, method: str, measure: Measure, experiment: str = "paper") -> float | None:
        """A measure of a run; None if it was cut or never made."""
        return None if self.cut(experiment, data, method) else self.median(experiment, data, method, measure)

    def seconds(self, data: str, method: str, experiment: str = "paper") -> Interval:
        """The time of a run."""
        found = self.median(experiment, data, method, "seconds")
        if found is None:
            return Interval(0.0, inf)
        return Interval(found, inf if self.cut(experiment, data, method) else found)

    def speedup(self, data: str, method: str, base: str = "cvm") -> Interval:
        """How many times as fast as the base."""
        return self.seconds(data, base).over(self.seconds(data, method))

    def loss(self, data: str, method: str, experiment: str = "paper") -> float | None:
        """(a_CVM - a) / a_CVM, how far an accuracy is below CVM's; None if one of the two is unknown."""
        base, own = (self.finished(data, m, "accuracy", experiment) for m in ("cvm", method))
        return None if base is None or own is None else (base - own) / base

    def data(self, experiment: str, among: Sequence[str] = EVERY_SET) -> list[str]:
        """Data sets with runs, in the paper's order."""
        present = {data for name, data, _ in self._runs if name == experiment}
        return [name for name in among if name in present]

    def methods(self, experiment: str) -> list[str]:
        """Methods with runs, in the paper's order."""
        present = {method for name, _, method in self._runs if name == experiment}
        return [name for name in METHODS if name in present]

    def experiments(self) -> list[str]:
        """Experiments with runs."""
        present = {name for name, _, _ in self._runs}
        return [name for name in EXPERIMENTS if name in present]

    def scores(self, experiment: str, measure: Measure, methods: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """The data sets on which all these methods ran, and a matrix of medians, one column per method."""
        data = [d for d in self.data(experiment) if all(self.runs(experiment, d, m) for m in methods)]
        rows = [[self.median(experiment, d, m, measure) for m in methods] for d in data]
        return data, np.array(rows, dtype=float).reshape(len(data), len(methods))


def problem_of(record: Run) -> tuple[float, float]:
    """C and gamma."""
    return record["parameters"]["C"], record["parameters"]["gamma"]
