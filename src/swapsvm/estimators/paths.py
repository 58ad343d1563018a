"""Paths of solutions along C, for the folds of a cross-validation.

Weights on the simplex are feasible for every C, and C enters Q as a ridge only. So a path is one state: the next C
changes the ridge, h follows without a kernel value, and the working set keeps those that it has. Where kernel values
are worth keeping, the folds share a Gram, in which a fold's problem is made of the groups of rows that it trains on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from .._core import StopToken
from ..gram import Gram
from ..kernels import Function, Kernel, Precomputed
from ..problems import L2SVC, Expansion
from ..solve import Run
from ..solvers import make_solver
from ..state import KernelState, State
from ..stopping import Gap, Seconds, Stop
from .subproblems import Cancelled, Pair, side_by_side
from .tasks import SearchTasks

WHOLE = 0.5  # of the budget may go to a matrix of all kernel values of a pair, in double: certificates read it too
START = 20  # random rows on which the first fit of a path begins


@dataclass(frozen=True)
class Fold:
    """One split: the rows held out, and the weights of all rows in training, 0 for those that take no part in it."""

    test: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Point:
    """The solution of a pair of classes at one C, on the training rows of one fold."""

    expansion: Expansion
    relative_gap: float
    stop_reason: str
    seconds: float


@dataclass(frozen=True)
class Task:
    """A pair of classes under one kernel, in folds that share their kernel values."""

    kernel: int
    pair: Pair
    folds: tuple[int, ...]


class FitTime:
    """The seconds of one fit, shared out among its pairs of classes by their rows, whenever their turn comes.

    A pair may use twice its share of what is left: most need less, and what they leave goes to those that follow.
    """

    def __init__(self, seconds: float, rows: int) -> None:
        self._seconds, self._rows = seconds, rows
        self._lock = threading.Lock()

    def share(self, rows: int) -> Stop:
        """The limit of a pair that starts now."""
        with self._lock:
            part = min(1.0, 2 * rows / self._rows)
            self._rows -= rows
            return Seconds(max(self._seconds * part, 1e-9))

    def spend(self, seconds: float) -> None:
        """Take off what a pair has used."""
        with self._lock:
            self._seconds -= seconds


class PairGram:
    """Kernel values of a pair of classes, in groups of rows that the same folds train on."""

    def __init__(self, paths: Paths, task: Task, threads: int) -> None:
        trained = np.column_stack([paths.folds[fold].weights > 0 for fold in task.folds])
        self._pieces = [(c, *piece) for c in task.pair for piece in pieces(paths.rows[c], trained)]
        X, kernel, groups = paths.X, paths.kernels[task.kernel], [rows for _, rows, _ in self._pieces]
        self.rows = np.arange(X.shape[0])
        if not isinstance(kernel, Precomputed):  # groups lie one behind the other: a range is read faster than a list
            self.rows = np.concatenate(groups)
            X, groups = X[self.rows], np.split(np.arange(len(self.rows)), np.cumsum([len(g) for g in groups])[:-1])
        options: dict[str, Any] = {"cache_size": paths.megabytes, "n_threads": threads, "dtype": paths.dtype}
        if len(task.folds) > 1 and 8 * len(self.rows) ** 2 <= WHOLE * paths.megabytes * 2**20:
            X = Gram(kernel, X, **{**options, "dtype": np.float64}).block(*2 * [np.arange(len(self.rows))])
            options |= {"dtype": np.float64, "cache_size": (1 - WHOLE) * paths.megabytes}
            kernel = Precomputed()
        self.gram = Gram(kernel, X, groups=groups, checked=False, **options)

    def problem(self, fold: int, sides: Pair, weights: np.ndarray) -> L2SVC:
        """The first class of ``sides`` (y = +1) against the second at C = 1, in the k-th fold of the task."""
        positive, negative = (
            [g for g, (c, _, trained) in enumerate(self._pieces) if c == side and trained[fold]] for side in sides
        )
        own = weights[self.rows]
        return L2SVC.of(self.gram, positive, negative, 1.0, own if (own[own > 0] != 1).any() else None)


def pieces(rows: np.ndarray, trained: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows that the same folds (columns of ``trained``) train on, and which these are; rows of no fold are left out."""
    patterns, which = np.unique(trained[rows], axis=0, return_inverse=True)
    return [(rows[which.ravel() == p], pattern) for p, pattern in enumerate(patterns) if pattern.any()]


@dataclass(frozen=True, eq=False)
class Paths:
    """All fits of a search: kernels x folds x values of C, which ascend.

    ``rows`` lists the rows of each class, ``dtype`` is that of kernel values, ``megabytes`` are for each of the
    threads.
    """

    X: Any
    rows: list[np.ndarray]
    folds: list[Fold]
    kernels: list[Kernel]
    Cs: Sequence[float]
    stop: Gap
    max_time: float
    dtype: Any
    megabytes: float
    threads: int
    seed: int

    def follow(self, watched: SearchTasks | None = None) -> dict[tuple[int, int], dict[Pair, list[Point]]]:
        """The points along C of every pair of classes, for each kernel and fold."""
        tasks, clocks = self._tasks(), self._clocks()
        workers = self.workers(len(tasks))
        inside = max(self.threads // workers, 1)
        if watched:
            watched.begin(len(tasks))

        def do(number: int, cancelled: Cancelled) -> list[list[Point]]:
            with watched.path(number) if watched else nullcontext():
                return list(self._paths(tasks[number], clocks, inside, cancelled))

        paths: dict[tuple[int, int], dict[Pair, list[Point]]] = {}
        for task, found in zip(tasks, side_by_side(range(len(tasks)), workers, do), strict=True):
            for fold, points in zip(task.folds, found, strict=True):
                paths.setdefault((task.kernel, fold), {})[task.pair] = points
        return paths

    def workers(self, tasks: int) -> int:
        """How many tasks to do at a time; a user's function is called by one thread only."""
        alone = any(isinstance(kernel, Function) for kernel in self.kernels)
        return 1 if alone else min(self.threads, tasks)

    def groups(self, fold: int) -> list[np.ndarray]:
        """The rows of each class that a fold trains on."""
        weights = self.folds[fold].weights
        return [rows[weights[rows] > 0] for rows in self.rows]

    def _tasks(self) -> list[Task]:
        """Large ones first, so that no thread is left with one at the end. What they are does not depend on threads."""
        every = range(len(self.folds))
        together = [tuple(every)] if self._folds_share() else [(fold,) for fold in every]
        sizes = {fold: [len(rows) for rows in self.groups(fold)] for fold in every}
        tasks = [
            Task(kernel, (a, b), tuple(fold for fold in folds if sizes[fold][a] and sizes[fold][b]))
            for kernel, folds in product(range(len(self.kernels)), together)
            for a, b in combinations(range(len(self.rows)), 2)
        ]
        return sorted((t for t in tasks if t.folds), key=lambda t: -sum(len(self.rows[c]) for c in t.pair))

    def _folds_share(self) -> bool:
        """Whether folds are done one after the other in one Gram: values are kept, and folds cut the rows into few."""
        gram = Gram(self.kernels[0], self.X, cache_size=self.megabytes, dtype=self.dtype)
        trained = np.column_stack([fold.weights > 0 for fold in self.folds])
        return gram.memory_pays and len(np.unique(trained, axis=0)) <= len(self.folds) + 1

    def _clocks(self) -> dict[tuple[int, int], list[FitTime]]:
        clocks = {}
        for kernel, fold in product(range(len(self.kernels)), range(len(self.folds))):
            sizes = [len(rows) for rows in self.groups(fold) if len(rows)]
            rows = sum(sizes) * (len(sizes) - 1)  # each takes part in that many pairs
            clocks[kernel, fold] = [FitTime(self.max_time, rows) for _ in self.Cs]
        return clocks

    def _paths(
        self, task: Task, clocks: dict[tuple[int, int], list[FitTime]], threads: int, cancelled: Cancelled
    ) -> Iterable[list[Point]]:
        """The path of each fold of a task, one after the other in one Gram."""
        pair_gram = PairGram(self, task, threads)
        sides = task.pair if len(self.rows) > 2 else task.pair[::-1]  # as scikit-learn: classes_[1] is positive
        for k, fold in enumerate(task.folds):
            problem = pair_gram.problem(k, sides, self.folds[fold].weights)
            path = self._path(problem, clocks[task.kernel, fold], cancelled)
            yield [replace(point, expansion=_of_rows(point.expansion, pair_gram.rows)) for point in path]

    def _path(self, at_one: L2SVC, clocks: list[FitTime], cancelled: Cancelled) -> Iterable[Point]:
        state = None
        for C, clock in zip(self.Cs, clocks, strict=True):
            if cancelled.is_set():
                return
            began = time.perf_counter()
            run = self._begun(state, at_one, C, self.stop | clock.share(at_one.size) | cancelled, cancelled.token)
            result, state = run.finish(), run.state
            expansion = at_one.model(result.weights, result.value)  # C is in the weights
            seconds = time.perf_counter() - began
            clock.spend(seconds)
            yield Point(expansion, result.relative_gap, result.stop_reason, seconds)

    def _begun(self, state: State | None, at_one: L2SVC, C: float, stop: Stop, token: StopToken) -> Run:
        """A run that goes on from a state of the same rows, if there is one."""
        ridge = at_one.ridge / C
        if isinstance(state, KernelState):
            state.set_ridge(ridge)
            run = Run(state, make_solver("block"), stop, token=token)
            run.resume()
            return run
        run = Run(KernelState(replace(at_one, ridge=ridge)), make_solver("block"), stop, token=token)
        run.begin(None, START, np.random.default_rng(self.seed))
        return run


def _of_rows(expansion: Expansion, rows: np.ndarray) -> Expansion:
    """The same over rows of all data."""
    return replace(expansion, rows=rows[expansion.rows])
