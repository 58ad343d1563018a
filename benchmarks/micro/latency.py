"""``python -m benchmarks.micro.latency``: how long the smallest requests take, beside scikit-learn's ``SVC``.

Imports are timed in processes of their own, with the start of Python; the first row, ``python -c pass``, is that start
alone. Fits and predictions of one row are timed inside one process, after a first call. Both libraries take turns, so
that a busy moment of the machine falls on both; medians.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_digits, load_iris

from swapsvm import SVC, ScalingWarning

PROCESSES = {
    "start of Python": ("pass", "pass"),
    "import": ("import swapsvm", "import sklearn"),
    "import of SVC": ("from swapsvm import SVC", "from sklearn.svm import SVC"),
    "swapsvm --version": ("from swapsvm.cli import main; main(['--version'])", None),
}


class Data(NamedTuple):
    """Rows and labels of a model."""

    name: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray


def shapes() -> Iterator[Data]:
    """Models of a few sizes: two, several and many classes, dense and sparse rows."""
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    yield Data("iris", X, y)
    yield Data("iris, two classes", X[:100], y[:100])
    yield Data("iris, CSR", sp.csr_array(X), y)
    X, y = load_digits(return_X_y=True)
    yield Data("digits", X / 16, y)
    yield Data("digits, CSR", sp.csr_array(X / 16), y)
    X = rng.standard_normal((2000, 20))
    yield Data("2000 x 20, noisy", X, X[:, 0] + rng.standard_normal(2000) > 0)
    yield Data("1000 x 30000, CSR", sp.csr_array(sp.random(1000, 30000, 0.002, random_state=0)), np.arange(1000) % 2)
    yield Data("500 x 8, 100 classes", rng.standard_normal((500, 8)), np.arange(500) % 100)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def medians(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds of both, measured in turn after a first call of each."""
    seconds = [(timed(ours), timed(theirs)) for _ in range(rounds + 1)][1:]
    return float(np.median([one for one, _ in seconds])), float(np.median([other for _, other in seconds]))


def process(code: str | None) -> Callable[[], object]:
    """Run code in a process of its own."""
    command = [sys.executable, "-c", code or "pass"]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def row(name: str, seconds: tuple[float, float], unit: float, compared: bool = True) -> str:
    ours, theirs = seconds[0] / unit, seconds[1] / unit
    return f"{name:<22}{ours:>10.3g}" + (f"{theirs:>14.3g}{ours / theirs:>9.2f}" if compared else "")


def head(title: str) -> str:
    return f"\n{title:<22}{'swapsvm':>10}{'scikit-learn':>14}{'ratio':>9}"


def processes(rounds: int) -> None:
    print(head("seconds"))
    for name, (ours, theirs) in PROCESSES.items():
        print(row(name, medians(process(ours), process(theirs), rounds), 1.0, compared=theirs is not None))


def fits(rounds: int) -> None:
    print(head("fit, milliseconds"))
    for name, X, y in shapes():
        some = rounds if X.shape[0] < 400 else 1
        print(row(name, medians(lambda: SVC().fit(X, y), lambda: svm.SVC().fit(X, y), some), 1e-3))  # noqa: B023


def predictions(rounds: int) -> None:
    models = [(name, X[:1], SVC().fit(X, y), svm.SVC().fit(X, y)) for name, X, y in shapes()]
    for method in ("predict", "decision_function"):
        print(head(f"{method}, µs"))
        for name, one, ours, theirs in models:
            ways = getattr(ours, method), getattr(theirs, method)
            print(row(name, medians(lambda: ways[0](one), lambda: ways[1](one), rounds), 1e-6))  # noqa: B023


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=7, help="rounds of imports")
    parser.add_argument("--fits", type=int, default=20, help="rounds of small fits; large ones are fitted once")
    parser.add_argument("--rows", type=int, default=300, help="rounds of predictions")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore", ScalingWarning)
    processes(options.processes)
    fits(options.fits)
    predictions(options.rows)


if __name__ == "__main__":
    main()
