"""What is known of runs: medians over seeds, their spread, and their bounds under resampling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from statistics import median
from typing import NamedTuple

import numpy as np

from ..datasets.registry import find_entry
from .bootstrap import RESAMPLES, drawn_seeds
from .interval import INFINITE, Interval
from .protocol import EVERY_SET, EXPERIMENTS, RULES, TODAY
from .records import Measure, Run, digest_of, newest

GROWING: tuple[Measure, ...] = ("seconds", "iterations", "evaluations")  # of a cut run: lower bounds
UNBOUNDED = Interval(np.zeros(RESAMPLES + 1), np.full(RESAMPLES + 1, INFINITE))
Bounds = tuple[float, float]


class Spread(NamedTuple):
    """The median over the seeds, the smallest and the largest value, and the number of seeds."""

    middle: float
    low: float
    high: float
    seeds: int


class Results:
    """Runs by experiment, data set and method, as far as they were made from the newest sources.

    If a cut run was tried again with a larger limit, only the longer attempt counts; of runs with different C and gamma
    only the last ones count. Runs of experiments that are unknown are ignored.
    """

    def __init__(self, records: Iterable[Run]) -> None:
        every = [record for record in records if record["experiment"] in EXPERIMENTS]
        self.lines = newest(every) or every  # lines without any digest are used, and marked
        self.stale = len(every) - len(self.lines)
        self._rule: str | None = None
        self._bounds: dict[tuple[str, str, str, Measure], Interval] = {}
        self._runs: dict[tuple[str, str, str], dict[int, Run]] = defaultdict(dict)
        for record in self.lines:
            runs = self._runs[record["experiment"], record["data"], record["method"]]
            if any(problem_of(run) != problem_of(record) for run in runs.values()):
                runs.clear()
            earlier = runs.get(record["seed"], record)
            if earlier["parameters"]["max_time"] <= record["parameters"]["max_time"]:
                runs[record["seed"]] = record

    @property
    def digests(self) -> list[str]:
        """The digests of the sources that made the lines: one for single steps, one for each other method."""
        return sorted({digest for line in self.lines if (digest := digest_of(line))})

    def under(self, rule: str) -> Results:
        """The same runs, seen under one stop rule of the paper's protocol."""
        if rule not in RULES:
            raise ValueError(f"rule {rule!r} must be one of {', '.join(RULES)}")
        view = copy(self)
        view._rule = rule
        return view

    @property
    def rule(self) -> str:
        """The experiment with the paper's protocol under the rule of this view."""
        if self._rule is None:
            raise ValueError("the paper's protocol has several stop rules: use under(rule)")
        return self._rule

    def rules(self) -> list[str]:
        """The stop rules with runs."""
        return [rule for rule in RULES if self.data(rule)]

    def runs(self, experiment: str, data: str, method: str) -> list[Run]:
        """The repetitions, by seed."""
        return [run for _, run in sorted(self._runs.get((experiment, data, method), {}).items())]

    def all_runs(self, experiment: str) -> Iterator[Run]:
        """The runs of an experiment, in the paper's order."""
        return (run for d in self.data(experiment) for m in TODAY for run in self.runs(experiment, d, m))

    def median(self, experiment: str, data: str, method: str, measure: Measure) -> float | None:
        """The median of a measure over the repetitions; None if no run has it."""
        found = self.spread(experiment, data, method, measure)
        return None if found is None else found.middle

    def spread(self, experiment: str, data: str, method: str, measure: Measure) -> Spread | None:
        """Median, smallest and largest value over the repetitions; None if no run has it."""
        found = [run["measures"] for run in self.runs(experiment, data, method)]
        values = [float(measures[measure]) for measures in found if measure in measures]
        return Spread(median(values), min(values), max(values), len(values)) if values else None

    def cut(self, experiment: str, data: str, method: str) -> bool:
        """Whether any repetition reached its time limit: its time is then a lower bound."""
        return any(run["measures"]["cut"] for run in self.runs(experiment, data, method))

    def bounds(self, data: str, method: str, measure: Measure, experiment: str | None = None) -> Interval:
        """The median over the seeds, and over resamples of them; a cut run is known only to have worked that long."""
        experiment = experiment or self.rule
        key = (experiment, data, method, measure)
        if key not in self._bounds:
            self._bounds[key] = self.derived(experiment, data, method, lambda run: run_bounds(run, measure))
        return self._bounds[key]

    def derived(self, experiment: str, data: str, method: str, of_run: Callable[[Run], Bounds]) -> Interval:
        """The bounds of the median of any number that a run gives."""
        runs = self.runs(experiment, data, method)
        if not runs:
            return UNBOUNDED
        places = drawn_seeds((experiment, data, method), len(runs))
        low, high = np.array([of_run(run) for run in runs], dtype=float).T
        return Interval(np.median(low[places], axis=1), np.median(high[places], axis=1))

    def seconds(self, data: str, method: str, experiment: str | None = None) -> Interval:
        """The time of a run."""
        return self.bounds(data, method, "seconds", experiment)

    def speedup(self, data: str, method: str, base: str = "cvm", experiment: str | None = None) -> Interval:
        """How many times as fast as the base."""
        return self.seconds(data, base, experiment).over(self.seconds(data, method, experiment))

    def loss(self, data: str, method: str, experiment: str | None = None) -> Interval:
        """(a_CVM - a) / a_CVM, how far an accuracy is below CVM's."""
        own, base = (self.bounds(data, m, "accuracy", experiment) for m in (method, "cvm"))
        return own.over(base).short_of(1.0)

    def share(self, data: str, method: str, experiment: str | None = None) -> Interval:
        """The support vectors as a share of the training rows."""
        return self.bounds(data, method, "model_size", experiment).times(1.0 / find_entry(data).rows)

    def data(self, experiment: str, among: Sequence[str] = EVERY_SET) -> list[str]:
        """Data sets with runs, in the paper's order."""
        present = {data for name, data, _ in self._runs if name == experiment}
        return [name for name in among if name in present]

    def methods(self, experiment: str) -> list[str]:
        """Methods with runs, in the paper's order."""
        present = {method for name, _, method in self._runs if name == experiment}
        return [name for name in TODAY if name in present]

    def experiments(self) -> list[str]:
        """Experiments with runs."""
        present = {name for name, _, _ in self._runs}
        return [name for name in EXPERIMENTS if name in present]

    def scores(self, experiment: str, measure: Measure, methods: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """The data sets on which all these methods ran, and a matrix of medians, one column per method."""
        data = [d for d in self.data(experiment) if all(self.runs(experiment, d, m) for m in methods)]
        rows = [[self.median(experiment, d, m, measure) for m in methods] for d in data]
        return data, np.array(rows, dtype=float).reshape(len(data), len(methods))


def run_bounds(run: Run, measure: Measure) -> Bounds:
    """What a run says about a measure."""
    value = float(run["measures"].get(measure, 0.0))
    if measure not in run["measures"]:
        return 0.0, INFINITE
    if not run["measures"]["cut"]:
        return value, value
    return (value, INFINITE) if measure in GROWING else (0.0, INFINITE)


def problem_of(record: Run) -> tuple[float, float]:
    """C and gamma."""
    return record["parameters"]["C"], record["parameters"]["gamma"]
