"""Who watches a fit: callbacks, a progress bar, the log."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from ..problems import Quadratic
from ..solve import Result, Run
from ..stopping import Progress
from .subproblems import Subproblem
from .tasks import Attributes, Tasks

logger = logging.getLogger("swapsvm")

SECONDS_PER_LINE = 2.0  # where no bar can be redrawn
RESOLVED = 1e-15  # of the value: no gap is smaller in double, whatever the target


@dataclass(frozen=True, slots=True)
class FitProgress(Progress):
    """Where a fit stands: the progress of one problem, such as a pair of classes, and how many are done.

    Attributes
    ----------
    iteration, seconds, value, gap, relative_gap, support, evaluations
        Of the problem; the gap is what the run sees, not yet a certificate.
    pair : tuple
        The two class labels; empty if the fit has one problem without them.
    pairs_done, pairs : int
    target : float
        The gap at which the problem ends.
    """

    pair: tuple[Any, ...] = ()
    pairs_done: int = 0
    pairs: int = 1
    target: float = 0.0

    @property
    def part(self) -> float:
        """A guess of how much of the pair is done: gaps fall by factors, so it counts those."""
        factors = math.log(max(self.relative_gap, 1e-300)) / math.log(self.relative_gap_at(1.0))
        return min(max(factors, 0.0), 1.0)

    def relative_gap_at(self, part: float) -> float:
        """The relative gap at which so much of the pair is done."""
        target = self.target / self.scale if self.scale > 0 else 0.0
        return float(min(max(target, RESOLVED), 0.999) ** part)


Callback = Callable[[FitProgress], Any]


class Display(Protocol):
    """Something that shows a progress."""

    def __call__(self, progress: FitProgress) -> None: ...


class Observers:
    """Calls everybody, one at a time, and is the stop rule of a callback that returned False."""

    def __init__(
        self, callbacks: Callback | Iterable[Callback] | None, verbose: int, pairs: int, tasks: Tasks | None = None
    ) -> None:
        listed = [] if callbacks is None else [callbacks] if callable(callbacks) else list(callbacks)
        for callback in listed:
            if not callable(callback):
                raise ValueError(f"callbacks={callback!r} is not callable: give functions of the progress")
        self._callbacks, self._verbose, self._pairs, self._tasks = listed, verbose, pairs, tasks
        self._done, self._stopped, self._lock, self._open = 0, False, threading.Lock(), ExitStack()
        self._display: Display | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody watches."""
        return bool(self._callbacks or self._verbose or self._tasks)

    def __enter__(self) -> Self:
        if self._verbose:
            self._display = self._open.enter_context(open_display(self._pairs))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def watch(self, sub: Subproblem, run: Run, model: Attributes) -> Callable[[Progress], bool]:
        """The callback of one problem's run."""

        def seen(progress: Progress) -> bool:
            with self._lock:
                told = FitProgress(
                    **asdict(progress),
                    pair=sub.labels,
                    pairs=self._pairs,
                    pairs_done=self._done,
                    target=run.stop.target(progress),
                )
                answers = [callback(told) for callback in self._callbacks]
                self._stopped = self._stopped or any(answer is False for answer in answers)
                if self._display:
                    self._display(told)
                go_on = not self._tasks or self._tasks.look(sub, told, model)
                if self._tasks:
                    run.pause = self._tasks.next_gap(sub, told)
                return go_on and not self._stopped

        return seen

    def began(self, sub: Subproblem, problem: Quadratic) -> None:
        """One problem begins."""
        if self._tasks:
            with self._lock:
                self._tasks.begin_problem(sub, problem)

    def finished(self, sub: Subproblem, result: Result, model: Attributes) -> None:
        """One problem is done."""
        with self._lock:
            self._done += 1
            if self._tasks and not self._tasks.end_problem(sub, model):
                self._stopped = True
        logger.info(
            "%s: %s after %d iterations, relative gap %.2g, %d kernel values",
            sub.name,
            result.stop_reason,
            result.iterations,
            result.relative_gap,
            result.evaluations,
        )

    def __call__(self, progress: Progress) -> str | None:
        """As a stop rule of all problems."""
        return "callback" if self._stopped else None


def open_display(pairs: int) -> Any:
    """A bar where a terminal and rich are there, else a line now and then; on stderr."""
    if sys.stderr.isatty():
        try:
            from .bar import Bar
        except ImportError:
            return Lines()
        return Bar(pairs)
    return Lines()


class Lines:
    """One line on stderr every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, progress: FitProgress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_PER_LINE
            sys.stderr.write(f"swapsvm: pair {progress.pairs_done + 1} of {progress.pairs}, {described(progress)}\n")


def described(progress: FitProgress) -> str:
    """A progress in words."""
    return (
        f"gap {progress.relative_gap:.1e}, {progress.support} support vectors, "
        f"{progress.evaluations:.2g} kernel values, {progress.seconds:.1f} s"
    )
