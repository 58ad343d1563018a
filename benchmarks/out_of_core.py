"""Training on more rows than memory: seconds, bytes read per pass, peak memory, beside the same fit in memory.

``python -m benchmarks.out_of_core --output results/out-of-core/runs.jsonl [--limits 64M] [--times 5]``

Rows are written to a temporary folder as npy shards, ``times`` the limit of memory of them. Each fit has its own
process. That of the shards gets no more address space than it has after its imports, plus the limit, plus three hundred
bytes a row for the numbers that the solver keeps: ``RLIMIT_AS`` ends it if it takes more. ``report.md`` is written
beside the lines.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm.datasets import Shards
from swapsvm.datasets.budget import bytes_of
from swapsvm.study import records
from swapsvm.study.records import Record

from .kinds import generators
from .markdown import MEGABYTE, number, table_lines
from .micro.columns import append_json, surroundings
from .objective import peak_memory, reset_peak_memory

SHARD = 1 << 17  # rows
WARM_UP = 8192  # rows
BYTES_OF_A_ROW = 300  # numbers of the solver: weights, h, groups, temporaries
SETS: dict[str, dict[str, Any]] = {
    "clean": {"features": 64, "C": 256.0, "gamma": 0.05, "tol": 1e-3},
    "noisy": {"features": 512, "C": 1.0, "gamma": 1 / 1024, "tol": 1e-2},
}
ABOUT = """Rows in npy shards, {times} times the limit of memory, beside the same rows in memory; tol as the set says.
The fit on shards ran under RLIMIT_AS: what it had after its imports, plus the limit, plus {extra} bytes a row.
{cpu}, {cores} cores, {simd}; swapsvm {swapsvm} ({commit}). Made by `python -m benchmarks.out_of_core`."""


def some_rows(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clean rows are waves over three numbers that separate the classes; noisy ones have labels that are flipped."""
    features, world, rng = SETS[name]["features"], np.random.default_rng(0), np.random.default_rng(seed)
    if name == "noisy":
        return generators.tabular(rows, world, rng, features=features)
    base, y = generators.physics(rows, world, rng)
    directions, phases = world.standard_normal((3, features)), world.uniform(0, 2 * np.pi, features)
    return np.sin(base @ directions + phases), y


def write_rows(name: str, rows: int, folder: Path) -> None:
    """Shards of rows, made one after the other."""
    for k, first in enumerate(range(0, rows, SHARD)):
        X, y = some_rows(name, min(SHARD, rows - first), k + 1)
        np.save(folder / f"part-{k:05}.npy", X.astype(np.float32))
        np.save(folder / f"part-{k:05}.labels.npy", y)


def fit(task: Record, folder: str, found: Any) -> None:
    """In a process of its own: one fit, on shards or in memory."""
    from swapsvm import SVC
    from swapsvm.passes.files import FileRows, all_rows

    setting = SETS[task["data"]]
    shards = Shards(folder, memory_limit=task["limit"])
    model = SVC(C=setting["C"], gamma=setting["gamma"], tol=setting["tol"], n_jobs=task["threads"])
    few = min(3000, shards.counts[0])
    warm_up = Shards([shards.take(0, np.arange(few))], memory_limit=200_000)
    model.fit(FileRows(warm_up), shards.y[:few])  # loads what is needed, and starts threads
    X, y = some_rows(task["data"], WARM_UP, 0)
    model.fit(X.astype(np.float32), y)  # OpenBLAS takes a buffer for each thread, and keeps it
    del X, y
    before = reset_peak_memory()
    rows: Any = FileRows(shards) if task["where"] == "shards" else all_rows(shards)
    if task["where"] == "shards":
        limit_address_space(task["limit"] + BYTES_OF_A_ROW * len(shards))
    began, cpu = time.perf_counter(), time.process_time()
    model.fit(rows, shards.y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    read = {"passes": rows.passes, "bytes_read": rows.bytes_read} if task["where"] == "shards" else {}
    found.send(
        {
            "seconds": seconds,
            "cpu_seconds": cpu,
            "peak_bytes": peak_memory() - before,
            "relative_gap": model.relative_gap_,
            "primal_value": float(model.primal_value_[0]),
            "support": len(model.support_),
            **read,
        }
    )


def limit_address_space(more: int) -> None:
    """No more than this process has now, and this many bytes."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))


def measured(task: Record, folder: Path) -> Record:
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=fit, args=(task, str(folder), there))
    process.start()
    there.close()
    try:
        found = {"status": "ok", **here.recv()}
    except EOFError:
        found = {"status": "failed"}
    process.join()
    return {**task, **found, "load": os.getloadavg()[0], "surroundings": surroundings(), "time": time.time()}


def run(options: argparse.Namespace) -> None:
    for name, limit in ((name, bytes_of("--limits", text)) for name in options.data for text in options.limits):
        rows = int(options.times * limit / (4 * SETS[name]["features"]))
        tasks = [
            {"data": name, "rows": rows, "limit": limit, "where": where, "threads": options.threads}
            for where in ("shards", "memory")
        ]
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            write_rows(name, rows, folder)
            for task in tasks:
                line = measured(task, folder)
                append_json(options.output, [line])
                print(json.dumps({k: line.get(k) for k in ("data", "rows", "where", "status", "seconds", "passes")}))


def report(lines: Sequence[Record], times: float) -> str:
    about = ABOUT.format(times=times, extra=BYTES_OF_A_ROW, **lines[-1]["surroundings"])
    head = ("data", "rows", "limit, MB", "rows in", "seconds", "CPU seconds", "passes", "MB read a pass", "peak, MB")
    cells = [
        (
            line["data"],
            line["rows"],
            number(line["limit"] / MEGABYTE, ".0f"),
            line["where"],
            number(line.get("seconds"), ".3g"),
            number(line.get("cpu_seconds"), ".3g"),
            line.get("passes", ""),
            number(line["bytes_read"] / line["passes"] / MEGABYTE, ".3g") if line.get("passes") else "",
            number(line["peak_bytes"] / MEGABYTE, ".0f") if "peak_bytes" in line else line["status"],
            number(line.get("relative_gap"), ".2g"),
            line.get("support", ""),
        )
        for line in lines
    ]
    return "\n".join(["# Rows on disk", "", about, "", *table_lines((*head, "certified gap", "vectors"), cells)]) + "\n"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/out-of-core/runs.jsonl"))
    parser.add_argument("--data", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--limits", nargs="+", default=["64M"])
    parser.add_argument("--times", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(words)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    run(options)
    lines = list(records.read(options.output))
    (options.output.parent / "report.md").write_text(report(lines, options.times))


if __name__ == "__main__":
    main()
