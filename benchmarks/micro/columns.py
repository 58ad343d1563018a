"""What a kernel column and an iteration of SWAP cost, beside NumPy's matrix-vector product.

Every number is the median over rounds that take the measurements in turn, so that a busy moment of the machine falls
on all of them, and within a round a median over calls or iterations. A column is timed through ``search_swap`` of a
state without cache: one call computes one column, just as the compiled loop does, at less than a microsecond of Python;
``Gram.core.line`` is shown for what its binding adds. "again" repeats the moves when all their columns are cached: what
remains is update and scan of the gradient.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import swapsvm
from swapsvm import _core
from swapsvm.datasets import DatasetError, load
from swapsvm.gram import Gram
from swapsvm.kernels import KERNELS, make_kernel, resolve_gamma
from swapsvm.problems import L2SVC
from swapsvm.solvers import make_solver
from swapsvm.state import KernelState, Limits
from swapsvm.study.runs import cpu_name

C = 16.0
MOVES = 300  # of one sample of iterations; a trace records every one of the first thousand
SECONDS_PER_SAMPLE = 0.03
PAUSE = 0.12  # OpenBLAS threads spin on for 0.1 seconds and would take the core of who comes next
COLUMN_TARGET = 1.0  # of NumPy's time
ITERATION_TARGET = 1.5  # of the time of the columns it computes


@dataclass(frozen=True)
class Case:
    """A data set with labels -1 and 1."""

    name: str
    X: Any
    y: np.ndarray


@dataclass(frozen=True)
class Sample:
    """Seconds and kernel columns of one unit (a column, a product, an iteration)."""

    seconds: float
    columns: float


def dense_case() -> Case:
    """50000 x 22, as ijcnn1: normal features, labels by a noisy quadratic."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 22)).astype(np.float32)
    return Case("dense 50000 x 22", X, np.sign(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(len(X))))


def sparse_case() -> Case | None:
    """w8a, if it is available."""
    try:
        data = load("w8a", np.float32)
    except DatasetError as error:
        print(f"w8a is left out: {error}")
        return None
    return Case("w8a 49749 x 300 sparse", data.X_train, data.y_train)


class Bench:
    """The measurements of one case with one number of threads."""

    def __init__(self, case: Case, threads: int) -> None:
        self.case, self.threads = case, threads
        self.kernel = make_kernel("rbf", gamma=resolve_gamma("mean_sq_dist", KERNELS["rbf"], case.X))
        self.groups = [np.flatnonzero(case.y > 0), np.flatnonzero(case.y < 0)]
        self.every = np.arange(len(case.y), dtype=np.int32)
        self.rows = (7919 * k % len(case.y) for k in count())
        self.query = np.ravel(case.X[:1].toarray()) if sp.issparse(case.X) else case.X[0].copy()
        self.uncached = self.state(cache_size=0)
        self.sorted = self.sorted_state()
        self.start = self.start_of(self.uncached)

    def measurements(self) -> dict[str, Callable[[], Sample]]:
        return {
            "NumPy X @ x": self.product,
            "NumPy X @ x, exp": self.yardstick,
            "column": self.column,
            "column, rows sorted by class": self.sorted_column,
            "column by Gram.core.line": self.line,
            "swap, no cache": self.iterations_without_cache,
            "swap, default cache, cold": self.iterations_with_cold_cache,
            "swap, default cache, again": self.iterations_with_hits,
        }

    # ---- one unit each ----------------------------------------------------------------------------------------

    def product(self) -> Sample:
        with threadpool_limits(self.threads):
            return Sample(timed(lambda: self.case.X @ self.query), 1)

    def yardstick(self) -> Sample:
        """RBF without even the norms."""
        with threadpool_limits(self.threads):
            return Sample(timed(lambda: np.exp(self.case.X @ self.query)), 1)

    def column(self) -> Sample:
        core = self.uncached.core
        return self.counted(self.uncached, lambda: core.search_swap(next(self.rows), 0))

    def sorted_column(self) -> Sample:
        """One pass over the data instead of one for each class, each of which touches every cache line."""
        core = self.sorted.core
        return self.counted(self.sorted, lambda: core.search_swap(next(self.rows), 0))

    def line(self) -> Sample:
        """Adds to a column what the binding does: it checks the indices and makes an array."""
        core = self.uncached.problem.gram.core
        return self.counted(self.uncached, lambda: core.line(next(self.rows), self.every))

    @staticmethod
    def counted(state: KernelState, unit: Callable[[], Any]) -> Sample:
        gram, calls = state.problem.gram, count()
        before = gram.evaluations
        seconds = timed(lambda: (unit(), next(calls)))
        return Sample(seconds, (gram.evaluations - before) / next(calls) / gram.size)

    def iterations_without_cache(self) -> Sample:
        return self.iterations(self.uncached)

    def iterations_with_cold_cache(self) -> Sample:
        self.cached = self.state(cache_size=None)
        return self.iterations(self.cached)

    def iterations_with_hits(self) -> Sample:
        """The same moves once more: all columns are there, update and scan of the gradient remain."""
        return self.iterations(self.cached)

    # ---- the problem ------------------------------------------------------------------------------------------

    def iterations(self, state: KernelState) -> Sample:
        gram = state.problem.gram
        state.set_weights(*self.start)
        before = gram.evaluations
        records = state.run(make_solver("swap"), Limits(MOVES)).records
        seconds = np.diff(records["seconds"], prepend=0)
        return typical_iteration(seconds, np.diff(records["evaluations"], prepend=before) / gram.size)

    def state(self, cache_size: float | None) -> KernelState:
        gram = Gram(self.kernel, self.case.X, groups=self.groups, cache_size=cache_size, n_threads=self.threads)
        return KernelState(L2SVC.of(gram, 0, 1, C))

    def sorted_state(self) -> KernelState:
        positive = len(self.groups[0])
        X, groups = self.case.X[np.concatenate(self.groups)], [self.every[:positive], self.every[positive:]]
        return KernelState(L2SVC.of(Gram(self.kernel, X, groups=groups, cache_size=0, n_threads=self.threads), 0, 1, C))

    @staticmethod
    def start_of(state: KernelState) -> tuple[np.ndarray, np.ndarray]:
        variables = state.problem.start_variables(20, np.random.default_rng(0))
        weights = state.face(variables).solve(make_solver("swap2"), tol=1e-6)
        return variables[weights > 0], weights[weights > 0]


def timed(unit: Callable[[], Any]) -> float:
    """Seconds of one call: the median of those that fit into a sample, after two that do not count."""
    unit(), unit()
    seconds: list[float] = []
    while sum(seconds) < SECONDS_PER_SAMPLE:
        began = time.perf_counter()
        unit()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def typical_iteration(seconds: np.ndarray, columns: np.ndarray) -> Sample:
    """The mean over iterations of the median over those that compute as many columns: interruptions do not count."""
    columns = columns.round(3)
    medians = {number: np.median(seconds[columns == number]) for number in np.unique(columns)}
    return Sample(float(np.mean([medians[number] for number in columns])), float(columns.mean()))


def rounds_of(bench: Bench, seconds: float) -> dict[str, list[Sample]]:
    """Round robin until the time is over, three rounds at least."""
    samples: dict[str, list[Sample]] = {name: [] for name in bench.measurements()}
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        for name, measure in bench.measurements().items():
            time.sleep(PAUSE)
            samples[name].append(measure())
        rounds += 1
    return samples


def ratios_of(samples: dict[str, list[Sample]]) -> dict[str, tuple[float, float]]:
    """Ratio (median of those of the rounds) and target, by measurement."""
    columns = samples["column"]

    def median_of(pairs: Iterable[float]) -> float:
        return float(np.median(list(pairs)))

    def of_columns(name: str) -> float:
        both = zip(samples[name], columns, strict=True)
        return median_of(s.seconds / (s.columns * column.seconds) for s, column in both)

    numpy = zip(columns, samples["NumPy X @ x, exp"], strict=True)
    return {
        "column": (median_of(column.seconds / product.seconds for column, product in numpy), COLUMN_TARGET),
        "swap, no cache": (of_columns("swap, no cache"), ITERATION_TARGET),
        "swap, default cache, cold": (of_columns("swap, default cache, cold"), ITERATION_TARGET),
    }


def records_of(bench: Bench, samples: dict[str, list[Sample]]) -> list[dict[str, Any]]:
    """One record per measurement: medians, and the ratio if it has a target."""
    ratios = ratios_of(samples)
    records = []
    for name, found in samples.items():
        ratio, target = ratios.get(name, (None, None))
        record = {"data": bench.case.name, "threads": bench.threads, "what": name, "rounds": len(found)}
        record["microseconds"] = 1e6 * float(np.median([s.seconds for s in found]))
        record["columns"] = float(np.median([s.columns for s in found]))
        records.append({**record, "ratio": ratio, "target": target})
    return records


def show(records: list[dict[str, Any]]) -> None:
    first = records[0]
    title = f"{first['data']}, {first['threads']} thread{'s' * (first['threads'] > 1)}, {first['rounds']} rounds"
    print(f"\n{title:45}{'us':>8}{'columns':>9}{'ratio':>7}  target")
    for r in records:
        verdict = "" if r["ratio"] is None else verdict_on(r["ratio"], r["what"], r["target"])
        print(f"{r['what']:45}{r['microseconds']:8.1f}{r['columns']:9.2f}{verdict}", flush=True)


def verdict_on(ratio: float, what: str, target: float) -> str:
    of = "NumPy" if what == "column" else "its columns"
    return f"{ratio:7.2f}  <= {target:g} x {of}{'' if ratio <= target else ': missed'}"


def surroundings() -> dict[str, Any]:
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "simd": _core.simd_level(),
        "swapsvm": swapsvm.__version__,
        "commit": commit(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@cache  # the commit at the start, should another one come while the run lasts
def commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def append_json(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps({**record, **surroundings()}) + "\n" for record in records)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="for each data set and number of threads")
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, _core.usable_threads()}))
    parser.add_argument("--json", type=Path, help="append the numbers to this file, as JSON lines")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    cases = [case for case in (dense_case(), sparse_case()) if case is not None]
    print(", ".join(f"{key} {value}" for key, value in surroundings().items()))
    for case in cases:
        for threads in options.threads:
            bench = Bench(case, threads)
            records = records_of(bench, rounds_of(bench, options.seconds))
            show(records)
            if options.json:
                append_json(options.json, records)
    print(f"\nload average {os.getloadavg()[0]:.1f}: if that is much above the number of threads, others were at work")


if __name__ == "__main__":
    main()
