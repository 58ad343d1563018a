"""Problems solved one after the other with threads inside, or side by side, one thread each."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

from .. import _core
from .._core import Stopped, StopToken
from ..gram import Gram
from ..kernels import Function
from ..passes import is_sharded
from ..stopping import Progress
from .subproblems import Subproblem

Job = TypeVar("Job")
Found = TypeVar("Found")
Planned = TypeVar("Planned", bound=Subproblem)
SECONDS_BETWEEN_SIGNALS = 0.1  # how often a waiting thread checks for Ctrl-C


def thread_limit(n_jobs: int | None) -> int | None:
    """The number of threads that ``n_jobs`` asks for; None for all processors."""
    return None if n_jobs is None or n_jobs < 0 else min(int(n_jobs), _core.MOST_THREADS)


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


def workers_for(gram: Gram, rows: Sequence[int], n_threads: int | None) -> int:
    """How many problems to solve at a time, given their numbers of rows.

    Threads inside one problem wait for each other at every sweep; problems side by side do not. So each problem gets
    one thread, unless one of them is so much of the work that the others would only wait for it.
    """
    threads = _core.usable_threads(n_threads or 0)
    work = [count**2 for count in rows]
    alone = isinstance(gram.kernel, Function) or is_sharded(gram.X)  # one caller at a time
    side_by_side = threads > 1 and max(work) * threads <= sum(work) and not alone
    return min(threads, len(work)) if side_by_side else 1


def side_by_side(
    jobs: Sequence[Job], workers: int, do: Callable[[Job, Cancelled], Found], token: StopToken | None = None
) -> list[Found]:
    """What ``do`` makes of each job, ``workers`` at a time; an error in one of them, or Ctrl-C, ends them all."""
    cancelled = Cancelled(token)
    failures: list[BaseException] = []

    def attempt(job: Job) -> Found:
        try:
            return do(job, cancelled)
        except Stopped:  # before it had a result
            raise
        except BaseException as error:
            failures.append(error)
            cancelled.set()
            raise

    try:
        return _in_threads(jobs, workers, attempt, cancelled)
    except Stopped:  # by the failure of another job, or by Ctrl-C
        if failures:
            raise failures[0] from None
        raise KeyboardInterrupt("interrupted before there was a first model") from None


def _in_threads(
    jobs: Sequence[Job], workers: int, attempt: Callable[[Job], Found], cancelled: Cancelled
) -> list[Found]:
    """Each job by this thread or by one of its helpers.

    Only helpers that have taken a job are waited for: if memory is short, a thread may end before it has begun, and
    ``threading.Thread.start`` would wait for it forever.
    """
    waiting, found, busy, changed = deque(enumerate(jobs)), {}, 0, threading.Condition()

    def work() -> None:
        nonlocal busy
        while True:
            with changed:
                if cancelled.is_set() or not waiting:
                    return
                place, job = waiting.popleft()
                busy += 1
            try:
                found[place] = attempt(job)
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
                changed.wait(SECONDS_BETWEEN_SIGNALS)

    try:
        for _ in range(min(workers, len(jobs)) - 1):
            _thread.start_new_thread(help_out, ())
    except (RuntimeError, MemoryError):  # no more threads can be started: the present ones do the work
        pass
    try:
        work()
        wait_for_others()
    except BaseException:  # an error of one job, or Ctrl-C: the others are not needed
        cancelled.set()
        wait_for_others()
        raise
    if len(found) < len(jobs):
        raise Stopped
    return [found[place] for place in range(len(jobs))]


def solve_each(
    gram: Gram,
    subproblems: Sequence[Planned],
    workers: int,
    solve: Callable[[Gram, Planned, Cancelled], Found],
    token: StopToken,
) -> tuple[list[Found], dict[str, int]]:
    """What ``solve`` makes of each problem, and the counts of the caches.

    Each thread has its own Gram: the rows are shared, the budget for kernel values is divided. Large problems come
    first, so that no thread is left with one at the end.
    """
    if not subproblems:  # all were solved in one call
        return [], gram.cache_counts
    grams = [gram] if workers == 1 else [gram.share(workers) for _ in range(workers)]
    free: SimpleQueue[Gram] = SimpleQueue()
    for each in grams:
        free.put(each)

    def job(place: int, cancelled: Cancelled) -> Found:
        mine = free.get()
        try:
            return solve(mine, subproblems[place], cancelled)
        finally:
            free.put(mine)

    places = range(len(subproblems))
    ordered = places if workers == 1 else sorted(places, key=lambda place: -subproblems[place].rows)
    found = dict(zip(ordered, side_by_side(ordered, workers, job, token), strict=True))
    counts = [each.cache_counts for each in grams]
    return [found[place] for place in places], {name: sum(each[name] for each in counts) for name in counts[0]}
