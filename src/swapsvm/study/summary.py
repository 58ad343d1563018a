"""Medians over the repetitions of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from .protocol import EVERY_SET, EXPERIMENTS, METHODS
from .records import Measure, Run


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
            earlier = runs.get(record["seed"])
            if earlier is None or seconds_allowed(earlier) <= seconds_allowed(record):
                runs[record["seed"]] = record

    def runs(self, experiment: str, data: str, method: str) -> list[Run]:
        """The repetitions."""
        return list(self._runs.get((experiment, data, method), {}).values())

    def median(self, experiment: str, data: str, method: str, measure: Measure) -> float | None:
        """The median of a measure over the repetitions; None if there is no run."""
        values = [run["measures"][measure] for run in self.runs(experiment, data, method)]
        return float(median(values)) if values else None

    def cut(self, experiment: str, data: str, method: str) -> bool:
        """Whether any repetition reached its time limit: its time is then a lower bound."""
        return any(run["measures"]["cut"] for run in self.runs(experiment, data, method))

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


def seconds_allowed(record: Run) -> float:
    """The time limit of a run."""
    return float(record["parameters"]["max_time"])
