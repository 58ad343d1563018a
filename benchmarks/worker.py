"""One run in a process of its own: ``python -m benchmarks.worker task.json data.pickle result.json``.

After each stage the result file holds all results so far, so a crash in one stage does not lose the earlier ones.
A time limit is an alarm without a handler: the system ends the process, even inside a library.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from .objective import Task, measure
from .solvers import COMPETITORS

MEMORY_SHARE = 0.85  # of the machine's memory: one more allocation fails in this process, not in another one


class Stages:
    """Writes the results so far, and sets the alarm of the stages that have a limit."""

    def __init__(self, path: Path, limit: float) -> None:
        self.path, self.limit = path, limit
        self.known: dict[str, Any] = {}

    def __call__(self, name: str, **numbers: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.known |= {**numbers, "stage": name}
        self.path.write_text(json.dumps(self.known))
        if name in ("warm-up", "fit", "predict"):
            signal.setitimer(signal.ITIMER_REAL, self.limit)


def limit_memory() -> None:
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (int(MEMORY_SHARE * physical),) * 2)


def limit_cores(threads: int) -> None:
    """Restrict the process to this many cores, for libraries that have no parameter for threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main(task_path: str, data_path: str, result_path: str) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # a solver that stops early records it in its result
    limit_memory()
    task = Task(**json.loads(Path(task_path).read_text()))
    limit_cores(task.threads)
    with Path(data_path).open("rb") as file:
        split, parameters = pickle.load(file)
    C, gamma = parameters[COMPETITORS[task.solver].loss]
    measure(task, split, C, gamma, Stages(Path(result_path), task.limit))


if __name__ == "__main__":
    main(*sys.argv[1:])
