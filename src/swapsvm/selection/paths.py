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

from .._core import PathSolutions
from ..arrays import Matrix
from ..fitting.session import Session
from ..fitting.whole import follow_whole
from ..fitting.workers import Cancelled
from ..gram import Gram
from ..kernels import Function, Kernel, Precomputed
from ..models import Name
from ..problems import Coefficients, Family, decision_functions
from ..run import Run
from ..state import KernelState
from ..stopping import Gap, Seconds, Stop, relative
from .layout import Fold, Layout, Path, TwoSided, pieces
from .progress import FitObserver, SearchProgress
from .targets import Problem, Targets, TrainingRows

WHOLE = 0.5  # part of the budget for the matrix of all kernel values of a job, in double: certificates read it, too
SHORTEST = 1e-3  # seconds of the first fit of a path
START = 20  # random rows on which the first fit of a path begins
MOST_KEPT = 1 << 22  # rows x groups: larger layouts are made again for each kernel


@dataclass(frozen=True)
class PathPoint:
    """The solution of one problem at one C, on the training rows of one fold."""

    function: Coefficients
    relative_gap: float
    stop_reason: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Points:
    """The solutions of one problem along C, in the order in which the path visits them: at least one."""

    functions: Family
    relative_gaps: np.ndarray
    stop_reasons: list[str]
    seconds: np.ndarray

    @classmethod
    def of(cls, points: Sequence[PathPoint], rows: np.ndarray) -> Points:
        """These solutions, whose functions are over ``rows`` of the data."""
        functions = Family.of([point.function for point in points])
        functions = replace(functions, rows=rows[functions.rows])
        gaps, seconds = (np.array([getattr(point, name) for point in points]) for name in ("relative_gap", "seconds"))
        return cls(functions, gaps, [point.stop_reason for point in points], seconds)

    def __len__(self) -> int:
        return len(self.stop_reasons)

    def part(self, some: slice) -> Points:
        """Some of them."""
        return Points(self.functions.part(some), self.relative_gaps[some], self.stop_reasons[some], self.seconds[some])


@dataclass(frozen=True)
class Job:
    """Paths under one kernel that share their kernel values, one after the other."""

    kernel: int
    groups: Name  # of the targets
    paths: tuple[Path, ...]


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

    def _layout(self, job: Job) -> Layout:
        key = job.groups, job.paths
        if key in self._layouts:
            return self._layouts[key]
        folds = tuple(sorted({path.fold for path in job.paths}))
        own = [(g, *piece) for g in job.groups for piece in self._pieces_of(g, folds)]
        layout = Layout.of(self.targets, {fold: self.folds[fold] for fold in folds}, own)
        if isinstance(self.kernels[job.kernel], Precomputed):
            layout = layout.in_place(self.X.shape[0])
        if len(self.targets.rows) * self.X.shape[0] <= MOST_KEPT:
            self._layouts[key] = layout
        return layout

    def _pieces_of(self, group: int, folds: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows of a group in pieces that the same of these folds train on."""
        if (group, folds) not in self._pieces:
            trained = np.column_stack([self.folds[fold].weights > 0 for fold in folds])
            self._pieces[group, folds] = pieces(self.targets.rows[group], trained)
        return self._pieces[group, folds]

    @cached_property
    def _pieces(self) -> dict[tuple[int, tuple[int, ...]], list[tuple[np.ndarray, np.ndarray]]]:
        return {}

    @cached_property
    def _layouts(self) -> dict[tuple[Name, tuple[Path, ...]], Layout]:
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
        clock, layout = self.session.clock, self._layout(job)
        gram = self._gram(job, layout, threads)
        followed = self._follow_whole(job, layout, gram, end)
        yield from followed.items()
        others = [path for path in job.paths if path not in followed]
        for number, path in enumerate(others):
            began = clock()
            own_end = began + max(end - began, 0.0) / (len(others) - number)
            trained = layout.trained[path.fold]
            training = TrainingRows(gram, trained.groups, layout.rows, trained.weights)
            problems = self.targets.along([self.Cs[C] for C in self.order], path.name, path.variant, training)
            points = list(self._points(problems, own_end, cancelled))
            if points:  # none if the search is cancelled
                yield path, Points.of(points, layout.rows)

    def _gram(self, job: Job, layout: Layout, threads: int) -> Gram:
        """The Gram of a job; of all its values, in double, if they fit into memory and several paths read them."""
        X, kernel, dtype, megabytes = self.X, self.kernels[job.kernel], self.dtype, self.megabytes
        if not isinstance(kernel, Precomputed):
            X = X[layout.rows]
        if len(job.paths) > 1 and 8 * len(layout.rows) ** 2 <= WHOLE * megabytes * 2**20:
            every, dtype = np.arange(len(layout.rows)), np.dtype(np.float64)
            X = Gram(kernel, X, dtype=dtype, cache_size=megabytes, n_threads=threads).block(every, every)
            kernel, megabytes = Precomputed(), (1 - WHOLE) * megabytes
        groups = layout.groups
        return Gram(kernel, X, groups=groups, dtype=dtype, cache_size=megabytes, n_threads=threads, checked=False)

    def _follow_whole(self, job: Job, layout: Layout, gram: Gram, end: float) -> dict[Path, Points]:
        """The paths that the core could follow to their end in one call."""
        if layout.most_rows > gram.largest_whole or isinstance(gram.kernel, Function):
            return {}
        problems = {path: problem for path in job.paths if (problem := layout.two_sided(path))}
        Cs, session = [self.Cs[C] for C in self.order], self.session
        tol, token, noted = session.settings.tol, session.token_until(end), self.progress.on_fit()
        sides, weights = [own.sides for own in problems.values()], [own.weights for own in problems.values()]
        solutions = follow_whole(gram, sides, weights, Cs, tol, token, noted) if problems else []
        found = {}
        for (path, problem), points in zip(problems.items(), solutions, strict=True):
            if len(points) == len(Cs):
                found[path] = _read(problem, points)
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


def _read(problem: TwoSided, solutions: PathSolutions) -> Points:
    functions = decision_functions(problem.rows, problem.positive, solutions.weights, solutions.values)
    gaps = [relative(*each) for each in zip(solutions.primal_gaps.tolist(), solutions.scales.tolist(), strict=True)]
    return Points(functions, np.array(gaps), ["gap"] * len(solutions), solutions.seconds)
