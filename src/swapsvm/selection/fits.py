"""The fits of a search, made and scored by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product

from ..fitting.callbacks import SearchTasks
from ..fitting.workers import Cancelled
from ..models import Name
from .paths import Job, Path, PathPoint, Paths
from .scores import Fit

Place = tuple[int, int, int]  # of a candidate: its kernel, its variant, its C
Points = dict[Name, PathPoint]  # the solutions that make a model
Score = Callable[[Place, int, Points], Fit]  # of a candidate in a fold


class Fits:
    """Every candidate in every fold. A model is scored by the thread that finds the last of its points."""

    def __init__(self, paths: Paths, score: Score) -> None:
        self._paths, self._score, self._lock = paths, score, threading.Lock()
        self._solved: dict[tuple[int, int, int], dict[Name, list[PathPoint]]] = {}  # by kernel, fold and variant
        self._fits: dict[tuple[Place, int], Fit] = {}

    def make(self, watched: SearchTasks | None, refits: bool) -> dict[Place, list[Fit]]:
        """For each candidate the fits of all folds."""
        paths, jobs, limits = self._paths, self._paths.jobs(), self._paths.limits()
        workers = paths.workers(len(jobs))
        inside = max(paths.threads // workers, 1)

        def do(number: int, cancelled: Cancelled) -> None:
            with watched.path(number) if watched else nullcontext():
                for path, points in paths.solve(jobs[number], limits, inside, cancelled):
                    self._note(jobs[number], path, points, cancelled)

        if watched:
            watched.begin(len(jobs), refits)
        paths.session.each(range(len(jobs)), workers, do)
        folds, variants = range(len(paths.folds)), range(len(paths.targets.variants))
        places = product(range(len(paths.kernels)), variants, range(len(paths.Cs)))
        return {place: [self._fits[place, fold] for fold in folds] for place in places}

    def _note(self, job: Job, path: Path, points: list[PathPoint], cancelled: Cancelled) -> None:
        """Keep the points of a path; score the models that they complete."""
        with self._lock:
            solved = self._solved.setdefault((job.kernel, path.fold, path.variant), {})
            solved[path.name] = points
            complete = len(solved) == len(self._paths.names(path.fold))
        for C in range(len(self._paths.Cs) if complete else 0):
            if cancelled.is_set():
                return
            place = job.kernel, path.variant, C
            fit = self._score(place, path.fold, {name: found[C] for name, found in solved.items()})
            self._fits[place, path.fold] = fit
