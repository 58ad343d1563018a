"""One run, and all of them: in processes of their own, each finished one a line in the file of raw results."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from importlib.metadata import version
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from .. import _core
from ..datasets import Dataset, load
from ..estimators import SVC
from ..stopping import ConvergenceWarning
from . import records
from .protocol import EXPERIMENTS, Task
from .records import Record

CURVE_POINTS = 160  # of a run whose records are kept, in either direction
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class CpuTimedSVC(SVC):
    """Limited by the CPU seconds of the thread that trains, which a busy machine does not change."""

    _clock = staticmethod(time.thread_time)


def run(task: Task) -> Record:
    """Fit and measure. Times are CPU seconds of the one thread that trains, without the certifying pass at the end."""
    data = loaded(task.data)
    model = CpuTimedSVC(**task.settings())
    began, cpu_began = time.perf_counter(), time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record says how it ended
        model.fit(data.X_train, data.y_train)
    cpu, wall = time.thread_time() - cpu_began, time.perf_counter() - began
    certificate = sum(result.certificate_seconds for result in model.results_)
    times = {"seconds": cpu - certificate, "certificate_seconds": certificate, "fit_wall_seconds": wall}
    outcome: Record = {**describe(task), "measures": {**times, **measured(model, data)}}
    if EXPERIMENTS[task.experiment].curves:
        outcome["curve"] = curve(model.trace_)
    return {**outcome, "environment": environment()}


@lru_cache(maxsize=1)  # tasks come sorted by data set
def loaded(name: str) -> Dataset:
    """The data set of the next tasks."""
    return load(name)


def describe(task: Task) -> Record:
    """The task as it stands in a record."""
    settings = task.settings()
    sampling = settings.pop("sampling")
    described = None if sampling is None else dict(vars(sampling))
    return {
        "experiment": task.experiment,
        "data": task.data,
        "method": task.method,
        "seed": task.seed,
        "parameters": {**settings, "sampling": described},
    }


def measured(model: SVC, data: Dataset) -> Record:
    """What the report needs of a fitted model."""
    return {
        "accuracy": float(np.mean(model.predict(data.X_test) == data.y_test)),
        "model_size": len(model.support_),
        "iterations": int(model.n_iter_.sum()),
        "evaluations": int(model.n_evaluations_),
        "samplings": sum(result.samplings for result in model.results_),
        "gap": model.dual_gap_,
        "relative_gap": model.relative_gap_,
        "stop_reasons": sorted({result.stop_reason for result in model.results_}),
        "cut": any(result.stop_reason == "max_time" for result in model.results_),
    }


def curve(trace: np.ndarray) -> Record:
    """Some of the records, evenly spaced in the logarithms of the iteration and of the gap, the smallest so far."""
    smallest = np.minimum.accumulate(trace["gap"])
    levels = np.geomspace(smallest[0], smallest[-1], CURVE_POINTS)
    by_gap = np.minimum(np.searchsorted(-smallest, -levels), len(trace) - 1)
    by_iteration = np.geomspace(1, len(trace), CURVE_POINTS).astype(int) - 1
    places = np.union1d(by_gap, by_iteration)
    fields = {name: trace[name][places].tolist() for name in ("iteration", "evaluations", "support")}
    rounded = {name: [float(f"{v:.5g}") for v in trace[name][places]] for name in ("seconds", "value")}
    return {**fields, **rounded, "gap": [float(f"{v:.5g}") for v in smallest[places]]}


@cache
def environment() -> Record:
    """Machine and versions."""
    packages = ("swapsvm", "numpy", "scipy", "scikit-learn")
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "simd": _core.simd_level(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def cpu_name() -> str:
    """As the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# ---- all of them ------------------------------------------------------------------------------------------------


def due(tasks: Iterable[Task], known: Iterable[Record]) -> list[Task]:
    """Tasks not yet in the file. What was cut is tried again only with more seconds; a repetition of it not at all."""
    finished, limits = set(), dict[tuple[Any, ...], float]()
    for record in known:
        parameters = record["parameters"]
        key = (
            *(record[name] for name in ("experiment", "data", "method", "seed")),
            parameters["C"],
            parameters["gamma"],
        )
        if record["measures"]["cut"]:
            limits[without_seed(key)] = max(limits.get(without_seed(key), 0.0), parameters["max_time"])
        else:
            finished.add(key)
    return [t for t in tasks if t.key not in finished and limits.get(without_seed(t.key), 0.0) < t.budget]


def without_seed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key that repetitions share."""
    return (*key[:3], *key[4:])


def run_all(
    tasks: list[Task],
    output: Path,
    jobs: int,
    report: Callable[[Task, Record], None],
    failed: Callable[[Task, str], None],
) -> None:
    """Run tasks, some at a time, and append their records as they come; ``report`` hears of each.

    A run that fails, or takes its process with it, is told to ``failed``; the others go on.
    """
    for name in THREADS:  # for the processes to come; this one has its threads already
        os.environ[name] = "1"
    waiting, cut = iter(tasks), set[tuple[Any, ...]]()
    while True:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
            try:
                if run_in(pool, waiting, jobs, cut, output, report, failed):
                    return
            except BaseException:  # Ctrl-C: what still runs is not in the file yet, and would be waited for
                for process in active_children():
                    process.terminate()
                raise


def run_in(
    pool: ProcessPoolExecutor,
    waiting: Iterator[Task],
    jobs: int,
    cut: set[tuple[Any, ...]],
    output: Path,
    report: Callable[[Task, Record], None],
    failed: Callable[[Task, str], None],
) -> bool:
    """Run what is waiting until nothing is (True) or a process has died and with it the pool (False)."""
    running: dict[Future[Record], Task] = {}
    broken = False
    while not broken:
        for task in following(waiting, jobs - len(running), cut):
            running[pool.submit(run, task)] = task
        if not running:
            return True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task, error = running.pop(future), future.exception()
            if error is not None:
                broken = broken or isinstance(error, BrokenProcessPool)
                failed(task, f"{type(error).__name__}: {error}")
                continue
            record = future.result()
            records.append(output, record)
            if record["measures"]["cut"]:
                cut.add(without_seed(task.key))
            report(task, record)
    for task in running.values():
        failed(task, "its process ended with that of another run")
    return False


def end_with_parent() -> None:
    """Let a process of the pool not outlive the study that started it, however that ended."""
    parent = parent_process()
    if parent is not None:
        watch = Thread(target=lambda: (wait_for([parent.sentinel]), os._exit(1)), daemon=True)
        watch.start()


def following(waiting: Iterator[Task], count: int, cut: set[tuple[Any, ...]]) -> Iterator[Task]:
    """The next tasks, without repetitions of what was cut."""
    while count > 0:
        task = next(waiting, None)
        if task is None:
            return
        if task.seed == 0 or without_seed(task.key) not in cut:
            count -= 1
            yield task
