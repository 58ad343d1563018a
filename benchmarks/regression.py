"""Regression: fit time of ``SVR`` beside those of scikit-learn and scikit-learn-intelex, at their own best settings.

``SWAPSVM_DATA=... python -m benchmarks.regression --output results/regression.jsonl``

The losses differ (squared outside the tube here, linear there), so common settings would favour one of them. C,
gamma and epsilon of each loss are chosen from one grid by the error on validation rows, on at most 2000 training rows;
then every competitor fits all training rows, in turn, each in a process of its own, and errors on test rows are
reported beside the times. Features and targets are standardized by the training rows. ``--report`` writes the tables.
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
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from swapsvm.datasets import read_svmlight
from swapsvm.study import records

from .micro.columns import surroundings
from .objective import usable_cores
from .run import versions
from .selection import in_own_process
from .worker import limit_cores, limit_memory

DATA = ("diabetes", "abalone_scale", "cadata", "friedman-4000", "friedman-16000")
LOSSES = {"swapsvm": "squared", "intelex": "linear", "scikit-learn": "linear"}
GRID = {"C": (1.0, 10.0, 100.0), "gamma": (0.25, 1.0, 4.0), "epsilon": (0.05, 0.2, 0.5)}  # gamma over n_features
TUNED, VALIDATED = 2000, 1000  # rows


def regressor(name: str, settings: dict[str, float], threads: int) -> Any:
    if name == "swapsvm":
        from swapsvm import SVR

        return SVR(**settings, n_jobs=threads)
    if name == "intelex":
        from daal4py import daalinit
        from sklearnex import svm

        daalinit(threads)
        return svm.SVR(**settings)
    from sklearn import svm

    return svm.SVR(**settings)


# ---- data ---------------------------------------------------------------------------------------------------------


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    if name.startswith("friedman-"):
        return make_friedman1(int(name.split("-")[1]), 10, noise=1.0, random_state=0)
    folder = Path(os.environ["SWAPSVM_DATA"])
    path = next(path for path in (folder / name, folder / f"{name}.bz2") if path.exists())
    rows = read_svmlight(path)
    return np.asarray(rows[0].todense()), rows[1]


def split(name: str) -> dict[str, np.ndarray]:
    """Three quarters of the rows for training, the others for testing, standardized by the training rows."""
    X, y = read(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(0.75 * len(y))])
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X, y = (X - centre) / np.where(spread > 0, spread, 1.0), (y - y[train].mean()) / y[train].std()
    return {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}


# ---- in the process of a competitor -------------------------------------------------------------------------------


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((model.predict(X) - y) ** 2))


def tune(task: dict[str, Any], data: dict[str, np.ndarray]) -> dict[str, Any]:
    """The settings with the smallest error on validation rows, which come from the end of the training rows."""
    X, y = data["X"], data["y"]
    held = min(VALIDATED, len(y) // 3)
    fit, check = slice(0, min(TUNED, len(y) - held)), slice(len(y) - held, None)
    found = []
    for values in product(*GRID.values()):
        settings = dict(zip(GRID, values, strict=True))
        settings["gamma"] /= X.shape[1]
        model = regressor(task["competitor"], settings, task["threads"]).fit(X[fit], y[fit])
        found.append((error(model, X[check], y[check]), settings))
    best, settings = min(found, key=lambda pair: pair[0])
    return {"best": settings, "validation_error": best}


def measure(task: dict[str, Any], data: dict[str, np.ndarray]) -> dict[str, Any]:
    """One timed fit, after an untimed fit of a few rows that loads libraries."""
    X, y = data["X"], data["y"]
    regressor(task["competitor"], task["settings"], task["threads"]).fit(X[:100], y[:100])
    model = regressor(task["competitor"], task["settings"], task["threads"])
    began, began_cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "support": len(model.support_),
        "test_error": error(model, data["X_test"], data["y_test"]),
        "relative_gap": getattr(model, "relative_gap_", None),
    }


def worker(task_path: str, data_path: str, result_path: str) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default action ends the process, even inside a library
    warnings.simplefilter("ignore")
    limit_memory()
    task = json.loads(Path(task_path).read_text())
    limit_cores(task["threads"])
    with Path(data_path).open("rb") as file:
        data = pickle.load(file)
    signal.setitimer(signal.ITIMER_REAL, task["limit"])
    result = measure(task, data) if "settings" in task else tune(task, data)
    Path(result_path).write_text(json.dumps(result))


# ---- around it ----------------------------------------------------------------------------------------------------


def run_data_set(name: str, options: argparse.Namespace, where: dict[str, Any]) -> None:
    data = split(name)
    shape = {"rows": data["X"].shape[0], "features": data["X"].shape[1], "test_rows": len(data["y_test"])}
    with tempfile.TemporaryDirectory() as directory:
        with (Path(directory) / "data.pickle").open("wb") as file:
            pickle.dump(data, file, protocol=5)

        def run(task: dict[str, Any]) -> dict[str, Any]:
            task = {"data": name, **task, "threads": options.threads, "limit": options.limit}
            found = in_own_process(task, Path(directory), "benchmarks.regression")
            record = {**task, **shape, **found, "load": os.getloadavg()[0], "where": where}
            records.append(options.output, record)
            print(line_of(record), flush=True)
            return found

        tuners = {loss: who for who, loss in reversed(LOSSES.items())}  # the fastest of each loss
        tuned = {loss: run({"competitor": who}) for loss, who in tuners.items()}
        for repetition, who in product(range(options.repetitions), options.competitors):
            settings = tuned[LOSSES[who]].get("best")
            if settings:
                run({"competitor": who, "repetition": repetition, "settings": settings})


def line_of(record: dict[str, Any]) -> str:
    head = f"{record['data']:15} {record['competitor']:12}"
    if record["status"] != "ok":
        return f"{head} {record['status']}: {record.get('message', '')}"
    if "seconds" not in record:
        return f"{head} {record['best']} validation error {record['validation_error']:.4f}"
    times = f"{record['seconds']:8.3f} s (CPU {record['cpu_seconds']:.3f} s)"
    return f"{head} {times}  error {record['test_error']:.4f}  {record['support']} support vectors"


# ---- report -------------------------------------------------------------------------------------------------------


def median(lines: list[dict[str, Any]], field: str) -> float:
    return statistics.median(line[field] for line in lines)


def report(lines: list[dict[str, Any]]) -> str:
    """A table of medians in Markdown for each number of threads."""
    fits = [line for line in lines if line["status"] == "ok" and "seconds" in line]
    parts = ["# Regression beside the peers\n"]
    for threads in sorted({fit["threads"] for fit in fits}):
        some = [fit for fit in fits if fit["threads"] == threads]
        parts += [
            f"## {threads} thread{'s' if threads > 1 else ''} for each competitor\n",
            surrounded(some),
            table(some),
        ]
    return "\n".join(parts)


def surrounded(fits: list[dict[str, Any]]) -> str:
    """The conditions of the fits."""
    where, loads = fits[0]["where"], [fit["load"] for fit in fits]
    peers = ", ".join(f"{name} {where['versions'][name]}" for name in ("scikit-learn-intelex", "scikit-learn"))
    commits = ", ".join(dict.fromkeys(fit["where"]["commit"] for fit in fits))
    count, cores = 1 + max(fit["repetition"] for fit in fits), where["cores"]
    return (
        f"{where['cpu']}, swapsvm at {commits}, {peers}. Medians of {count} fits, each in its own process, in turn. "
        f"The load of the {cores} cores was {min(loads):.1f} to {max(loads):.1f}; above {cores}, times are those of a "
        "shared machine, and CPU seconds are what to compare. How settings were chosen: `benchmarks/regression.py`. "
        "Errors are mean squares of standardized targets.\n"
    )


def table(fits: list[dict[str, Any]]) -> str:
    rows = [
        "| data | rows x features | who | C, gamma, epsilon | fit | CPU | test error | support | fit, CPU / swapsvm's |"
    ]
    rows.append("|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[tuple[float, float]]] = {}
    for name, who in product(dict.fromkeys(line["data"] for line in fits), LOSSES):
        some, ours = ([f for f in fits if (f["data"], f["competitor"]) == (name, each)] for each in (who, "swapsvm"))
        if not some:
            continue
        wall, cpu = (median(some, field) / median(ours, field) for field in ("seconds", "cpu_seconds"))
        ratios.setdefault(who, []).append((wall, cpu))
        values = ", ".join(f"{value:.3g}" for value in some[0]["settings"].values())
        rows.append(
            f"| {name} | {some[0]['rows']} x {some[0]['features']} | {who} | {values} | "
            f"{median(some, 'seconds'):.3g} s | {median(some, 'cpu_seconds'):.3g} s | "
            f"{median(some, 'test_error'):.4f} | {some[0]['support']} | {wall:.3g}, {cpu:.3g} |"
        )
    means = {who: map(statistics.geometric_mean, zip(*values, strict=True)) for who, values in ratios.items()}
    ends = "; ".join(f"{who} {', '.join(f'{m:.3g}' for m in each)}" for who, each in means.items() if who != "swapsvm")
    return "\n".join([*rows, "", f"Geometric means of the ratios of seconds and of CPU seconds: {ends}.", ""])


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/regression.jsonl"), help="JSON lines, appended")
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--competitors", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for all competitors")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a process")
    parser.add_argument("--report", action="store_true", help="only print the table of the lines in --output")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    if options.worker:
        worker(*options.worker)
    elif options.report:
        print(report(records.read(options.output)))
    else:
        where = {**surroundings(), "versions": versions()}
        for name in options.data:
            run_data_set(name, options, where)


if __name__ == "__main__":
    main()
