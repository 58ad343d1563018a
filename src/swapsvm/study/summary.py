"""Records as numbers: medians over the repetitions of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from .protocol import EVERY_SET, EXPERIMENTS, METHODS
from .records import Record

Key = tuple[str, str, str]  # experiment, data, method


class Results:
    """What the records say, by experiment, data set and method.

    Of a run that was cut and tried again with more seconds only the longer attempt counts, and of several C and gamma
    only those that were written last.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._runs: dict[Key, dict[int, Record]] = defaultdict(dict)
        for record in records:
            runs = self._runs[record["experiment"], record["data"], record["method"]]
            if any(problem_of(run) != problem_of(record) for run in runs.values()):
                runs.clear()
            earlier = runs.get(record["seed"])
            if earlier is None or seconds_allowed(earlier) <= seconds_allowed(record):
                runs[record["seed"]] = record

    def runs(self, experiment: str, data: str, method: str) -> list[Record]:
        """The repetitions."""
        return list(self._runs.get((experiment, data, method), {}).values())

    def median(self, experiment: str, data: str, method: str, measure: str) -> float | None:
        """Of a measure over the repetitions; None if there is no run."""
        values = [run["measures"][measure] for run in self.runs(experiment, data, method)]
        return float(median(values)) if values else None

    def cut(self, experiment: str, data: str, method: str) -> bool:
        """Whether any repetition ran out of its seconds: its time is then a lower bound."""
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

    def scores(self, experiment: str, measure: str, methods: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """The data sets that all of these methods ran on, and a table of medians, one column for each method."""
        data = [d for d in self.data(experiment) if all(self.runs(experiment, d, m) for m in methods)]
        rows = [[self.median(experiment, d, m, measure) for m in methods] for d in data]
        return data, np.array(rows, dtype=float).reshape(len(data), len(methods))


def problem_of(record: Record) -> tuple[float, float]:
    """What is solved."""
    return record["parameters"]["C"], record["parameters"]["gamma"]


def seconds_allowed(record: Record) -> float:
    """The limit of a run."""
    return float(record["parameters"]["max_time"])
