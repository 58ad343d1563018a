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

    No problem gets less than an equal share, and each may use ``shares`` times its share of what is left: most need
    less, and what they leave goes to those that follow. The seconds count from ``began``, by default from now.
    """

    def __init__(
        self,
        seconds: float | None,
        rows: Collection[int],
        workers: int = 1,
        clock: Clock = time.perf_counter,
        began: float | None = None,
        shares: float = 2.0,
    ) -> None:
        self._clock, self._shares = clock, shares * workers
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
        return Seconds(seconds * min(1.0, self._shares * share))
