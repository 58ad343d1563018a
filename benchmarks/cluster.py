"""Fits on a cluster: what Dask costs on one machine, and what many workers would need.

``python -m benchmarks.cluster --output results/cluster/runs.jsonl [--parts overhead growth latency]``

``overhead``: ``swapsvm.SVC(n_jobs=2)`` in memory beside ``swapsvm.dask.SVC`` on two local workers of one thread, with
the rows as 8 chunks on the workers: as it is, which brings rows to the client if they take little memory, and with
passes over the rows on the workers, as on a large cluster. ``growth``: support and rounds against the number of rows.
``latency``: fits behind an imaginary network, beside the seconds that the model of ``cluster_model.py`` predicts.
Contenders take turns. ``report.md`` and its figure are written beside the lines; ``--report`` only writes them.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

import swapsvm
from swapsvm.study import records

from . import cluster_report, datasets
from .cluster_model import Network
from .delayed import DelayedRows
from .micro.columns import surroundings
from .objective import peak_memory, reset_peak_memory

CHUNKS, WORKERS = 8, 2
WARM_UP = 3000  # rows
CONTENDERS = ("SVC", "dask.SVC", "dask.SVC, passes")
CLEAN, NOISY = "physics", "noisy"
OVERHEAD = ("physics m=1000000", "noisy m=100000 noise=0.3")
GROWTH = {CLEAN: (30_000, 100_000, 300_000, 1_000_000), NOISY: (3_000, 10_000, 30_000)}
DELAYED = "physics m=100000"
DELAYS = (0.0, 0.010, 0.050)  # seconds of a round trip
NOTHING = Network(0.0, 0.0, np.inf)
Line = dict[str, Any]


class Lines:
    """The lines of a file, and what is missing in it."""

    def __init__(self, output: Path) -> None:
        self.output, self.where = output, surroundings()
        self.done = {key_of(line) for line in records.read(output)}

    def measure(self, line: Line, fit: Callable[[], Line]) -> None:
        """Append a measurement unless it is there."""
        if key_of(line) in self.done:
            return
        load = os.getloadavg()[0]
        found = {**line, **fit(), "load": load, "where": self.where}
        records.append(self.output, found)
        self.done.add(key_of(line))
        print({name: value for name, value in found.items() if name != "where"}, flush=True)


def key_of(line: Line) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in ("part", "data", "contender", "per_round", "repetition"))


def settings_of(data: str, X: np.ndarray) -> dict[str, float]:
    """C and gamma as in the kinds; noisy rows at those of the other measurements of the family."""
    if data.startswith(NOISY):
        return {"C": 1.0, "gamma": 1 / 44, "tol": 0.01}
    C, gamma = datasets.parameters_of(data, X)
    return {"C": C, "gamma": gamma}


def measured(fit: Callable[[], Any]) -> Line:
    """Seconds, processor seconds of this process and of the workers, memory and counts of a fit."""
    workers = psutil.Process().children(recursive=True)
    gc.collect()
    before, own, others, began = reset_peak_memory(), time.process_time(), cpu_of(workers), time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - began
    cpu = {"client_cpu": time.process_time() - own, "worker_cpu": cpu_of(workers) - others}
    return {"seconds": seconds, **cpu, "peak_bytes": peak_memory() - before, **counts_of(model)}


def cpu_of(processes: list[psutil.Process]) -> float:
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))


def counts_of(model: Any) -> Line:
    names = ("n_passes_", "n_tasks_", "n_rounds_", "bytes_sent_", "bytes_received_")
    counts = {name.strip("_"): int(getattr(model, name)) for name in names if hasattr(model, name)}
    gap, values = float(np.max(model.relative_gap_)), int(model.n_evaluations_)
    return {**counts, "support": len(model.support_), "relative_gap": gap, "values": values}


# ---- overhead -----------------------------------------------------------------------------------------------------


@contextmanager
def cluster() -> Iterator[Any]:
    import distributed

    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=WORKERS, **settings) as found, distributed.Client(found) as client:
        yield client


def run_overhead(lines: Lines, options: argparse.Namespace) -> None:
    for data in options.data:
        planned = [
            {"part": "overhead", "data": data, "contender": contender, "repetition": repetition}
            for repetition in range(options.repetitions)
            for contender in CONTENDERS[:: 1 if repetition % 2 else -1]
        ]
        due = [line for line in planned if key_of(line) not in lines.done]
        if due:
            run_contenders(lines, due, datasets.load(data).astype("float32"))


def run_contenders(lines: Lines, due: list[Line], split: datasets.Split) -> None:
    shape = {"rows": len(split.y), "features": split.X.shape[1]}
    with cluster() as client:
        fits = contenders(client, split.X, split.y, settings_of(due[0]["data"], split.X))
        for line in due:
            lines.measure({**line, **shape}, partial(measured, fits[line["contender"]]))


def contenders(client: Any, X: np.ndarray, y: np.ndarray, settings: Line) -> dict[str, Callable[[], Any]]:
    """Fits of the same rows in memory and on the workers, after a warm-up of both."""
    import swapsvm.dask

    far, few = on_workers(client, X, y), on_workers(client, X[:WARM_UP], y[:WARM_UP])
    swapsvm.SVC(n_jobs=WORKERS).fit(X[:WARM_UP], y[:WARM_UP])
    by_passes(swapsvm.dask.SVC(n_jobs=WORKERS, client=client), *few)
    new = partial(swapsvm.dask.SVC, n_jobs=WORKERS, client=client, **settings)
    return {
        "SVC": lambda: swapsvm.SVC(n_jobs=WORKERS, **settings).fit(X, y),
        "dask.SVC": lambda: new().fit(*far),
        "dask.SVC, passes": lambda: by_passes(new(), *far),
    }


def by_passes(model: Any, *far: Any) -> Any:
    """A fit whose rows stay on the workers, however few they are."""
    with patch("swapsvm.dask.rows.DaskRows.fit_here", return_value=False):
        return model.fit(*far)


def on_workers(client: Any, *arrays: np.ndarray) -> list[list[Any]]:
    """Chunks that take turns between the workers."""
    from dask import delayed

    workers = sorted(client.nthreads())
    return [
        [
            delayed(client.scatter(chunk, workers=[workers[k % len(workers)]], hash=False))
            for k, chunk in enumerate(np.array_split(array, CHUNKS))
        ]
        for array in arrays
    ]


# ---- growth and latency -------------------------------------------------------------------------------------------


def run_growth(lines: Lines, options: argparse.Namespace) -> None:
    """Counts of one fit for each number of rows."""
    for kind, sizes in GROWTH.items():
        for rows in sizes:
            data = f"{kind} m={rows}" + (" noise=0.3" if kind == NOISY else "")
            line = {"part": "growth", "data": data, "kind": kind, "rows": rows}
            lines.measure(line, partial(growth_of, data))


def growth_of(data: str) -> Line:
    """Counts of a fit by passes, and the kernel values and processor seconds of a fit in memory."""
    split = datasets.load(data).astype("float32")
    model = swapsvm.SVC(n_jobs=WORKERS, **settings_of(data, split.X))
    local = measured(lambda: model.fit(split.X, split.y))
    return {**delayed_fit(data, NOTHING), "local_values": local["values"], "local_cpu": local["client_cpu"]}


def run_latency(lines: Lines, options: argparse.Namespace) -> None:
    for repetition in range(options.repetitions):
        for delay in DELAYS:
            network = Network(delay, 0.0, np.inf) if delay == 0 else Network(delay, 0.001, 1e8)
            line = {"part": "latency", "data": DELAYED, **asdict(network), "repetition": repetition}
            line["bandwidth"] = None if delay == 0 else network.bandwidth
            lines.measure(line, partial(delayed_fit, DELAYED, network))


def delayed_fit(data: str, network: Network) -> Line:
    """A fit whose rows are too large to be brought to the client, as they are on a cluster."""
    split = datasets.load(data).astype("float32")
    settings = settings_of(data, split.X)
    rows = DelayedRows(split.X, CHUNKS, network, room=8 * split.X.nbytes)
    found = measured(lambda: swapsvm.SVC(n_jobs=WORKERS, **settings).fit(rows, split.y))
    counts = {"n_rounds": rows.rounds, "n_tasks": rows.tasks, "bytes_moved": rows.bytes_moved}
    return {**found, "n_passes": rows.passes, **counts, "pass_values": dict(rows.values)}


PARTS = {"overhead": run_overhead, "growth": run_growth, "latency": run_latency}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/cluster/runs.jsonl"), help="JSON lines, appended")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--data", nargs="+", default=list(OVERHEAD), help="of the overhead")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write report.md and its figure")
    options = parser.parse_args(words)
    if not options.report:
        lines = Lines(options.output)
        for part in options.parts:
            PARTS[part](lines, options)
    cluster_report.write(records.read(options.output), options.output.parent)


if __name__ == "__main__":
    main()
