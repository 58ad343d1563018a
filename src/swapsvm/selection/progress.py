"""How far a search is: its fits, counted as they end in any thread, and shown on stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial

from ..fitting.clock import Clock
from ..fitting.progress import Display, FitProgress, open_display
from ..run import Run


class SearchProgress:
    """Counts the fits of a search and, if asked to, shows them."""

    def __init__(self, verbose: int, clock: Clock) -> None:
        self._verbose, self._clock, self._began, self._lock = verbose, clock, clock(), threading.Lock()
        self._display: Display | None = None
        self._fits, self._done = 0, 0
        self._running: dict[FitObserver, float] = {}  # the part of each that is done

    @contextmanager
    def shown(self, fits: int) -> Iterator[None]:
        """Around the search, which has this many fits."""
        self._fits = fits
        if not self._verbose:
            yield
            return
        with open_display(fits) as self._display:
            self._show()
            yield
            self._display(f"{self._done} of {fits} fits", self._done, f"{self._seconds():.1f} s")

    def observers(self) -> list[FitObserver]:
        """Who looks at one fit."""
        return [FitObserver(self)] if self._display else []

    def note(self, observer: FitObserver, part: float) -> None:
        """This part of a fit is done."""
        with self._lock:
            self._running[observer] = part
            self._show()

    def finished(self, observers: list[FitObserver]) -> None:
        """A fit with these observers has ended."""
        with self._lock:
            self._done += 1
            for observer in observers:
                self._running.pop(observer, None)
            self._show()

    def on_fit(self) -> Callable[[], None] | None:
        """What to call when a fit ends that nobody looks at before; None if nothing is shown."""
        return partial(self.finished, []) if self._display else None

    def forget(self, fits: int) -> None:
        """These fits will be made again."""
        with self._lock:
            self._done = max(self._done - fits, 0)

    def _show(self) -> None:
        if self._display:
            place = f"fit {min(self._done + 1, self._fits)} of {self._fits}"
            self._display(place, self._done + sum(self._running.values()), f"{self._seconds():.1f} s")

    def _seconds(self) -> float:
        return self._clock() - self._began


class FitObserver:
    """Tells how much of a fit is done."""

    next_gap = 0.0

    def __init__(self, progress: SearchProgress) -> None:
        self._progress = progress

    def look(self, run: Run) -> bool:
        """Note it; a search is not ended by looking at it."""
        self._progress.note(self, FitProgress(**asdict(run.progress())).part)
        return True
