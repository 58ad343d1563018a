"""Limits of seconds that the problems of one fit share."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection

from ..stopping import Seconds

Clock = Callable[[], float]


class TimeBudget:
    """One limit of seconds for several problems, shared out by their rows.

    No problem gets less than an equal share, and each may use twice its share of what is left: most need less, and what
    they leave goes to those that follow. The seconds count from ``began``, by default from now.
    """

    def __init__(
        self,
        seconds: float | None,
        rows: Collection[int],
        workers: int = 1,
        clock: Clock = time.perf_counter,
        began: float | None = None,
    ) -> None:
        self._clock, self._workers = clock, workers
        self._end = math.inf if seconds is None else (clock() if began is None else began) + seconds
        self._rows, self._waiting = sum(rows), len(rows)
        self._lock = threading.Lock()

    def share(self, rows: int) -> Seconds:
        """The limit of a problem of this many rows that starts now."""
        seconds = max(self._end - self._clock(), 1e-9)
        with self._lock:
            share = max(rows / self._rows, 1 / self._waiting)
            self._rows -= rows
            self._waiting -= 1
        return Seconds(seconds * min(1.0, 2 * self._workers * share))


class SpentTime:
    """A clock that only advances by what was spent: for problems of one fit that are solved at different times."""

    def __init__(self) -> None:
        self._seconds, self._lock = 0.0, threading.Lock()

    def __call__(self) -> float:
        return self._seconds

    def spend(self, seconds: float) -> None:
        """Advance."""
        with self._lock:
            self._seconds += seconds
