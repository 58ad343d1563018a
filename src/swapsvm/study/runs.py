"""Making runs: each in its own process, each finished one a line in the file of raw results."""

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
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from threading import Thread

import numpy as np

from .. import _core
from ..arrays import Matrix
from ..datasets import Dataset, load
from ..estimators import SVC
from ..stopping import ConvergenceWarning
from . import records
from .protocol import EXPERIMENTS, Key, Trial
from .records import Measures, Run, Settings
from .summary import problem_of

CURVE_POINTS = 160  # kept of a trace, in either direction
Repeated = tuple[str, str, str, float, float]  # a key without the seed
Report = Callable[[Trial, Run], object]  # called after each run
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class CpuTimedSVC(SVC):
    """An SVC whose time limit counts CPU seconds of the training thread, which do not depend on the load."""

    _clock = staticmethod(time.thread_time)


def run(trial: Trial) -> Run:
    """Fit and measure. Times are CPU seconds of the training thread, without the certifying pass at the end."""
    data, settings = loaded(trial.data), trial.settings()
    began = time.perf_counter()
    model, cpu = fitted(settings, data.X_train, data.y_train)
    wall = time.perf_counter() - began
    sampling = settings["sampling"] and dict(vars(settings["sampling"]))  # as JSON
    outcome: Run = {
        "experiment": trial.experiment,
        "data": trial.data,
        "method": trial.method,
        "seed": trial.seed,
        "parameters": {**settings, "sampling": sampling},
        "measures": measured(model, data, cpu, wall),
        "environment": environment(),
    }
    if EXPERIMENTS[trial.experiment].curves:
        outcome["curve"] = curve(model.trace_)
    return outcome


@lru_cache(maxsize=1)  # trials are ordered by data set
def loaded(name: str) -> Dataset:
    """The data set of the current trials."""
    return load(name)


def fitted(settings: Settings, X: Matrix, y: np.ndarray) -> tuple[SVC, float]:
    """A fitted model and the CPU seconds that it took."""
    model = CpuTimedSVC(**settings)
    began = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record has the reason
        model.fit(X, y)
    return model, time.thread_time() - began


def was_cut(model: SVC) -> bool:
    """Whether the fit reached its time limit."""
    return any(result.stop_reason == "max_time" for result in model.results_)


def measured(model: SVC, data: Dataset, cpu: float, wall: float) -> Measures:
    """What the report needs to know of a fitted model."""
    certificate = sum(result.certificate_seconds for result in model.results_)
    return {
        "seconds": cpu - certificate,
        "certificate_seconds": certificate,
        "fit_wall_seconds": wall,
        "accuracy": float(np.mean(model.predict(data.X_test) == data.y_test)),
        "model_size": len(model.support_),
        "iterations": int(model.n_iter_.sum()),
        "evaluations": int(model.n_evaluations_),
        "samplings": sum(result.samplings for result in model.results_),
        "gap": model.dual_gap_,
        "relative_gap": model.relative_gap_,
        "stop_reasons": sorted({result.stop_reason for result in model.results_}),
        "cut": was_cut(model),
    }


def curve(trace: np.ndarray) -> dict[str, list[float]]:
    """Some records of a trace, evenly spaced in the logarithms of the iteration and of the smallest gap so far."""
    smallest = np.minimum.accumulate(trace["gap"])
    levels = np.geomspace(smallest[0], smallest[-1], CURVE_POINTS)
    by_gap = np.minimum(np.searchsorted(-smallest, -levels), len(trace) - 1)
    by_iteration = np.geomspace(1, len(trace), CURVE_POINTS).astype(int) - 1
    places = np.union1d(by_gap, by_iteration)
    fields = {name: trace[name][places].tolist() for name in ("iteration", "evaluations", "support")}
    rounded = {name: [float(f"{v:.5g}") for v in trace[name][places]] for name in ("seconds", "value")}
    return {**fields, **rounded, "gap": [float(f"{v:.5g}") for v in smallest[places]]}


@cache
def environment() -> dict[str, object]:
    """Machine and versions."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "simd": _core.simd_level(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("swapsvm", "numpy", "scipy", "scikit-learn")},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def cpu_name() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def due(trials: Iterable[Trial], known: Iterable[Run]) -> list[Trial]:
    """Trials still to run. A cut run is tried again only with a larger limit, and its repetitions not at all."""
    finished, limits = set(), dict[Repeated, float]()
    for record in known:
        key: Key = (record["experiment"], record["data"], record["method"], record["seed"], *problem_of(record))
        if record["measures"]["cut"]:
            limits[without_seed(key)] = max(limits.get(without_seed(key), 0.0), record["parameters"]["max_time"])
        else:
            finished.add(key)
    return [t for t in trials if t.key not in finished and limits.get(without_seed(t.key), 0.0) < t.budget]


def without_seed(key: Key) -> Repeated:
    """The part of a key that repetitions share."""
    return (*key[:3], *key[4:])


def run_all(trials: list[Trial], output: Path, jobs: int, report: Report, failed: Callable[[Trial, str], None]) -> None:
    """Run ``jobs`` trials at a time, and append and ``report`` each record as soon as its run is finished.

    ``failed`` is called for a run that fails or ends its process; the others continue.
    """
    for name in THREADS:  # inherited by the processes; this one has started its threads already
        os.environ[name] = "1"
    waiting, cut = iter(trials), set[Repeated]()
    while True:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
            try:
                if run_in(pool, waiting, jobs, cut, output, report, failed):
                    return
            except BaseException:  # after Ctrl-C, do not wait for unfinished runs
                for process in active_children():
                    process.terminate()
                raise


def run_in(
    pool: ProcessPoolExecutor,
    waiting: Iterator[Trial],
    jobs: int,
    cut: set[Repeated],
    output: Path,
    report: Report,
    failed: Callable[[Trial, str], None],
) -> bool:
    """Run waiting trials until none is left (True) or a process has died and broken the pool (False)."""
    running: dict[Future[Run], Trial] = {}
    broken = False
    while not broken:
        for trial in following(waiting, jobs - len(running), cut):
            running[pool.submit(run, trial)] = trial
        if not running:
            return True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            trial, error = running.pop(future), future.exception()
            if error is not None:
                broken = broken or isinstance(error, BrokenProcessPool)
                failed(trial, f"{type(error).__name__}: {error}")
                continue
            record = future.result()
            records.append(output, record)
            if record["measures"]["cut"]:
                cut.add(without_seed(trial.key))
            report(trial, record)
    for trial in running.values():
        failed(trial, "its process ended together with that of another run")
    return False


def end_with_parent() -> None:
    """End this process of the pool when the process that started it ends, however that happens."""
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (wait_for([parent.sentinel]), os._exit(1)), daemon=True).start()


def following(waiting: Iterator[Trial], count: int, cut: set[Repeated]) -> Iterator[Trial]:
    """The next trials, without repetitions of cut runs."""
    return islice((trial for trial in waiting if trial.seed == 0 or without_seed(trial.key) not in cut), count)
