"""Work in processes: several tasks at a time, each result handled as soon as it is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from threading import Thread
from typing import Generic, Protocol, TypeVar

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
Learned = TypeVar("Learned", contravariant=True)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Queue(Protocol[Task, Learned]):
    """Decides which task is next; that can depend on how others ended."""

    def pop(self) -> Task | None:
        """The next task; None if the running ones decide which that is, or none is left."""

    def note(self, task: Task, outcome: Learned) -> None:
        """A task has ended."""

    def give_up(self, task: Task) -> None:
        """A task has failed and is not tried again in this call."""


class Workers(Generic[Task, Outcome]):
    """Does the ``work`` of tasks, ``jobs`` at a time.

    ``done`` is called with each outcome, and ``failed`` for a task that raises or ends its process; the others go on.
    """

    def __init__(
        self,
        work: Callable[[Task], Outcome],
        jobs: int,
        done: Callable[[Task, Outcome], object],
        failed: Callable[[Task, str], object],
    ) -> None:
        self._work, self._jobs, self._done, self._failed = work, jobs, done, failed
        self._running: dict[Future[Outcome], Task] = {}

    def run(self, queue: Queue[Task, Outcome]) -> None:
        """Run tasks until none is left."""
        for name in THREADS:  # inherited by the processes; this one has started its threads already
            os.environ[name] = "1"
        while not self._run_in_pool(queue):
            pass

    def _run_in_pool(self, queue: Queue[Task, Outcome]) -> bool:
        """Run tasks until none is left (True) or a process has died and broken the pool (False)."""
        with ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
            try:
                while self._fill(pool, queue):
                    ended = wait(self._running, return_when=FIRST_COMPLETED).done
                    if [future for future in ended if not self._collect(future, queue)]:
                        self._lose_running(queue)
                        return False
                return True
            except BaseException:  # after Ctrl-C, do not wait for unfinished tasks
                for process in active_children():
                    process.terminate()
                raise

    def _fill(self, pool: ProcessPoolExecutor, queue: Queue[Task, Outcome]) -> bool:
        """Submit tasks while there is room; whether any is running."""
        while len(self._running) < self._jobs and (task := queue.pop()) is not None:
            self._running[pool.submit(self._work, task)] = task
        return bool(self._running)

    def _collect(self, future: Future[Outcome], queue: Queue[Task, Outcome]) -> bool:
        """Handle the end of a task; False if its process died."""
        task, error = self._running.pop(future), future.exception()
        if error is None:
            outcome = future.result()
            queue.note(task, outcome)
            self._done(task, outcome)
            return True
        queue.give_up(task)
        self._failed(task, f"{type(error).__name__}: {error}")
        return not isinstance(error, BrokenProcessPool)

    def _lose_running(self, queue: Queue[Task, Outcome]) -> None:
        for task in self._running.values():
            queue.give_up(task)
            self._failed(task, "its process ended together with that of another task")
        self._running.clear()


def end_with_parent() -> None:
    """End this process of the pool when the process that started it ends, however that happens."""
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (wait_for([parent.sentinel]), os._exit(1)), daemon=True).start()
