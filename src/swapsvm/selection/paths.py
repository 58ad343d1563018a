"""Paths of solutions along C, for the folds of a cross-validation.

Weights on the simplex are feasible for every C, and C enters Q only as a ridge. So a path is one state: the next C
changes the ridge, h follows without a kernel value, and the working set keeps its values. Where kernel values are worth
keeping, folds and variants share a Gram, in which a fold's problem consists of the groups of rows that it trains on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from typing import cast

import numpy as np

from .._core import PairSolution
from ..arrays import Matrix
from ..fitting.session import Session
from ..fitting.whole import follow_whole
from ..fitting.workers import Cancelled
from ..gram import Gram
from ..kernels import Function, Kernel, Precomputed
from ..models import Name
from ..problems import Coefficients
from ..run import Run
from ..state import KernelState
from ..stopping import Gap, Seconds, Stop, relative
from .progress import FitObserver, SearchProgress
from .targets import Problem, Targets, TrainingRows

WHOLE = 0.5  # part of the budget for the matrix of all kernel values of a job, in double: certificates read it, too
SHORTEST = 1e-3  # seconds of the first fit of a path
START = 20  # random rows on which the first fit of a path begins


@dataclass(frozen=True)
class Fold:
    """One split: the rows held out, and the weights of all rows in training; 0 for rows that are not trained on."""

    test: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class PathPoint:
    """The solution of one problem at one C, on the training rows of one fold."""

    function: Coefficients
    relative_gap: float
    stop_reason: str
    seconds: float


Points = dict[int, PathPoint]  # of a path, by the place of their C


@dataclass(frozen=True)
class Path:
    """One problem of a variant in one fold, at all values of C."""

    fold: int
    variant: int
    name: Name


@dataclass(frozen=True)
class Job:
    """Paths under one kernel that share their kernel values, one after the other."""

    kernel: int
    groups: Name  # of the targets
    paths: tuple[Path, ...]


class SharedRows:
    """The Gram of a job, in groups of rows that the same folds train on."""

    def __init__(self, paths: Paths, job: Job, threads: int) -> None:
        self._folds = tuple(sorted({path.fold for path in job.paths}))
        self._pieces = [(g, *piece) for g in job.groups for piece in paths.pieces(g, self._folds)]
        X, kernel, groups = paths.X, paths.kernels[job.kernel], [rows for _, rows, _ in self._pieces]
        self.rows = np.arange(X.shape[0])
        if not isinstance(kernel, Precomputed):  # groups lie one behind the other: a range is read faster than a list
            self.rows = np.concatenate(groups)
            X, groups = X[self.rows], np.split(np.arange(len(self.rows)), np.cumsum([len(g) for g in groups])[:-1])
        dtype, megabytes = paths.dtype, paths.megabytes
        if len(job.paths) > 1 and 8 * len(self.rows) ** 2 <= WHOLE * megabytes * 2**20:
            every, dtype = np.arange(len(self.rows)), np.dtype(np.float64)
            X = Gram(kernel, X, dtype=dtype, cache_size=megabytes, n_threads=threads).block(every, every)
            kernel, megabytes = Precomputed(), (1 - WHOLE) * megabytes
        self.gram = Gram(kernel, X, groups=groups, dtype=dtype, cache_size=megabytes, n_threads=threads, checked=False)

    def of(self, fold: int, weights: np.ndarray) -> TrainingRows:
        """The rows of a fold, with the weights of all rows of the data."""
        place, groups = self._folds.index(fold), dict[int, list[int]]()
        for number, (group, _, trained) in enumerate(self._pieces):
            if trained[place]:
                groups.setdefault(group, []).append(number)
        own = weights[self.rows]
        return TrainingRows(self.gram, groups, self.rows, own if (own[own > 0] != 1).any() else None)


def pieces(rows: np.ndarray, trained: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Groups of rows that the same folds train on, and these folds; rows of no fold are left out."""
    patterns, which = np.unique(trained[rows], axis=0, return_inverse=True)
    return [(rows[which.ravel() == p], pattern) for p, pattern in enumerate(patterns) if pattern.any()]


@dataclass(frozen=True, eq=False)
class Paths:
    """All fits of a search: kernels x variants x folds x values of C, which ascend.

    ``order`` lists the places of the values of C in the order in which a path visits them. ``dtype`` is that of kernel
    values, and ``megabytes`` are for each thread.
    """

    session: Session
    X: Matrix
    targets: Targets
    folds: list[Fold]
    kernels: list[Kernel]
    Cs: Sequence[float]
    order: Sequence[int]
    dtype: np.dtype
    megabytes: float
    threads: int
    seed: int
    progress: SearchProgress

    def workers(self, jobs: int) -> int:
        """How many jobs to do at a time; a user's function is called by one thread only."""
        alone = any(isinstance(kernel, Function) for kernel in self.kernels)
        return 1 if alone else min(self.threads, jobs)

    def groups(self, fold: int) -> list[np.ndarray]:
        """The rows of each group that a fold trains on."""
        return self._groups[fold]

    def pieces(self, group: int, folds: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows of a group in pieces that the same of these folds train on. All kernels have the same."""
        if (group, folds) not in self._pieces:
            trained = np.column_stack([self.folds[fold].weights > 0 for fold in folds])
            self._pieces[group, folds] = pieces(self.targets.rows[group], trained)
        return self._pieces[group, folds]

    @cached_property
    def _pieces(self) -> dict[tuple[int, tuple[int, ...]], list[tuple[np.ndarray, np.ndarray]]]:
        return {}

    @cached_property
    def _groups(self) -> list[list[np.ndarray]]:
        return [[rows[fold.weights[rows] > 0] for rows in self.targets.rows] for fold in self.folds]

    @cached_property
    def names(self) -> list[list[Name]]:
        """The problems of each candidate, for each fold."""
        groups = [self.groups(fold) for fold in range(len(self.folds))]
        return [self.targets.names([g for g, rows in enumerate(own) if len(rows)]) for own in groups]

    def jobs(self) -> list[Job]:
        """Kernel by kernel from the middle of the grid outwards, large jobs first; they do not depend on threads."""
        variants, targets = range(len(self.targets.variants)), self.targets
        every = [Path(f, v, name) for f in range(len(self.folds)) for v in variants for name in self.names[f]]
        together: list[list[Path]] = [[path] for path in every]
        if self._paths_share():
            by_groups = sorted(every, key=lambda path: targets.groups_of(path.name))
            together = [list(own) for _, own in groupby(by_groups, key=lambda path: targets.groups_of(path.name))]
        groups = [(targets.groups_of(own[0].name), tuple(own)) for own in together]
        outwards = sorted(range(len(self.kernels)), key=lambda kernel: abs(kernel - len(self.kernels) // 2))
        jobs = [Job(kernel, *part) for kernel, part in product(outwards, groups)]
        return sorted(jobs, key=lambda job: (outwards.index(job.kernel), -self.size(job)))

    def size(self, job: Job) -> int:
        """The number of rows of all paths."""
        return len(job.paths) * sum(len(self.targets.rows[g]) for g in job.groups)

    def _paths_share(self) -> bool:
        """Whether paths share one Gram, one after the other: it keeps values, and there are few groups of rows."""
        gram = Gram(self.kernels[0], self.X, cache_size=self.megabytes, dtype=self.dtype)
        trained = np.column_stack([fold.weights > 0 for fold in self.folds])
        shares = gram.memory_pays or 2 * max(map(len, self.targets.rows)) <= gram.largest_whole
        return shares and len(np.unique(trained, axis=0)) <= len(self.folds) + 1

    def solve(self, job: Job, end: float, threads: int, cancelled: Cancelled) -> Iterator[tuple[Path, Points]]:
        """Each path of a job with its points, at least one; they are to end at this time of the session's clock."""
        clock = self.session.clock
        shared = SharedRows(self, job, threads)
        followed = self._follow_whole(job, shared, end) if self._is_whole(job, shared.gram) else {}
        yield from followed.items()
        others = [path for path in job.paths if path not in followed]
        for number, path in enumerate(others):
            began = clock()
            own_end = began + max(end - began, 0.0) / (len(others) - number)
            training = shared.of(path.fold, self.folds[path.fold].weights)
            problems = self.targets.along([self.Cs[C] for C in self.order], path.name, path.variant, training)
            points = zip(self.order, self._points(problems, own_end, cancelled), strict=False)
            yield path, {C: replace(point, function=_of_rows(point.function, shared.rows)) for C, point in points}

    def _is_whole(self, job: Job, gram: Gram) -> bool:
        rows = max(sum(len(self.groups(path.fold)[g]) for g in job.groups) for path in job.paths)
        return rows <= gram.largest_whole and not isinstance(gram.kernel, Function)

    def _follow_whole(self, job: Job, shared: SharedRows, end: float) -> dict[Path, Points]:
        """The paths that the core could follow to their end in one call."""
        session, training = self.session, [shared.of(p.fold, self.folds[p.fold].weights) for p in job.paths]
        sides = [self.targets.sides(path.name, rows) for path, rows in zip(job.paths, training, strict=True)]
        problems = [found for found in sides if found is not None]
        if len(problems) < len(sides):
            return {}
        Cs, weights = [self.Cs[C] for C in self.order], [rows.weights for rows in training]
        tol, token, noted = session.settings.tol, session.token_until(end), self.progress.on_fit()
        solutions = follow_whole(shared.gram, problems, weights, Cs, tol, token, noted)
        found = {}
        for path, rows, points in zip(job.paths, training, solutions, strict=True):
            if len(points) == len(Cs):
                problem = next(self.targets.along([1.0], path.name, path.variant, rows))
                found[path] = dict(zip(self.order, _read(problem, points, shared.rows), strict=True))
            else:
                self.progress.forget(len(points))
        return found

    def _points(self, problems: Iterator[Problem], end: float, cancelled: Cancelled) -> Iterator[PathPoint]:
        """Solutions of one problem along C, as far as it comes; the last one may have ended early."""
        state, clock = None, self.session.clock
        for problem in problems:
            began = clock()
            if cancelled.is_set() or (state and began >= end):
                return
            stop = Gap(self.session.settings.tol) | Seconds(max(end - began, SHORTEST)) | cancelled
            observers = self.progress.observers()
            run = self._run(problem, state, stop, observers)
            result, state = run.finish(), cast(KernelState, run.state)  # in double it is one as well
            function = problem.model(result.weights, result.value)
            self.progress.finished(observers)
            yield PathPoint(function, result.relative_primal_gap, result.stop_reason, clock() - began)
            if result.stop_reason == "max_time":
                return

    def _run(self, problem: Problem, last: KernelState | None, stop: Stop, observers: Sequence[FitObserver]) -> Run:
        """A run from the last point of the path: in the same state if C changes the ridge only."""
        if last is not None and last.problem.radius == problem.radius:
            last.set_ridge(problem.ridge)
            run = self.session.run(last, stop, observers)
            run.resume()
        else:
            run = self.session.run(KernelState(problem), stop, observers)
            start = None if last is None else problem.start_from(last.weights)
            run.begin(start, START, np.random.default_rng(self.seed))
        return run


def _read(problem: Problem, solutions: Sequence[PairSolution], rows: np.ndarray) -> Iterator[PathPoint]:
    for solution in solutions:
        function = _of_rows(problem.model(solution.weights, solution.value), rows)
        yield PathPoint(function, relative(solution.primal_gap, solution.scale), "gap", solution.seconds)


def _of_rows(function: Coefficients, rows: np.ndarray) -> Coefficients:
    """The same function over rows of all data."""
    return Coefficients(rows[function.rows], function.coef, function.intercept)
