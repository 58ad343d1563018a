"""The problems of one fit, such as its pairs of classes: one after the other with threads inside, or side by side."""

from __future__ import annotations

import _thread
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from .. import _core
from .._core import Stopped, StopToken
from ..gram import Gram
from ..kernels import Function
from ..state import State
from ..stopping import Progress, Seconds, Stop

Pair = tuple[int, int]
Task = TypeVar("Task")
Found = TypeVar("Found")
HEARING = 0.1  # seconds between two looks for Ctrl-C


@dataclass(frozen=True)
class Subproblem:
    """One problem of a fit.

    ``labels`` name it to users and from one fit to the next: a pair of class labels, or nothing for the only problem.
    """

    labels: tuple[Any, ...]
    rows: int
    on: Callable[[Gram], Any]  # the Quadratic, on a Gram of the data
    fitted: Callable[[Any, Any, State], None] | None = None  # makes an estimator the Quadratic's model at a state
    stop: Callable[[Any], Stop] | None = None  # a further rule that ends its run, of that Quadratic

    @property
    def name(self) -> str:
        """In words."""
        return "classes {!r} and {!r}".format(*self.labels) if self.labels else "the fit"


class Cancelled(threading.Event):
    """A stop rule that ends the runs of all threads once it is set, and requests a stop of what they compute."""

    def __init__(self, token: StopToken | None = None) -> None:
        super().__init__()
        self.token = token or StopToken()

    def set(self) -> None:
        super().set()
        self.token.request()

    def __call__(self, progress: Progress) -> str | None:
        return "cancelled" if self.is_set() else None


class SharedTime:
    """One limit of seconds for all problems, shared out by their rows, and not less to any than an equal share.

    One may use twice its share of what is left: most need less, and what they leave goes to those that follow. The
    seconds count from ``began``, by default from now.
    """

    def __init__(
        self,
        seconds: float | None,
        rows: Mapping[Any, int],
        workers: int,
        clock: Callable[[], float] = time.perf_counter,
        began: float | None = None,
    ) -> None:
        self._clock, self._end = clock, math.inf if seconds is None else (began or clock()) + seconds
        self._rows, self._left, self._waiting, self._workers = rows, sum(rows.values()), len(rows), workers
        self._lock = threading.Lock()

    def share(self, which: Hashable) -> Stop:
        """The limit of one that starts now."""
        seconds = max(self._end - self._clock(), 1e-9)
        with self._lock:
            share = max(self._rows[which] / self._left, 1 / self._waiting)
            self._left -= self._rows[which]
            self._waiting -= 1
        return Seconds(seconds * min(1.0, 2 * self._workers * share))


def workers_for(gram: Gram, rows: Sequence[int], n_threads: int | None) -> int:
    """How many problems to solve at a time, given their numbers of rows.

    Threads inside of a problem wait for each other at every sweep; problems side by side do not. So problems share out
    the threads, unless one of them is so much of the work that the others would only wait for it.
    """
    threads = _core.usable_threads(n_threads or 0)
    work = [count**2 for count in rows]
    side_by_side = threads > 1 and max(work) * threads <= sum(work) and not isinstance(gram.kernel, Function)
    return min(threads, len(work)) if side_by_side else 1


def side_by_side(
    tasks: Sequence[Task], workers: int, do: Callable[[Task, Cancelled], Found], token: StopToken | None = None
) -> list[Found]:
    """What ``do`` makes of each task, ``workers`` at a time; an error in one of them, or Ctrl-C, ends them all."""
    cancelled = Cancelled(token)
    failures: list[BaseException] = []

    def attempt(task: Task) -> Found:
        try:
            return do(task, cancelled)
        except Stopped:  # before it had a result
            raise
        except BaseException as error:
            failures.append(error)
            cancelled.set()
            raise

    try:
        return _in_threads(tasks, workers, attempt, cancelled)
    except Stopped:  # by the failure of another task, or by Ctrl-C
        if failures:
            raise failures[0] from None
        raise KeyboardInterrupt("interrupted before there was a first model") from None


def _in_threads(
    tasks: Sequence[Task], workers: int, attempt: Callable[[Task], Found], cancelled: Cancelled
) -> list[Found]:
    """Each task by this thread or by one of its helpers.

    Only helpers that have taken a task are waited for: where memory is short, a thread may end before it has begun, and
    ``threading.Thread.start`` would wait for it for ever.
    """
    waiting, found, busy, changed = deque(enumerate(tasks)), {}, 0, threading.Condition()

    def work() -> None:
        nonlocal busy
        while True:
            with changed:
                if cancelled.is_set() or not waiting:
                    return
                place, task = waiting.popleft()
                busy += 1
            try:
                found[place] = attempt(task)
            finally:
                with changed:
                    busy -= 1
                    changed.notify_all()

    def help_out() -> None:
        with suppress(BaseException):  # noted by ``attempt``
            work()

    def wait_for_others() -> None:
        with changed:
            while busy:
                changed.wait(HEARING)

    try:
        for _ in range(min(workers, len(tasks)) - 1):
            _thread.start_new_thread(help_out, ())
    except (RuntimeError, MemoryError):  # no more threads are to be had: those that are there do the work
        pass
    try:
        work()
        wait_for_others()
    except BaseException:  # of one task, or Ctrl-C: the others need not go on
        cancelled.set()
        wait_for_others()
        raise
    if len(found) < len(tasks):
        raise Stopped
    return [found[place] for place in range(len(tasks))]


def solve_each(
    gram: Gram,
    subproblems: Sequence[Subproblem],
    workers: int,
    solve: Callable[[Gram, Subproblem, Cancelled], Found],
    token: StopToken,
) -> tuple[list[Found], dict[str, int]]:
    """What ``solve`` makes of each problem, and the counts of the caches.

    Each thread has a Gram of its own: the rows are shared, the budget for kernel values is divided. Large problems come
    first, so that no thread is left with one at the end.
    """
    grams = [gram] if workers == 1 else [gram.share(workers) for _ in range(workers)]
    free: SimpleQueue[Gram] = SimpleQueue()
    for each in grams:
        free.put(each)

    def task(place: int, cancelled: Cancelled) -> Found:
        mine = free.get()
        try:
            return solve(mine, subproblems[place], cancelled)
        finally:
            free.put(mine)

    places = range(len(subproblems))
    ordered = places if workers == 1 else sorted(places, key=lambda place: -subproblems[place].rows)
    found = dict(zip(ordered, side_by_side(ordered, workers, task, token), strict=True))
    counts = sum((Counter(each.cache_counts) for each in grams), Counter())
    return [found[place] for place in places], {name: counts[name] for name in gram.cache_counts}
