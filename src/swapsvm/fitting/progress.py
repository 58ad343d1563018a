"""Who watches a fit: callbacks, a progress bar, the log."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

from ..problems import Quadratic
from ..result import Result
from ..run import Observer, Run
from ..stopping import Progress
from .callbacks import Attributes, Tasks
from .subproblems import Labels, Subproblem

logger = logging.getLogger("swapsvm")

SECONDS_PER_LINE = 2.0  # where no bar can be redrawn
UNCERTIFIED = 0.99  # of a problem is done, at most, before its certificate
RESOLVED = 1e-15  # relative to the value: double precision resolves no smaller gap, whatever the target


@dataclass(frozen=True, slots=True)
class FitProgress(Progress):
    """Where a fit stands: the progress of one problem, such as a pair of classes, and how many are done.

    Attributes
    ----------
    iteration, seconds, value, gap, relative_gap, support, evaluations
        Of the problem. The gap is the one that the run sees, not yet a certificate.
    target : float
        The gap at which the problem ends.
    pair : tuple
        The two class labels, or with ``multiclass="ovr"`` that of the class against all others; empty if the fit has
        a single problem without labels.
    pairs_done, pairs : int
        How many problems are done, and how many there are.
    """

    pair: Labels = ()
    pairs_done: int = 0
    pairs: int = 1

    @property
    def part(self) -> float:
        """An estimate of how much of the pair is done, on a logarithmic scale of the gap."""
        factors = math.log(max(self.relative_gap, 1e-300)) / math.log(self.relative_gap_at(1.0))
        return min(max(factors, 0.0), 1.0)

    def relative_gap_at(self, part: float) -> float:
        """The relative gap at which this part of the pair is done."""
        target = self.target / self.scale if self.scale > 0 else 0.0
        return float(min(max(target, RESOLVED), 0.999) ** part)


Callback = Callable[[FitProgress], object]
Display = Callable[[str, float, str], None]  # which problem of how many, how much of all is done, and its numbers
ReadRun = Callable[[Run], Mapping[str, object]]  # attributes of an estimator fitted to the present weights of a run


def checked_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """The callbacks as a list; ``ValueError`` if one of them cannot be called."""
    if callbacks is not None and not callable(callbacks) and not isinstance(callbacks, Iterable):
        raise ValueError(f"callbacks={callbacks!r} must be a function of the progress, or a list of them")
    listed = [] if callbacks is None else [callbacks] if callable(callbacks) else list(callbacks)
    for callback in listed:
        if not callable(callback):
            raise ValueError(f"callbacks={callback!r} is not callable: pass functions of the progress")
    return listed


class Observers:
    """Notifies callbacks, the display and scikit-learn's tasks, one after the other.

    It is also a stop rule: every problem ends once a callback has returned False.
    """

    def __init__(self, callbacks: list[Callback], verbose: int, pairs: int, tasks: Tasks | None) -> None:
        self.callbacks, self.pairs, self.pairs_done, self.tasks, self.stopped = callbacks, pairs, 0, tasks, False
        self._verbose, self._lock, self._open = verbose, threading.Lock(), ExitStack()
        self.display: Display | None = None
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if self._verbose:
            self.display = self._open.enter_context(open_display(self.pairs))
        return self

    def __exit__(self, *error: Any) -> None:  # of contextlib
        self._open.__exit__(*error)

    def watch(self) -> bool:
        """Whether there is anybody to notify."""
        return bool(self.callbacks or self.display or self.tasks)

    def are_told(self) -> bool:
        """Whether anybody learns that a problem is done."""
        return self.watch() or logger.isEnabledFor(logging.INFO)

    def of(self, sub: Subproblem, read: ReadRun) -> list[Observer]:
        """The observers of the run of one problem."""
        return [ProblemObserver(self, sub, read, self._lock)] if self.watch() else []

    def began(self, sub: Subproblem, problem: Quadratic) -> None:
        """One problem begins."""
        if self.tasks:
            with self._lock:
                self.tasks.begin_problem(sub, problem)

    def finished(self, sub: Subproblem, result: Result, model: Attributes) -> None:
        """One problem is done."""
        with self._lock:
            self.pairs_done += 1
            if self.display:
                text = format_result(result, time.monotonic() - self._began)
                self.display(place_of(sub.labels, self.pairs_done, self.pairs), self.pairs_done, text)
            if self.tasks and not self.tasks.end_problem(sub, model):
                self.stopped = True
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
        return "callback" if self.stopped else None


class ProblemObserver:
    """Tells the observers about the run of one problem."""

    def __init__(self, observers: Observers, sub: Subproblem, read: ReadRun, lock: threading.Lock) -> None:
        self._observers, self._sub, self._read, self._lock = observers, sub, read, lock
        self.next_gap = 0.0

    def look(self, run: Run) -> bool:
        """Notify everybody; False to end the run."""
        with self._lock:
            all_of, progress = self._observers, run.progress()
            told = FitProgress(
                **asdict(progress), pair=self._sub.labels, pairs=all_of.pairs, pairs_done=all_of.pairs_done
            )
            answers = [callback(told) for callback in all_of.callbacks]
            all_of.stopped = all_of.stopped or any(answer is False for answer in answers)
            if all_of.display:
                done = told.pairs_done + min(told.part, UNCERTIFIED)
                all_of.display(format_place(told), done, format_progress(told))
            return self._tell_tasks(told, run) and not all_of.stopped

    def _tell_tasks(self, told: FitProgress, run: Run) -> bool:
        tasks = self._observers.tasks
        if tasks is None:
            return True
        goes_on = tasks.look(self._sub, told, partial(self._read, run))
        self.next_gap = tasks.next_gap(self._sub, told)
        return goes_on


def open_display(total: int) -> AbstractContextManager[Display]:
    """A bar if stderr is a terminal and rich is installed, else a line every few seconds."""
    if sys.stderr.isatty():
        try:
            from .bar import Bar
        except ImportError:
            return Lines()
        return Bar(total)
    return Lines()


class Lines:
    """One line on stderr every few seconds, and at the end, unless by an error, one that says where it ended."""

    def __init__(self) -> None:
        self._next, self._pending = time.monotonic(), ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pending and kind is None:
            self._write(self._pending)

    def __call__(self, place: str, done: float, text: str) -> None:
        self._pending = f"{place}, {text}"
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_PER_LINE
            self._write(self._pending)

    def _write(self, line: str) -> None:
        sys.stderr.write(f"swapsvm: {line}\n")
        sys.stderr.flush()
        self._pending = ""


def format_place(progress: FitProgress) -> str:
    """Which problem of how many."""
    return place_of(progress.pair, progress.pairs_done + 1, progress.pairs)


def place_of(labels: Labels, number: int, pairs: int) -> str:
    """The number of a problem with these labels, among all."""
    noun = {0: "problem", 1: "class"}.get(len(labels), "pair")
    return f"{noun} {number} of {pairs}"


def format_progress(progress: FitProgress) -> str:
    """The numbers of a progress in one line."""
    return (
        f"gap {progress.relative_gap:.1e}, {progress.support} support vectors, "
        f"{progress.evaluations:.2g} kernel values, {progress.seconds:.1f} s"
    )


def format_result(result: Result, seconds: float) -> str:
    """The numbers of a problem that is solved, this many seconds after the fit began."""
    return f"certified gap {result.relative_primal_gap:.1e}, {result.evaluations:.2g} kernel values, {seconds:.1f} s"
