"""Novelty detection: ``OneClassSVM`` and ``SVDD`` beside scikit-learn's ``OneClassSVM`` (LIBSVM), rows in the plane.

``python -m benchmarks.novelty --output results/novelty/runs.jsonl --rows 1000 10000 100000``

Three normal clusters, and 2 % of the training rows are uniform outliers. Ours have ``contamination=0.1``, that of
scikit-learn ``nu=0.1``: a tenth of the training rows is outside for all except ``nu=0.5``, its default. All have the
same gamma. Each fit runs in its own process with one thread, since LIBSVM is single-threaded; competitors take turns.
The limit is in CPU seconds, so that the load of the machine does not decide which fits are cut. A competitor that
exceeds it is recorded as such and not tried again. ``report.md``, beside the lines, has the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm.study import records

from .micro.columns import surroundings
from .run import versions
from .selection import in_own_process
from .worker import limit_cores, limit_memory

ROWS = (1000, 3000, 10000, 30000, 100000)
ABOUT = """Three normal clusters in the plane, 2 % of the training rows uniform outliers; the same gamma for all, one
thread each, `contamination=0.1` for ours. Medians over the fits of a size; ROC AUC on 5000 clustered rows and 5000
outliers. Limit {limit:g} CPU seconds. {cpu}, {cores} cores, {simd}, commit {commit}. The load of the machine was
between {load[0]:.1f} and {load[1]:.1f}: compare CPU seconds. The raw lines are beside this file."""
HEAD = "| rows | detector | fits | CPU seconds | seconds | support vectors | outside | ROC AUC |"
RULE = "|---:|---|---:|---:|---:|---:|---:|---:|"
TEST = 10000  # half of them outliers


def one_class(gamma: float, slack: float) -> Any:
    from swapsvm import OneClassSVM

    return OneClassSVM(slack=slack, contamination=0.1, gamma=gamma, n_jobs=1)


def ball(gamma: float, slack: float) -> Any:
    from swapsvm import SVDD

    return SVDD(slack=slack, contamination=0.1, gamma=gamma, n_jobs=1)


def scikit_learn(gamma: float, nu: float) -> Any:
    from sklearn.svm import OneClassSVM

    return OneClassSVM(nu=nu, gamma=gamma)


DETECTORS: dict[str, tuple[Callable[[float, float], Any], float]] = {
    "OneClassSVM slack=0.001": (one_class, 0.001),
    "OneClassSVM slack=0.01": (one_class, 0.01),
    "SVDD slack=0.001": (ball, 0.001),
    "scikit-learn nu=0.1": (scikit_learn, 0.1),
    "scikit-learn nu=0.5": (scikit_learn, 0.5),
}


def clusters(rows: int, outliers: int, seed: int) -> np.ndarray:
    """Three normal clusters in the plane; the last rows are uniform around them."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [3.0, 3.0], [-3.0, 2.0]])
    X = centers[rng.integers(3, size=rows)] + 0.6 * rng.normal(size=(rows, 2))
    X[rows - outliers :] = rng.uniform(-8.0, 8.0, size=(outliers, 2))
    return X


# ---- in the process of a competitor -----------------------------------------------------------------------------


def measure(task: dict[str, Any], X: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """Time the fit, after an untimed fit of a few rows that loads libraries; nothing else is timed."""
    from sklearn.metrics import roc_auc_score

    make, parameter = DETECTORS[task["detector"]]
    make(task["gamma"], parameter).fit(X[:100])
    model = make(task["gamma"], parameter)
    signal.setitimer(signal.ITIMER_PROF, task["limit"])
    began, began_cpu = time.perf_counter(), time.process_time()
    model.fit(X)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "support": len(model.support_),
        "outside": float(np.mean(model.predict(X) == -1)),
        "auc": float(roc_auc_score(np.arange(TEST) < TEST // 2, model.decision_function(test))),
        "relative_gap": getattr(model, "relative_gap_", None),
        "evaluations": getattr(model, "n_evaluations_", None),
    }


def worker(task_path: str, data_path: str, result_path: str) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the default action ends the process, even inside a library
    warnings.simplefilter("ignore")
    limit_memory()
    limit_cores(1)
    task = json.loads(Path(task_path).read_text())
    with Path(data_path).open("rb") as file:
        X, test = pickle.load(file)
    Path(result_path).write_text(json.dumps(measure(task, X, test)))


# ---- around it ----------------------------------------------------------------------------------------------------


def run_size(rows: int, options: argparse.Namespace, cut: set[str], where: dict[str, Any]) -> None:
    """All detectors on this many rows, in turn."""
    X, test = clusters(rows, rows // 50, seed=0), clusters(TEST, TEST // 2, seed=1)
    gamma = float(1.0 / (2 * X.var()))
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "data.pickle").write_bytes(pickle.dumps((X, test), protocol=5))
        for repetition in range(options.repetitions):
            for detector in [name for name in options.detectors if name not in cut]:
                task = {"detector": detector, "rows": rows, "gamma": gamma, "threads": 1, "limit": options.limit}
                found = in_own_process(task, Path(directory), "benchmarks.novelty")
                if found["status"] != "ok":
                    cut.add(detector)
                record = {**task, "repetition": repetition, **found, "load": os.getloadavg()[0], "where": where}
                records.append(options.output, record)
                print(rows, detector, found, flush=True)


def report(lines: list[dict[str, Any]]) -> str:
    """The conditions of the measurement, and the table of medians."""
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["rows"], line["detector"]), []).append(line)
    rows = [row_of(*key, groups[key]) for key in sorted(groups, key=lambda key: key[0])]
    where, loads = lines[-1]["where"], [line["load"] for line in lines]
    about = ABOUT.format(load=(min(loads), max(loads)), limit=lines[-1]["limit"], **where)
    return "\n".join(["# Novelty detection", "", about, "", HEAD, RULE, *rows, ""])


def row_of(rows: int, detector: str, lines: list[dict[str, Any]]) -> str:
    done = [line for line in lines if line["status"] == "ok"]
    if not done:
        return f"| {rows} | {detector} | {len(lines)} | > {lines[0]['limit']:g} | | | | |"
    cpu, wall = (statistics.median(line[name] for line in done) for name in ("cpu_seconds", "seconds"))
    last = done[-1]
    return (
        f"| {rows} | {detector} | {len(done)} | {cpu:.3g} | {wall:.3g} | {last['support']} "
        f"| {100 * last['outside']:.1f} % | {last['auc']:.3f} |"
    )


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/novelty/runs.jsonl"), help="JSON lines, appended")
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--detectors", nargs="+", default=list(DETECTORS), choices=list(DETECTORS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds for a fit")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    if options.worker:
        worker(*options.worker)
        return
    where, cut = {**surroundings(), "versions": versions()}, set[str]()
    for rows in options.rows:
        run_size(rows, options, cut, where)
    (options.output.parent / "report.md").write_text(report(records.read(options.output)))


if __name__ == "__main__":
    main()
