"""The seconds of a whole search: for its paths and scores, then for the fit on all rows."""

from __future__ import annotations

import threading
from collections.abc import Collection

from ..fitting.clock import Clock, TimeBudget

REFIT, LAST_SCORES = 0.2, 0.05  # parts of the seconds that paths leave
LEAST_PART = 0.5  # of a share, for paths: fits that are cut short are worth little, however long scores take
COARSE = 3  # a path that may have to end early visits every third C first


class SearchTime:
    """The limit of seconds of a search that begins now; None is no limit."""

    def __init__(self, seconds: float | None, refits: bool, clock: Clock) -> None:
        self.clock, self._seconds, self._began = clock, seconds, clock()
        self._refit = REFIT if refits else 0.0

    def left(self) -> float | None:
        """Seconds for the fit on all rows, now; None is no limit."""
        return None if self._seconds is None else max(self._began + self._seconds - self.clock(), 1e-3)

    def is_over(self) -> bool:
        """Whether no further model is to be scored."""
        return self._seconds is not None and self.clock() >= self._began + (1 - self._refit) * self._seconds

    def order(self, count: int) -> list[int]:
        """The values of C in the order in which a path visits them: a coarse subset first if time may be short."""
        coarse = [] if self._seconds is None else list(range(COARSE // 2, count, COARSE))
        return coarse + [C for C in range(count) if C not in coarse]

    def for_jobs(self, rows: Collection[int], workers: int) -> JobTime:
        """The shares of jobs of these sizes."""
        seconds = None if self._seconds is None else (1 - self._refit - LAST_SCORES) * self._seconds
        return JobTime(TimeBudget(seconds, rows, workers, self.clock, self._began, shares=1.0), self.clock)


class JobTime:
    """Shares of the seconds, the same for jobs of the same size: the folds of a candidate should come equally far.

    A share covers the scores as well, which take as much time beside the paths as they took so far, at most half of it.
    """

    def __init__(self, budget: TimeBudget, clock: Clock) -> None:
        self._budget, self._clock, self._lock = budget, clock, threading.Lock()
        self._solving, self._scoring = 0.0, 0.0

    def end_of_paths(self, rows: int) -> float:
        """The time at which the paths of a job that starts now have to end."""
        seconds = self._budget.share(rows).limit
        part = self._solving / (self._solving + self._scoring) if self._solving else 1.0
        return self._clock() + seconds * max(part, LEAST_PART)

    def spend(self, solving: float, scoring: float) -> None:
        """Note what a job took."""
        with self._lock:
            self._solving += solving
            self._scoring += scoring
