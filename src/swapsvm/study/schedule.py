"""When each run is made: the limit and the number of seeds of a cell, and the order of trials.

A cell is an experiment on a data set with a method. Its first seed is tried for half a minute, and if that was not
enough, again for as long as the cell is given. Further seeds wait for the first to finish: five in all if it took less
than ``QUICK_CELL`` CPU seconds, otherwise three. Block runs are not sampled and are made once. A study that is stopped
early has the cells that say most for their time: all rules on small sets come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ..datasets.registry import find_entry
from .peers import PEERS
from .protocol import (
    EVERY_SET,
    EXPERIMENTS,
    GROUPS,
    RULES,
    TODAY,
    Cell,
    Key,
    Parameters,
    Trial,
    key_of,
    parameters_for,
    without_seed,
)
from .provenance import source_digest
from .records import Run, digest_of

SIZES = {"small": 8_000, "middle": 50_000, "large": inf}  # training rows, at most
SAMPLED = {"small": 600.0, "middle": 900.0, "large": 1200.0}  # CPU seconds of a run
EVERY_ROW = {"small": 300.0, "middle": 600.0, "large": 600.0}
FW_ON_ADULT = 3600.0  # for which the paper has its largest ratios of times
FIRST_TRY = 30.0
QUICK_CELL, MANY, FEW = 20.0, 5, 3  # seeds of a cell whose first run takes less than this, and of others
ONCE = ("block", *PEERS)


class Stage(NamedTuple):
    """Trials that are made together."""

    size: str
    seeds: range
    limit: float  # at most


FIRST, OTHERS = range(1), range(1, MANY)
STAGES = (
    Stage("small", FIRST, FIRST_TRY),
    Stage("middle", FIRST, FIRST_TRY),
    Stage("small", OTHERS, inf),
    Stage("large", FIRST, FIRST_TRY),
    Stage("middle", OTHERS, inf),
    Stage("small", FIRST, inf),
    Stage("middle", FIRST, inf),
    Stage("large", OTHERS, inf),
    Stage("large", FIRST, inf),
)


@dataclass(frozen=True)
class Scale:
    """How much of the study to run."""

    experiments: tuple[str, ...]
    data: tuple[str, ...]
    methods: tuple[str, ...]
    budget: float | None = None  # of every run; None is that of the cell
    repetitions: int = MANY  # at most


FULL = Scale(tuple(EXPERIMENTS), EVERY_SET, tuple(TODAY))
QUICK = Scale(tuple(EXPERIMENTS), ("w1a", "w2a", "a1a", "a2a", "pendigits", "reuters"), tuple(TODAY), 1.0, 1)


def size_of(data: str) -> str:
    """Whether a set is small, middle or large."""
    rows = find_entry(data).rows
    return next(name for name, most in SIZES.items() if rows < most)


def limit_of(experiment: str, data: str, method: str) -> float:
    """The CPU seconds that a run of the cell is given."""
    if EXPERIMENTS[experiment].sampling is None:
        return EVERY_ROW[size_of(data)]
    if method == "fw" and data in GROUPS["adult"]:
        return FW_ON_ADULT
    return SAMPLED[size_of(data)]


def trials_of(scale: Scale, parameters: Parameters) -> list[Trial]:
    """All trials in their order; data sets without parameters are omitted."""
    found = [
        trial for stage in STAGES for rules in (True, False) for trial in stage_of(stage, rules, scale, parameters)
    ]
    return list(dict.fromkeys(found))


def stage_of(stage: Stage, rules: bool, scale: Scale, parameters: Parameters) -> Iterator[Trial]:
    """The trials of a stage under the paper's protocol, or the others; set by set, because reading one takes time."""
    names = [name for name in scale.experiments if (name in RULES) == rules]
    for data in [d for d in scale.data if size_of(d) == stage.size]:
        for name in [name for name in names if data in EXPERIMENTS[name].data]:
            C, gamma = parameters_for(name, data, parameters)
            if gamma is None:
                continue
            for method in [m for m in EXPERIMENTS[name].methods if m in scale.methods]:
                budget = scale.budget or min(limit_of(name, data, method), stage.limit)
                seeds = [seed for seed in stage.seeds if seed < most_seeds(name, method, scale)]
                yield from (Trial(name, data, method, seed, C, gamma, budget) for seed in seeds)


def most_seeds(experiment: str, method: str, scale: Scale) -> int:
    """The most repetitions of a cell."""
    return scale.repetitions if EXPERIMENTS[experiment].repeated and method not in ONCE else 1


class Schedule:
    """The trials that are still to be made, given the lines that are known.

    A finished line is never made again, unless other sources made it. A cut one is made again only with a larger
    limit. Repetitions of a cell wait until its first run has finished.
    """

    def __init__(self, trials: Iterable[Trial], known: Iterable[Run]) -> None:
        self._finished: dict[Key, float] = {}
        self._limits: dict[Cell, float] = {}
        self._running: set[Key] = set()
        self._failed: set[Key] = set()
        for run in known:
            if digest_of(run) == source_digest(run["method"]):
                self._learn(run)
        self._waiting = [trial for trial in trials if not self._settled(trial)]

    def waiting(self) -> list[Trial]:
        """The trials that are due as far as is known: repetitions of cut runs are not."""
        return [trial for trial in self._waiting if not self._settled(trial) and not self._held_by_cut(trial)]

    def pop(self) -> Trial | None:
        """The next trial; None if the running ones decide which that is, or none is left."""
        self._waiting = [trial for trial in self._waiting if not self._settled(trial)]
        for place, trial in enumerate(self._waiting):
            if self._ready(trial):
                self._running.add(trial.key)
                return self._waiting.pop(place)
        return None

    def note(self, trial: Trial, run: Run) -> None:
        """Learn from a run that has ended."""
        self._running.discard(trial.key)
        self._learn(run)

    def give_up(self, trial: Trial) -> None:
        """Do not try this run again in this call."""
        self._running.discard(trial.key)
        self._failed.add(trial.key)

    def _learn(self, run: Run) -> None:
        key = key_of(run)
        if run["measures"]["cut"]:
            cell = without_seed(key)
            self._limits[cell] = max(self._limits.get(cell, 0.0), run["parameters"]["max_time"])
        else:
            self._finished[key] = run["measures"]["seconds"]

    def _settled(self, trial: Trial) -> bool:
        """Whether the trial does not have to be made, whatever comes."""
        if trial.key in self._finished or trial.key in self._failed:
            return True
        first = self._first_seconds(trial)
        enough = MANY if first is None or first < QUICK_CELL else FEW
        return trial.seed >= enough or self._limits.get(trial.cell, 0.0) >= trial.budget

    def _ready(self, trial: Trial) -> bool:
        """Whether the trial can begin now."""
        return trial.key not in self._running and (trial.seed == 0 or self._first_seconds(trial) is not None)

    def _held_by_cut(self, trial: Trial) -> bool:
        return trial.seed > 0 and self._first_seconds(trial) is None and trial.cell in self._limits

    def _first_seconds(self, trial: Trial) -> float | None:
        """The seconds of the first run of the cell; None if it has not finished."""
        experiment, data, method, _, parameters = trial.key
        return self._finished.get((experiment, data, method, 0, parameters))
