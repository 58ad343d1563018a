"""Which runs belong together: each suite answers one question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .datasets import REAL, SCALING, WEB, Synthetic
from .kinds import DEVELOPMENT, HELD_BACK
from .objective import Task

FASTEST = ("block", "intelex")
PEERS = ("block", "intelex", "scikit-learn", "libsvm", "thundersvm")
OURS = ("block", "swap2", "swap", "mfw", "fw", "cvm")
BESIDE = ("block", "intelex", "scikit-learn", "libsvm")  # of the kinds
GROWTH = {  # family: training rows
    "noisy noise=0.3": (10_000, 20_000, 40_000, 100_000),
    "noisy noise=0.1": (10_000, 20_000, 40_000),
    "tabular": (5_000, 10_000, 20_000, 40_000),
    "physics": (25_000, 50_000, 100_000, 200_000, 400_000),
    "text words=20000 classes=20": (1_000, 2_000, 4_000, 8_000),
}
VERIFIED = ("peers", "kinds", "held-back")  # suites whose certificates are recomputed
LARGEST = "physics m=5000000"


@dataclass(frozen=True)
class Suite:
    """Data sets and their competitors."""

    name: str
    data: tuple[str, ...]
    solvers: tuple[str, ...]
    repetitions: int = 3
    options: dict[str, Any] = field(default_factory=dict)
    own_parameters: bool = False
    least_limit: float = 0.0  # seconds for a fit, whatever --limit says


@dataclass(frozen=True)
class Conditions:
    """The settings that all runs share."""

    threads: int
    dtype: str
    limit: float
    verify: bool


def full() -> list[Suite]:
    series = {name: tuple(data.name for data in found) for name, found in SCALING.items()}
    return [
        Suite("peers", REAL, PEERS),
        Suite("web", WEB, FASTEST),
        *(Suite(name, data, FASTEST) for name, data in series.items()),
        Suite("memory", series["rows"], ("block, 16 MB cache",)),
        Suite("convergence", ("w8a", "a9a", "ijcnn1"), OURS, 1, {"tol": 1e-3, "max_time": 60.0}),
        Suite("kinds", DEVELOPMENT, BESIDE),
        Suite("kinds-tuned", DEVELOPMENT, BESIDE, own_parameters=True),
        Suite("growth", tuple(grown(f, rows) for f, sizes in GROWTH.items() for rows in sizes), BESIDE[:3]),
        Suite("largest", (LARGEST,), ("block",), 1, least_limit=600.0),
    ]


def held_back() -> list[Suite]:
    """Measured once, when the work is done, and reported as they come out; never together with other suites."""
    return [
        Suite("held-back", HELD_BACK, BESIDE),
        Suite("held-back-tuned", HELD_BACK, BESIDE, own_parameters=True),
    ]


def grown(family: str, rows: int) -> str:
    """A member of a family by its number of rows."""
    maker, *settings = family.split()
    return " ".join([maker, f"m={rows}", *settings])


def quick() -> list[Suite]:
    """A small version of everything, within five minutes on two cores."""
    rows = tuple(Synthetic(rows=rows).name for rows in (1000, 2000, 4000, 8000))
    features = tuple(Synthetic(rows=2000, features=features).name for features in (10, 40, 160))
    return [
        Suite("peers", ("pendigits", "w3a", "synthetic m=4000"), PEERS),
        Suite("web", WEB[:4], FASTEST, 1),
        Suite("rows", rows, FASTEST, 1),
        Suite("features", features, FASTEST, 1),
        Suite("memory", rows, ("block, 16 MB cache",), 1),
        Suite("convergence", ("synthetic m=4000",), OURS, 1, {"tol": 1e-3, "max_time": 3.0}),
        Suite("kinds", ("noisy m=3000 noise=0.3", "bumps m=3000", "breast_cancer"), BESIDE[:3], 1),
        Suite("kinds-tuned", ("breast_cancer",), BESIDE[:3], 1, own_parameters=True),
        Suite("growth", tuple(grown("noisy noise=0.3", rows) for rows in (1000, 2000, 4000)), FASTEST, 1),
    ]


def tasks_of(suite: Suite, conditions: Conditions) -> Iterator[Task]:
    """Data set by data set; within it competitors alternate, and each repetition begins with another one."""
    for data in suite.data:
        for repetition in range(suite.repetitions):
            first = repetition % len(suite.solvers)
            for solver in suite.solvers[first:] + suite.solvers[:first]:
                yield task_of(suite, conditions, data, solver, repetition)


def task_of(suite: Suite, conditions: Conditions, data: str, solver: str, repetition: int) -> Task:
    verify = conditions.verify and suite.name in VERIFIED and repetition == 0
    same = {**vars(conditions), "verify": verify, "limit": max(conditions.limit, suite.least_limit)}
    own = {"options": suite.options, "own_parameters": suite.own_parameters}
    return Task(suite.name, data, solver, repetition, **same, **own)
