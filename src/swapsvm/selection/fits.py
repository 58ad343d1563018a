"""The fits of a search, made and scored by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product

from ..fitting.callbacks import SearchTasks
from ..fitting.workers import Cancelled
from ..models import Name
from .layout import Path
from .limits import SearchTime
from .paths import Job, Points
from .scores import Fit
from .scoring import Scoring

Place = tuple[int, int, int]  # of a candidate: its kernel, its variant, its C


class Fits:
    """Every candidate in every fold. Models along C are scored by the thread that finds the last of their points."""

    def __init__(self, scoring: Scoring, time: SearchTime) -> None:
        self._paths, self._scoring, self._time, self._lock = scoring.paths, scoring, time, threading.Lock()
        self._solved: dict[tuple[int, int, int], dict[Name, Points]] = {}  # by kernel, fold and variant
        self._fits: dict[tuple[Place, int], Fit] = {}

    def make(self, watched: SearchTasks | None, refits: bool) -> dict[Place, list[Fit]]:
        """For each candidate the fits of all folds, as far as the search came."""
        paths, jobs = self._paths, self._paths.jobs()
        workers = paths.workers(len(jobs))
        inside = max(paths.threads // workers, 1)
        shares = self._time.for_jobs([paths.size(job) for job in jobs], workers)

        def do(number: int, cancelled: Cancelled) -> None:
            job, began, scoring = jobs[number], self._time.clock(), 0.0
            end = shares.end_of_paths(paths.size(job))
            with watched.path(number) if watched else nullcontext():
                solved = iter(()) if self._time.is_over() else paths.solve(job, end, inside, cancelled)
                for path, points in solved:
                    scoring += self._note(job, path, points, cancelled)
                    if self._time.is_over():
                        break
            shares.spend(self._time.clock() - began - scoring, scoring)

        if watched:
            watched.begin(len(jobs), refits)
        with paths.progress.shown(sum(len(job.paths) for job in jobs) * len(paths.Cs)):
            ended_by = self._each(len(jobs), workers, do)
        missed = Fit.not_made(ended_by)
        folds, variants = range(len(paths.folds)), range(len(paths.targets.variants))
        places = product(range(len(paths.kernels)), variants, range(len(paths.Cs)))
        return {place: [self._fits.get((place, fold), missed) for fold in folds] for place in places}

    def _each(self, jobs: int, workers: int, do: Callable[[int, Cancelled], None]) -> str:
        """Do the jobs; the reason why fits were left out, if any were."""
        session = self._paths.session
        try:
            session.each(range(jobs), workers, do)
        except KeyboardInterrupt:
            if session.settings.on_interrupt != "keep":
                raise
            return "interrupted"
        return "max_time"

    def _note(self, job: Job, path: Path, points: Points, cancelled: Cancelled) -> float:
        """Keep the points of a path and score the models that they complete; the seconds that scores took."""
        began, key = self._time.clock(), (job.kernel, path.fold, path.variant)
        with self._lock:
            solved = self._solved.setdefault(key, {})
            solved[path.name] = points
            complete = len(solved) == len(self._paths.names[path.fold])
            if complete:
                del self._solved[key]
        if complete:
            self._score(job.kernel, path, solved, cancelled)
        return self._time.clock() - began

    def _score(self, kernel: int, path: Path, solved: dict[Name, Points], cancelled: Cancelled) -> None:
        order, found = iter(self._paths.order), self._scoring.fits(kernel, path, solved)
        while not cancelled.is_set() and not self._time.is_over():
            some = next(found, None)
            if some is None:
                return
            for fit, C in zip(some, order, strict=False):
                self._fits[(kernel, path.variant, C), path.fold] = fit
