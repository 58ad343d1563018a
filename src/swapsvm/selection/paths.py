"""Paths of solutions along C, for the folds of a cross-validation.

Weights on the simplex are feasible for every C, and C enters Q only as a ridge. So a path is one state: the next C
changes the ridge, h follows without a kernel value, and the working set keeps its values. Where kernel values are worth
keeping, the folds share a Gram, in which a fold's problem consists of the groups of rows that it trains on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import cast

import numpy as np

from ..arrays import Matrix
from ..fitting.callbacks import SearchTasks
from ..fitting.clock import SpentTime, TimeBudget
from ..fitting.session import Session
from ..fitting.workers import Cancelled
from ..gram import Gram
from ..kernels import Function, Kernel, Precomputed
from ..models import Pair, sides
from ..problems import L2SVC, Coefficients
from ..state import KernelState
from ..stopping import Gap

WHOLE = 0.5  # part of the budget for the matrix of all kernel values of a pair, in double: certificates read it, too
START = 20  # random rows on which the first fit of a path begins


@dataclass(frozen=True)
class Fold:
    """One split: the rows held out, and the weights of all rows in training; 0 for rows that are not trained on."""

    test: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class PathPoint:
    """The solution of a pair of classes at one C, on the training rows of one fold."""

    function: Coefficients
    relative_gap: float
    stop_reason: str
    seconds: float


@dataclass(frozen=True)
class PathProblem:
    """A pair of classes under one kernel, in folds that share their kernel values."""

    kernel: int
    pair: Pair
    folds: tuple[int, ...]


class FitLimit:
    """The limit of seconds of one fit, whose pairs of classes are solved at different times."""

    def __init__(self, seconds: float | None, rows: Sequence[int]) -> None:
        self._spent = SpentTime()
        self._budget = TimeBudget(seconds, rows, clock=self._spent)
        self.share, self.spend = self._budget.share, self._spent.spend


class PairGram:
    """Kernel values of a pair of classes, in groups of rows that the same folds train on."""

    def __init__(self, paths: Paths, path: PathProblem, threads: int) -> None:
        trained = np.column_stack([paths.folds[fold].weights > 0 for fold in path.folds])
        self._pieces = [(c, *piece) for c in path.pair for piece in pieces(paths.rows[c], trained)]
        X, kernel, groups = paths.X, paths.kernels[path.kernel], [rows for _, rows, _ in self._pieces]
        self.rows = np.arange(X.shape[0])
        if not isinstance(kernel, Precomputed):  # groups lie one behind the other: a range is read faster than a list
            self.rows = np.concatenate(groups)
            X, groups = X[self.rows], np.split(np.arange(len(self.rows)), np.cumsum([len(g) for g in groups])[:-1])
        dtype, megabytes = paths.dtype, paths.megabytes
        if len(path.folds) > 1 and 8 * len(self.rows) ** 2 <= WHOLE * megabytes * 2**20:
            every, dtype = np.arange(len(self.rows)), np.dtype(np.float64)
            X = Gram(kernel, X, dtype=dtype, cache_size=megabytes, n_threads=threads).block(every, every)
            kernel, megabytes = Precomputed(), (1 - WHOLE) * megabytes
        self.gram = Gram(kernel, X, groups=groups, dtype=dtype, cache_size=megabytes, n_threads=threads, checked=False)

    def problem(self, fold: int, signed: Pair, weights: np.ndarray) -> L2SVC:
        """The first class of ``signed`` (y = +1) against the second at C = 1, in the k-th fold of the path."""
        positive, negative = (
            [g for g, (c, _, trained) in enumerate(self._pieces) if c == side and trained[fold]] for side in signed
        )
        own = weights[self.rows]
        return L2SVC.of(self.gram, positive, negative, 1.0, own if (own[own > 0] != 1).any() else None)


def pieces(rows: np.ndarray, trained: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Groups of rows that the same folds train on, and these folds; rows of no fold are left out."""
    patterns, which = np.unique(trained[rows], axis=0, return_inverse=True)
    return [(rows[which.ravel() == p], pattern) for p, pattern in enumerate(patterns) if pattern.any()]


@dataclass(frozen=True, eq=False)
class Paths:
    """All fits of a search: kernels x folds x values of C, which ascend.

    ``rows`` lists the rows of each class, ``dtype`` is that of kernel values, ``megabytes`` are for each thread, and
    ``max_time`` is the limit of each fit.
    """

    session: Session
    X: Matrix
    rows: list[np.ndarray]
    folds: list[Fold]
    kernels: list[Kernel]
    Cs: Sequence[float]
    max_time: float | None
    dtype: np.dtype
    megabytes: float
    threads: int
    seed: int

    def follow(
        self, watched: SearchTasks | None = None, refits: bool = False
    ) -> dict[tuple[int, int], dict[Pair, list[PathPoint]]]:
        """The points along C of every pair of classes, for each kernel and fold."""
        problems, limits = self._problems(), self._limits()
        workers = self.workers(len(problems))
        inside = max(self.threads // workers, 1)

        def do(number: int, cancelled: Cancelled) -> list[list[PathPoint]]:
            with watched.path(number) if watched else nullcontext():
                return list(self._paths(problems[number], limits, inside, cancelled))

        if watched:
            watched.begin(len(problems), refits)
        paths: dict[tuple[int, int], dict[Pair, list[PathPoint]]] = {}
        for problem, found in zip(problems, self.session.each(range(len(problems)), workers, do), strict=True):
            for fold, points in zip(problem.folds, found, strict=True):
                paths.setdefault((problem.kernel, fold), {})[problem.pair] = points
        return paths

    def workers(self, jobs: int) -> int:
        """How many jobs to do at a time; a user's function is called by one thread only."""
        alone = any(isinstance(kernel, Function) for kernel in self.kernels)
        return 1 if alone else min(self.threads, jobs)

    def groups(self, fold: int) -> list[np.ndarray]:
        """The rows of each class that a fold trains on."""
        weights = self.folds[fold].weights
        return [rows[weights[rows] > 0] for rows in self.rows]

    def _problems(self) -> list[PathProblem]:
        """Large ones first, so that no thread is left with one at the end. They do not depend on the threads."""
        every = range(len(self.folds))
        together = [tuple(every)] if self._folds_share() else [(fold,) for fold in every]
        sizes = {fold: [len(rows) for rows in self.groups(fold)] for fold in every}
        problems = [
            PathProblem(kernel, (a, b), tuple(fold for fold in folds if sizes[fold][a] and sizes[fold][b]))
            for kernel, folds in product(range(len(self.kernels)), together)
            for a, b in combinations(range(len(self.rows)), 2)
        ]
        return sorted((p for p in problems if p.folds), key=lambda p: -sum(len(self.rows[c]) for c in p.pair))

    def _folds_share(self) -> bool:
        """Whether folds share one Gram, one after the other: it keeps values, and there are few groups of rows."""
        gram = Gram(self.kernels[0], self.X, cache_size=self.megabytes, dtype=self.dtype)
        trained = np.column_stack([fold.weights > 0 for fold in self.folds])
        return gram.memory_pays and len(np.unique(trained, axis=0)) <= len(self.folds) + 1

    def _limits(self) -> dict[tuple[int, int], list[FitLimit]]:
        limits = {}
        for kernel, fold in product(range(len(self.kernels)), range(len(self.folds))):
            sizes = [len(rows) for rows in self.groups(fold) if len(rows)]
            rows = [a + b for a, b in combinations(sizes, 2)]
            limits[kernel, fold] = [FitLimit(self.max_time, rows) for _ in self.Cs]
        return limits

    def _paths(
        self, path: PathProblem, limits: dict[tuple[int, int], list[FitLimit]], threads: int, cancelled: Cancelled
    ) -> Iterable[list[PathPoint]]:
        """The path of each fold, one after the other in one Gram."""
        pair_gram, signed = PairGram(self, path, threads), sides(path.pair, len(self.rows))
        for k, fold in enumerate(path.folds):
            problem = pair_gram.problem(k, signed, self.folds[fold].weights)
            points = self._path(problem, limits[path.kernel, fold], cancelled)
            yield [replace(point, function=_of_rows(point.function, pair_gram.rows)) for point in points]

    def _path(self, at_one: L2SVC, limits: list[FitLimit], cancelled: Cancelled) -> Iterable[PathPoint]:
        """Solutions of one problem along C; ``at_one`` is the problem at C = 1."""
        state: KernelState | None = None
        for C, limit in zip(self.Cs, limits, strict=True):
            if cancelled.is_set():
                return
            began, ridge = time.perf_counter(), at_one.ridge / C
            stop = Gap(self.session.settings.tol) | limit.share(at_one.size) | cancelled
            if state is None:
                run = self.session.run(KernelState(replace(at_one, ridge=ridge)), stop)
                run.begin(None, START, np.random.default_rng(self.seed))
            else:
                state.set_ridge(ridge)
                run = self.session.run(state, stop)
                run.resume()
            result, state = run.finish(), cast(KernelState, run.state)  # in double it is one as well
            function = at_one.model(result.weights, result.value)  # C is in the weights
            seconds = time.perf_counter() - began
            limit.spend(seconds)
            yield PathPoint(function, result.relative_primal_gap, result.stop_reason, seconds)


def _of_rows(function: Coefficients, rows: np.ndarray) -> Coefficients:
    """The same function over rows of all data."""
    return replace(function, rows=rows[function.rows])
