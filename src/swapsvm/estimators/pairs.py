"""The pairs of classes of one fit: one after the other with threads inside, or side by side on threads of their own."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from .. import _core
from ..gram import Gram
from ..kernels import Function
from ..stopping import Progress, Seconds, Stop

Pair = tuple[int, int]
Task = TypeVar("Task")
Found = TypeVar("Found")
HEARING = 0.1  # seconds between two looks for Ctrl-C


class Cancelled(threading.Event):
    """A stop rule that ends the runs of all threads once it is set."""

    def __call__(self, progress: Progress) -> str | None:
        return "cancelled" if self.is_set() else None


class SharedTime:
    """One limit of seconds for all pairs, shared out by their rows, and not less to any than an equal share.

    A pair may use twice its share of what is left: most need less, and what they leave goes to those that follow.
    """

    def __init__(
        self, seconds: float | None, rows: dict[Pair, int], workers: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._clock, self._end = clock, math.inf if seconds is None else clock() + seconds
        self._rows, self._left, self._waiting, self._workers = rows, sum(rows.values()), len(rows), workers
        self._lock = threading.Lock()

    def share(self, pair: Pair) -> Stop:
        """The limit of a pair that starts now."""
        seconds = max(self._end - self._clock(), 1e-9)
        with self._lock:
            share = max(self._rows[pair] / self._left, 1 / self._waiting)
            self._left -= self._rows[pair]
            self._waiting -= 1
        return Seconds(seconds * min(1.0, 2 * self._workers * share))


def workers_for(gram: Gram, pairs: Sequence[Pair], n_threads: int | None) -> int:
    """How many pairs to fit at a time.

    Threads inside of a pair wait for each other at every sweep; pairs side by side do not. So pairs share out the
    threads, unless one of them is so much of the work that the others would only wait for it.
    """
    threads = _core.usable_threads(n_threads or 0)
    work = [(len(gram.groups[a]) + len(gram.groups[b])) ** 2 for a, b in pairs]
    side_by_side = threads > 1 and max(work) * threads <= sum(work) and not isinstance(gram.kernel, Function)
    return min(threads, len(pairs)) if side_by_side else 1


def side_by_side(tasks: Sequence[Task], workers: int, do: Callable[[Task, Cancelled], Found]) -> list[Found]:
    """What ``do`` makes of each task, so many at a time; an error in one of them, or Ctrl-C, ends them all."""
    cancelled = Cancelled()
    if workers == 1:
        return [do(task, cancelled) for task in tasks]

    def attempt(task: Task) -> Found:
        try:
            return do(task, cancelled)
        except BaseException:
            cancelled.set()
            raise

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(attempt, task) for task in tasks]
        try:
            return [_awaited(future) for future in futures]
        except BaseException:  # of one task, or Ctrl-C: the others need not go on
            cancelled.set()
            pool.shutdown(cancel_futures=True)
            raise


def _awaited(future: Future[Found]) -> Found:
    """Its result. A wait without limit may hear of Ctrl-C only when it is over."""
    while True:
        try:
            return future.result(HEARING)
        except TimeoutError:
            if future.done():  # the error is its own
                return future.result()


def fit_pairs(
    gram: Gram, pairs: Sequence[Pair], workers: int, fit: Callable[[Gram, Pair, Cancelled], Found]
) -> tuple[dict[Pair, Found], dict[str, int]]:
    """What ``fit`` makes of each pair, and the counts of the caches.

    Each thread has a Gram of its own: the rows are shared, the budget for kernel values is divided. Large pairs come
    first, so that no thread is left with one at the end.
    """
    grams = [gram] if workers == 1 else [gram.share(workers) for _ in range(workers)]
    free: SimpleQueue[Gram] = SimpleQueue()
    for each in grams:
        free.put(each)

    def task(pair: Pair, cancelled: Cancelled) -> Found:
        mine = free.get()
        try:
            return fit(mine, pair, cancelled)
        finally:
            free.put(mine)

    ordered = pairs if workers == 1 else sorted(pairs, key=lambda pair: -sum(len(gram.groups[c]) for c in pair))
    found = dict(zip(ordered, side_by_side(ordered, workers, task), strict=True))
    counts = sum((Counter(each.cache_counts) for each in grams), Counter())
    return {pair: found[pair] for pair in pairs}, {name: counts[name] for name in gram.cache_counts}
