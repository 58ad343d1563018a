"""``python -m benchmarks.micro.sweep``: nanoseconds per kernel value of a sweep, the plain way and by symmetry.

A sweep multiplies rows with vectors among them. The plain way computes every value; by symmetry, those between two
vectors are computed once and used twice. Both are divided by the number of values *used*. Ways are measured in turn, so
that a busy moment of the machine falls on all of them; medians. "gemm" is NumPy's product of the rows in float,
a bound on what is possible for many features.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from swapsvm import _core
from swapsvm.datasets import DatasetError, load
from swapsvm.gram import Gram, as_rows
from swapsvm.kernels import Rbf

VALUES = 16e6  # of one measurement, for few features
PAUSE = 0.12  # OpenBLAS threads spin on for 0.1 seconds and would take the core of who comes next


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def medians(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each way, measured in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):  # the first round warms up
        for name, work in ways.items():
            if name == "gemm":
                time.sleep(PAUSE)
            seconds[name].append(timed(work))
            if name == "gemm":
                time.sleep(PAUSE)
    return {name: float(np.median(taken[1:])) for name, taken in seconds.items()}


def ways_of(gram: Gram, X: np.ndarray | sp.csr_array, coef: np.ndarray) -> dict[str, Callable[[], object]]:
    """All rows against all rows, in the type of the kernel values and in double."""
    every, vectors = np.arange(len(coef), dtype=np.int32), as_rows(X)
    ways: dict[str, Callable[[], object]] = {}
    for exact in (False, True):
        kind = "double" if exact else "float"
        ways[f"{kind} plain"] = lambda exact=exact: gram.core.product(vectors, coef, exact)
        ways[f"{kind} symmetric"] = lambda exact=exact: gram.core.own_product(every, every, coef, exact)
    if not sp.issparse(X):
        ways["gemm"] = lambda: X @ X.T
    return ways


def measure(name: str, X: np.ndarray | sp.csr_array, gamma: float, options: argparse.Namespace) -> None:
    gram = Gram(Rbf(gamma), X, n_threads=options.threads)
    coef = np.random.default_rng(0).standard_normal(X.shape[0])
    with threadpool_limits(options.threads):
        seconds = medians(ways_of(gram, X, coef), options.rounds)
    figures = "  ".join(f"{way} {1e9 * s / X.shape[0] ** 2:7.3f}" for way, s in seconds.items())
    print(f"{name:>16}  {figures}")


def noise(features: int, rows: int | None) -> np.ndarray:
    count = rows or int(np.sqrt(VALUES / (1 + features / 100)))
    return np.random.default_rng(1).standard_normal((count, features)).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, nargs="+", default=[8, 22, 123, 784])
    parser.add_argument("--rows", type=int, help="default: by the number of features")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=_core.usable_threads())
    options = parser.parse_args()
    print(f"ns per value used, {options.threads} threads, {_core.simd_level()}")
    for features in options.features:
        measure(f"n={features}", noise(features, options.rows), 1 / (2 * features), options)
    try:
        X = sp.csr_array(load("a9a", np.float32).X_train)[: options.rows or 4000]
    except DatasetError:
        return
    measure("a9a, CSR", X, 0.05, options)


if __name__ == "__main__":
    main()
