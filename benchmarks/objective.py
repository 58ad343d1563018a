"""What is measured in one fit, in a fresh process.

Timed: ``fit`` and ``predict``, nothing else. Not timed: loading, conversion, a warm-up on a few rows of each class,
accuracy, counts and the certificate. Memory: the peak of the resident set during ``fit`` beyond its size before.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .certificate import relative_gap
from .datasets import Split
from .solvers import COMPETITORS, Competitor

WARM_UP_ROWS = 20  # of each class, and fewer of each of many classes
MOST_WARM_UP_ROWS = 400
TRACE_POINTS = 200


@dataclass(frozen=True)
class Task:
    """One run: a competitor, its data and its settings."""

    suite: str
    data: str
    solver: str
    repetition: int
    threads: int
    dtype: str
    limit: float  # seconds, of the fit and of the prediction
    options: dict[str, Any] = field(default_factory=dict)
    verify: bool = False
    own_parameters: bool = False  # C and gamma tuned for the loss, rather than common to all

    @property
    def key(self) -> tuple[Any, ...]:
        """Runs with equal keys are the same run."""
        return (*self.contest, self.repetition)

    @property
    def contest(self) -> tuple[Any, ...]:
        return self.suite, self.data, self.solver, self.threads, self.dtype


def measure(task: Task, split: Split, C: float, gamma: float, stage: Callable[..., None]) -> None:
    """Run the task; ``stage(name, **numbers)`` is called when each part begins, with the results so far."""
    competitor = COMPETITORS[task.solver](C, gamma, task.threads, **task.options)
    stage("warm-up", C=C, gamma=gamma, **shape_of(split))
    warm_up(competitor, split)
    competitor.renew()
    X, y = competitor.convert(split.X, split.y)
    gc.collect()
    stage("fit", cores=usable_cores())
    numbers = measured_fit(competitor, X, y)
    stage("predict", **numbers, support=competitor.support_size(), **competitor.details(split.y))
    predicted, seconds = timed(lambda: competitor.predict(split.X_test))
    accuracy = float(np.mean(predicted == split.y_test))
    stage("verify", predict_seconds=seconds, accuracy=accuracy, **trace_of(competitor, task))
    if task.verify and competitor.module == "swapsvm":
        stage("verify", verified_gap=relative_gap(competitor.model, split.X, split.y))
    stage("done")


def measured_fit(competitor: Competitor, X: Any, y: Any) -> dict[str, Any]:
    before = reset_peak_memory()
    cpu = time.process_time()
    _, seconds = timed(lambda: competitor.fit(X, y))
    cpu = time.process_time() - cpu
    peak = peak_memory() - before
    return {"fit_seconds": seconds, "fit_cpu_seconds": cpu, "peak_bytes": peak, "cores_after": usable_cores()}


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = action()
    return result, time.perf_counter() - began


def warm_up(competitor: Competitor, split: Split) -> None:
    """Start threads, load libraries and pay first-call costs, on a few rows of each class."""
    labels = np.unique(split.y)
    each = max(2, min(WARM_UP_ROWS, MOST_WARM_UP_ROWS // len(labels)))
    rows = np.concatenate([np.flatnonzero(split.y == label)[:each] for label in labels])
    competitor.renew()
    competitor.fit(*competitor.convert(split.X[rows], split.y[rows]))
    competitor.predict(split.X[rows])


def shape_of(split: Split) -> dict[str, Any]:
    rows, features = split.X.shape
    density = split.X.nnz / (rows * features) if sp.issparse(split.X) else 1.0
    size = {"rows": rows, "features": features, "density": density, "sparse": bool(sp.issparse(split.X))}
    return {**size, "classes": len(np.unique(split.y)), "test_rows": len(split.y_test)}


def trace_of(competitor: Competitor, task: Task) -> dict[str, Any]:
    """Seconds, kernel values and relative gap of the run, thinned; only where curves are requested (two classes)."""
    if task.suite != "convergence":
        return {}
    trace = competitor.model.trace_
    trace = trace[np.unique(np.geomspace(1, len(trace), TRACE_POINTS).astype(int)) - 1]
    columns = {name: trace[name].tolist() for name in ("seconds", "evaluations")}
    return {"trace": {**columns, "gap": (trace["gap"] / np.abs(trace["value"])).tolist()}}


# ---- memory ---------------------------------------------------------------------------------------------------


def reset_peak_memory() -> int:
    """Reset the peak where the system allows it; returns the bytes that are resident now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_memory()
    return bytes_in_status("VmRSS")


def peak_memory() -> int:
    """Largest resident set, in bytes."""
    if Path("/proc/self/status").exists():
        return bytes_in_status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def bytes_in_status(name: str) -> int:
    """A number of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
