"""Making runs: each trial is a line in the file of raw results."""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from .. import _core
from ..datasets import Dataset
from ..estimators import SVC
from .fits import fitted, loaded, was_cut
from .peers import PEERS, measured_peer
from .protocol import EXPERIMENTS, Trial
from .provenance import provenance
from .records import Measures, Run

CURVE_POINTS = 160  # kept of a trace, in either direction


def run(trial: Trial) -> Run:
    """The line of a trial."""
    measures, trace = measured(trial)
    outcome: Run = {
        "experiment": trial.experiment,
        "data": trial.data,
        "method": trial.method,
        "seed": trial.seed,
        "parameters": trial.parameters(),
        "measures": measures,
        "environment": environment(),
        "provenance": provenance(trial.method),
    }
    if trace is not None and EXPERIMENTS[trial.experiment].curves:
        outcome["curve"] = curve(trace)
    return outcome


def measured(trial: Trial) -> tuple[Measures, np.ndarray | None]:
    """Fit and measure. Times are CPU seconds of the training thread, without the certifying pass at the end."""
    if trial.method in PEERS:
        return measured_peer(trial.method, trial.data, trial.settings()), None
    data = loaded(trial.data)
    began = time.perf_counter()
    model, cpu = fitted(trial.settings(), data.X_train, data.y_train)
    return measures_of(model, data, cpu, time.perf_counter() - began), model.trace_


def measures_of(model: SVC, data: Dataset, cpu: float, wall: float) -> Measures:
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
