"""Model selection: one ``SVCCV`` against ``GridSearchCV`` of the peers, same grid, same folds, same cores.

``python -m benchmarks.selection --output results/selection/runs.jsonl --data usps --Cs 4 --gammas 2 --rows 3000``

The whole grid is 10 values of C (1/4, 1/2, ..., 128) x 5 of gamma (1/16, 1/4, 1, 4, 16 times "scale") x 5 stratified
folds, and a model of all rows at the end. A peer may need hours for it: ``--Cs``, ``--gammas`` and ``--rows`` reduce
it equally for all, and records say so. Each competitor has its own process; exceeding the limit is
recorded. scikit-learn's SVC is single-threaded, so its grid runs in one process per core; intelex
is measured both ways, with threads inside each fit and with fits in parallel.

Searches of several threads are compared by wall time. On one thread (``--threads 1``) they are compared by CPU seconds,
which depend less on other work of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm.study import records

from . import datasets
from .micro.columns import surroundings
from .objective import usable_cores
from .run import ROOT, THREAD_VARIABLES, last_line, status_of, versions
from .worker import limit_cores, limit_memory

DATA = ("letter", "a7a", "w5a", "usps")
WHOLE = {"Cs": 10, "gammas": 5}
FOLDS = 5


def ours(grid: dict[str, list[float]], threads: int) -> Any:
    from swapsvm import SVCCV

    return SVCCV(grid["C"], grid["gamma"], cv=FOLDS, n_jobs=threads)


def intelex(grid: dict[str, list[float]], threads: int) -> Any:
    return _intelex(grid, inside=threads, jobs=1)


def intelex_side_by_side(grid: dict[str, list[float]], threads: int) -> Any:
    return _intelex(grid, inside=1, jobs=threads)


def _intelex(grid: dict[str, list[float]], inside: int, jobs: int) -> Any:
    from daal4py import daalinit
    from sklearn.model_selection import GridSearchCV
    from sklearnex.svm import SVC

    daalinit(inside)
    return GridSearchCV(SVC(), grid, cv=FOLDS, n_jobs=jobs)


def scikit_learn(grid: dict[str, list[float]], threads: int) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    return GridSearchCV(SVC(), grid, cv=FOLDS, n_jobs=threads)


SEARCHES: dict[str, Callable[[dict[str, list[float]], int], Any]] = {
    "SVCCV": ours,
    "intelex": intelex,
    "intelex side by side": intelex_side_by_side,
    "scikit-learn": scikit_learn,
}


# ---- in the process of a competitor -----------------------------------------------------------------------------


def cpu_seconds() -> float:
    """Of this process and of those of joblib that have ended; os.times() counts in hundredths of a second."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(task: dict[str, Any], X: Any, y: np.ndarray) -> dict[str, Any]:
    """Time the whole search, after an untimed search on a few rows that loads libraries."""
    make = SEARCHES[task["search"]]
    few = np.concatenate([np.flatnonzero(y == c)[: 2 * FOLDS] for c in np.unique(y)])
    make({name: values[:1] for name, values in task["grid"].items()}, task["threads"]).fit(X[few], y[few])
    search = make(task["grid"], task["threads"])
    signal.setitimer(signal.ITIMER_REAL, task["limit"])
    began, began_cpu = time.perf_counter(), cpu_seconds()
    search.fit(X, y)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - began_cpu
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "best_score": search.best_score_,
        "best_params": search.best_params_,
        "mean_scores": list(search.cv_results_["mean_test_score"]),
    }


def worker(task_path: str, data_path: str, result_path: str) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default action ends the process, even inside a library
    warnings.simplefilter("ignore")
    limit_memory()
    task = json.loads(Path(task_path).read_text())
    limit_cores(task["threads"])
    with Path(data_path).open("rb") as file:
        X, y = pickle.load(file)
    Path(result_path).write_text(json.dumps(measure(task, X, y)))


# ---- around it ----------------------------------------------------------------------------------------------------


def in_own_process(task: dict[str, Any], directory: Path, module: str = "benchmarks.selection") -> dict[str, Any]:
    paths = [directory / name for name in ("task.json", "data.pickle", "result.json")]
    paths[0].write_text(json.dumps(task))
    paths[2].write_text("{}")
    command = [sys.executable, "-m", module, "--worker", *map(str, paths)]
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(task["threads"]))}
    with (directory / "errors.txt").open("w") as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=errors, start_new_session=True)
    status = status_of(process.wait())
    with contextlib.suppress(ProcessLookupError):  # workers of joblib survive a process that was ended
        os.killpg(process.pid, signal.SIGKILL)
    message = {} if status == "ok" else {"message": last_line((directory / "errors.txt").read_text())}
    return {"status": status, **message, **json.loads(paths[2].read_text())}


def chosen_rows(name: str, rows: int | None) -> tuple[Any, np.ndarray]:
    """The training rows of a set, or this many of them, in random order: folds are cut without shuffling."""
    split = datasets.load(name).astype("float64")
    some = np.random.default_rng(0).permutation(len(split.y))[:rows]
    return split.X[some], split.y[some]


def grid_of(X: Any, n_Cs: int, n_gammas: int) -> dict[str, list[float]]:
    """The middle of the whole grid: this many values of C, and of gamma around "scale"."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
    scale = 1.0 / (X.shape[1] * variance)
    first = -2 + (WHOLE["Cs"] - n_Cs) // 2
    Cs = [2.0 ** (first + k) for k in range(n_Cs)]
    return {"C": Cs, "gamma": [float(scale * 4.0 ** (k - n_gammas // 2)) for k in range(n_gammas)]}


def run_data_set(name: str, options: argparse.Namespace, where: dict[str, Any]) -> None:
    X, y = chosen_rows(name, options.rows)
    grid = grid_of(X, options.Cs, options.gammas)
    cut = {"Cs": options.Cs, "gammas": options.gammas} != WHOLE or options.rows is not None
    with tempfile.TemporaryDirectory() as directory:
        with (Path(directory) / "data.pickle").open("wb") as file:
            pickle.dump((X, y), file, protocol=5)
        for search in options.searches:
            task = {"search": search, "data": name, "grid": grid, "threads": options.threads, "limit": options.limit}
            found = in_own_process(task, Path(directory))
            shape = {"rows": X.shape[0], "features": X.shape[1], "classes": len(np.unique(y)), "cut": cut}
            load = os.getloadavg()[0]
            records.append(options.output, {**task, **shape, **found, "load": load, "where": where})
            print(line_of(name, search, found), flush=True)


def line_of(name: str, search: str, found: dict[str, Any]) -> str:
    if found["status"] != "ok":
        return f"{name:8} {search:22} {found['status']}: {found.get('message', '')}"
    numbers = f"{found['seconds']:9.2f} s (CPU {found['cpu_seconds']:.2f} s)  {100 * found['best_score']:6.2f}%"
    return f"{name:8} {search:22} {numbers}  {found['best_params']}"


# ---- report -------------------------------------------------------------------------------------------------------


def report(lines: list[dict[str, Any]]) -> str:
    """All searches in a Markdown table; the last record of each counts."""
    last = {(line["data"], line["search"]): line for line in lines}
    one_thread = all(line["threads"] == 1 for line in last.values())
    clock, compared = ("cpu_seconds", "CPU") if one_thread else ("seconds", "wall")
    rows = [
        f"| data | rows | search | wall | CPU | {compared} / SVCCV's | best score | C, gamma |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ratios: dict[str, list[float]] = {}
    names = list(dict.fromkeys(name for name, _ in last))
    for (name, search), line in sorted(last.items(), key=lambda item: names.index(item[0][0])):
        ratio = ratio_of(line, last.get((name, "SVCCV"), {}), clock)
        rows.append(f"| {name} | {line['rows']} | {search} | {' | '.join(cells_of(line, ratio))} |")
        if ratio and search != "SVCCV":
            ratios.setdefault(search, []).append(ratio)
    means = ", ".join(f"{search} {np.exp(np.mean(np.log(each))):.3g}" for search, each in ratios.items())
    about = surrounded(list(last.values()))
    return "\n".join(
        ["# Model selection beside the peers\n", about, *rows, f"\nGeometric means of the ratios: {means}.\n"]
    )


def ratio_of(line: dict[str, Any], ours: dict[str, Any], clock: str) -> float | None:
    """A lower bound for a search that was ended; None if its CPU seconds, or a tick of ours, are unknown."""
    least = line["limit"] if clock == "seconds" else None
    taken = line.get(clock, least)
    return taken / ours[clock] if taken and ours.get(clock) else None


def cells_of(line: dict[str, Any], ratio: float | None) -> list[str]:
    if line["status"] != "ok":
        least = f"> {ratio:.3g}" if ratio and line["status"] == "timeout" else ""
        return [f"{line['status']}, limit {line['limit']:.0f} s", "", least, "", ""]
    chosen = ", ".join(f"{value:.3g}" for value in line["best_params"].values())
    times = [f"{line[clock]:.3g} s" for clock in ("seconds", "cpu_seconds")]
    return [*times, f"{ratio:.3g}" if ratio else "", f"{line['best_score']:.4f}", chosen]


def surrounded(lines: list[dict[str, Any]]) -> str:
    """The conditions of the searches."""
    where, loads = lines[0]["where"], [line["load"] for line in lines]
    peers = ", ".join(f"{name} {where['versions'][name]}" for name in ("scikit-learn-intelex", "scikit-learn"))
    grid = lines[0]["grid"]
    return (
        f"{where['cpu']}, threads: {lines[0]['threads']}, swapsvm at {where['commit']}, {peers}. "
        f"{len(grid['C'])} values of C x {len(grid['gamma'])} of gamma x {FOLDS} folds and a model of all rows, once "
        f"each, in turn. The load of the machine was {min(loads):.1f} to {max(loads):.1f}. Losses differ, and so do "
        "scores and winners.\n"
    )


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=Path("results/selection/runs.jsonl"), help="JSON lines, appended"
    )
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--searches", nargs="+", default=list(SEARCHES), choices=list(SEARCHES))
    parser.add_argument("--Cs", type=int, default=WHOLE["Cs"], help="number of values of C")
    parser.add_argument("--gammas", type=int, default=WHOLE["gammas"], help="number of values of gamma")
    parser.add_argument("--rows", type=int, help="number of training rows to use")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for all competitors")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for a search")
    parser.add_argument("--report", action="store_true", help="only write report.md of the existing lines")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    if options.worker:
        worker(*options.worker)
        return
    where = {**surroundings(), "versions": versions()}
    for name in () if options.report else options.data:
        run_data_set(name, options, where)
    options.output.with_name("report.md").write_text(report(records.read(options.output)))


if __name__ == "__main__":
    main()
