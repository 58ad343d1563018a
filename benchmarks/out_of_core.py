"""Training on more rows than memory: seconds, bytes read per pass, peak memory, beside the same fit in memory.

``python -m benchmarks.out_of_core --output results/out-of-core/runs.jsonl [--limits 64M] [--times 5]``

Rows are written to a temporary folder as npy shards, ``times`` the limit of memory of them. Each fit has its own
process. That of the shards gets no more memory than it has after its imports and a small fit, plus the limit, plus
three hundred bytes a row for the numbers that the solver keeps and 24 MB for what does not depend on the limit
(matrices of working sets and landmarks, buffers, what malloc keeps): ``RLIMIT_DATA`` ends it if it takes more. That
counts all private memory that can be written, also stacks of threads and buffers of BLAS that are reserved and never
touched: stacks are small here, and malloc takes large arrays from the system and gives them back, so that the small
fit leaves no holes. (``RLIMIT_AS`` counts as well what malloc sets aside for each thread, 64 MB of addresses.) The
limit is lifted when the fit has ended, since the model has its support vectors in memory: all rows, where data are
noisy. The peak is that of memory without the pages of files. ``report.md`` is written beside the lines.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import multiprocessing
import os
import resource
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from swapsvm.datasets import Shards
from swapsvm.datasets.budget import bytes_of
from swapsvm.models.schemes import OneVersusOne
from swapsvm.study import records
from swapsvm.study.records import Record

from .kinds import generators
from .markdown import MEGABYTE, number, table_lines
from .micro.columns import append_json, surroundings
from .objective import bytes_in_status

SHARD = 1 << 17  # rows
WARM_UP = 4096  # rows
LOOK = 0.01  # seconds between two looks at the memory
STACK = 1 << 20  # bytes, of a thread
BYTES_OF_A_ROW = 300  # numbers of the solver: weights, h, groups, temporaries
FIXED = 24 << 20  # bytes: matrices of working sets and landmarks, and what malloc sets aside
ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}  # of the process of a fit
SETS: dict[str, dict[str, Any]] = {
    "clean": {"features": 64, "C": 256.0, "gamma": 0.05, "tol": 1e-3},
    "noisy": {"features": 1024, "C": 1.0, "gamma": 1 / 2048, "tol": 1e-2},
}
ABOUT = """Rows in npy shards, {times} times the limit of memory, beside the same rows in memory; tol as the set says.
The fit on shards ran under RLIMIT_DATA: what it had after its imports, plus the limit, plus {extra} bytes a row and
{fixed} MB. The peak is that of the fit without pages of files, and without the model, which has its vectors in memory.
{cpu}, {cores} cores, {simd}; swapsvm {swapsvm} ({commit}). Made by `python -m benchmarks.out_of_core`."""


def some_rows(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clean rows are waves over three numbers that separate the classes; noisy ones are those of the kinds."""
    features, world, rng = SETS[name]["features"], np.random.default_rng(0), np.random.default_rng(seed)
    if name == "noisy":
        return generators.noisy(rows, world, rng, features=features)
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
    X, y = some_rows(task["data"], WARM_UP, 0)
    warm_up = X.astype(np.float32)
    model.fit(FileRows(Shards([warm_up], memory_limit=warm_up.nbytes // 5)), y)  # loads what is needed
    model.fit(warm_up, y)  # OpenBLAS takes a buffer for each thread, and keeps it
    del X, warm_up
    y = shards.y
    before, peak = given_back(), Peak()
    rows: Any = FileRows(shards) if task["where"] == "shards" else all_rows(shards)
    more = task["limit"] + BYTES_OF_A_ROW * len(shards) + FIXED if task["where"] == "shards" else None
    began, cpu = time.perf_counter(), time.process_time()
    with limited(more, peak):
        model.fit(rows, y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    read = {"passes": rows.passes, "bytes_read": rows.bytes_read} if task["where"] == "shards" else {}
    found.send(
        {
            "seconds": seconds,
            "cpu_seconds": cpu,
            "peak_bytes": peak.bytes - before,
            "relative_gap": model.relative_gap_,
            "primal_value": float(model.primal_value_[0]),
            "support": len(model.support_),
            **read,
        }
    )


def given_back() -> int:
    """Bytes of the process, without pages of files, after what was freed has been given back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return bytes_in_status("RssAnon")


class Peak:
    """The largest size of the process, without pages of files, of many looks."""

    def __init__(self) -> None:
        self.bytes, self._ended = 0, threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._ended.wait(LOOK):
            self.bytes = max(self.bytes, bytes_in_status("RssAnon"))

    def end(self) -> None:
        self._ended.set()


@contextmanager
def limited(more: int | None, peak: Peak) -> Iterator[None]:
    """No more memory than now and this many bytes, until a model is made."""

    def lifted(*arguments: Any) -> Any:
        peak.end()
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return made(*arguments)

    made = OneVersusOne.model
    if more is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_in_status("VmData") + more, resource.RLIM_INFINITY))
    with patch.object(OneVersusOne, "model", lifted):
        yield


def measured(task: Record, folder: Path) -> Record:
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=fit, args=(task, str(folder), there))
    default = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, default[1]))  # of the threads of the process that is started
    with patch.dict(os.environ, ENVIRONMENT):
        process.start()
    resource.setrlimit(resource.RLIMIT_STACK, default)
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
    about = ABOUT.format(times=times, extra=BYTES_OF_A_ROW, fixed=FIXED >> 20, **lines[-1]["surroundings"])
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
            number(line.get("load"), ".0f"),
        )
        for line in lines
    ]
    table = table_lines((*head, "certified gap", "vectors", "load"), cells)
    return "\n".join(["# Rows on disk", "", about, "", *table]) + "\n"


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
