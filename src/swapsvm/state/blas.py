"""BLAS with one thread: its sums would depend on their number. The core calls it from threads of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import LibController, ThreadpoolController  # type: ignore[import-untyped]  # it has no types


class OneBlasThread(AbstractContextManager[None]):
    """BLAS has one thread while anybody is inside. The limit is that of the process: the last to leave lifts it."""

    def __init__(self) -> None:
        self._forget_others()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_others)

    def _forget_others(self) -> None:
        """Begin anew: a forked child has no other threads."""
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[int] = []  # the number of threads of each library

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.num_threads for library in libraries()]
                set_threads([1] * len(self._before))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside = max(self._inside - 1, 0)
            if self._inside == 0:
                set_threads(self._before)


def set_threads(counts: Sequence[int]) -> None:
    """The number of threads of each library, whichever thread has set it last.

    threadpoolctl ignores, from version 3.8 on, the requests of all threads but the one that came first, as long as that
    one lives. Here the first to enter and the last to leave are often different threads.
    """
    for library, count in zip(libraries(), counts, strict=True):
        give_way = getattr(library, "clear_controlling_thread", lambda force: None)
        give_way(force=True)
        library.set_num_threads(count)
        give_way(force=True)


@cache
def libraries() -> list[LibController]:
    """The BLAS libraries of this process; finding them takes some milliseconds."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_ONE_THREAD = OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """A context in which BLAS has one thread, in all threads of the process."""
    return _ONE_THREAD
