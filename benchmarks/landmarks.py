"""Which rows become the vectors of ``SVC(max_vectors=...)``, and how such models compare with other small ones.

    python benchmarks/landmarks.py choices    P at equal budgets, for several choices of the vectors
    python benchmarks/landmarks.py models     accuracy, certified gap and CPU seconds beside other ways to small models

Prints tables for docs/notes/budget.md. Data sets come from ``swapsvm.datasets``.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from swapsvm import SVC, Gram, reduce_support
from swapsvm.datasets import load
from swapsvm.fitting import budget
from swapsvm.fitting.few_vectors import FewVectors, Function
from swapsvm.fitting.pursuit import Order, Pursuit, products
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC

PARAMETERS = tomllib.loads((Path(__file__).parent / "parameters.toml").read_text())
ROUNDS = 3  # of choices that look at the slacks in between
JITTER = 1e-9


@dataclass(frozen=True)
class Data:
    """Rows and labels of training and test, and the parameters of the model."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    C: float
    gamma: float


def noisy(rows: int) -> Data:
    """Most rows are support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rows, 22))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + 0.3 * rng.normal(size=len(X))
    y = np.sign(f)
    return Data("noisy", X[:rows], y[:rows], X[rows:], y[rows:], 1.0, 1 / 44)


def named(name: str, rows: int | None = None, parameters: str | None = None) -> Data:
    """A registered data set with the parameters of benchmarks/parameters.toml."""
    found, chosen = load(name), PARAMETERS[parameters or name]
    some = np.random.default_rng(0).permutation(len(found.y_train))[:rows]
    return Data(
        name, found.X_train[some], found.y_train[some], found.X_test, found.y_test, chosen["C"], chosen["gamma"]
    )


# ---- choices ----------------------------------------------------------------------------------------------------


class Choices:
    """The ways to choose vectors for one problem of two classes."""

    def __init__(self, data: Data, seed: int) -> None:
        y = np.where(data.y > 0, 1.0, -1.0)
        groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
        self.data, self.rng, self.size = data, np.random.default_rng(seed), len(y)
        self.gram = Gram(Rbf(gamma=data.gamma), data.X, groups=groups, dtype=np.float64, cache_size=0)
        self.problem = L2SVC.of(self.gram, 0, 1, data.C)

    def best(self, vectors: np.ndarray) -> tuple[FewVectors, Function]:
        few = FewVectors(self.problem, vectors)
        return few, few.minimize(few.function(np.zeros(len(few.vectors)), 0.0))[0]

    def random(self, count: int) -> np.ndarray:
        return self.rng.choice(self.size, count, replace=False)

    def residual(self, count: int, weights: np.ndarray | None = None, begin: np.ndarray | None = None) -> np.ndarray:
        """Pivots of a randomized Cholesky factorization: drawn by what is left of k(x, x), times weights."""
        chosen: list[int] = [] if begin is None else begin.tolist()
        left, factor = self.gram.diagonal().copy(), np.zeros((count, self.size))
        for k in range(count):
            if k == len(chosen):
                share = left if weights is None else left * weights
                chosen.append(int(self.rng.choice(self.size, p=share / share.sum())))
            row = chosen[k]
            line = self.gram.block([row], np.arange(self.size))[0] - factor[:k, row] @ factor[:k]
            factor[k] = line / np.sqrt(max(line[row], JITTER))
            left = np.maximum(left - factor[k] ** 2, 0.0)
            left[row] = 0.0
        return np.array(chosen)

    def weighted(self, count: int) -> np.ndarray:
        """The same, drawn among rows inside the margin of the model so far: about their ridge leverage."""

        def more(found: np.ndarray, wanted: int) -> np.ndarray:
            few, at = self.best(found)
            inside = np.full(self.size, JITTER)
            inside[few.rows[few.pulls(at) != 0]] = 1.0
            return self.residual(wanted, inside, found)

        return self._in_rounds(count, more)

    def slopes(self, count: int) -> np.ndarray:
        """Rows along which P falls most: pursuit of what the function of the slacks has beyond the present one."""

        def more(found: np.ndarray, wanted: int) -> np.ndarray:
            few, at = self.best(found)
            pulls = few.pulls(at)
            slope = products(self.gram, few.rows, few.rows, pulls) + pulls.sum() - at.values
            z, left = self._features(found, few.rows)
            order = np.argsort(-(slope**2) / np.maximum(left, JITTER))[: 4 * (wanted - len(found))]
            rows = few.rows[order[~np.isin(few.rows[order], found)]]
            part = z[:, np.searchsorted(few.rows, rows)]
            values = self.gram.block(rows, rows) - part.T @ part
            return np.append(found, rows[greedy(values, slope[np.searchsorted(few.rows, rows)], wanted - len(found))])

        return self._in_rounds(count, more)

    def _in_rounds(self, count: int, more: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        found = self.random(count // 4)
        for rounds_left in range(ROUNDS, 0, -1):
            found = more(found, len(found) + (count - len(found)) // rounds_left)
        return found

    def _features(self, vectors: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L^-1 k_F: and what is left of k(x, x)."""
        values = self.gram.block(vectors, vectors) + len(vectors) * JITTER * np.eye(len(vectors))
        z = solve_triangular(cholesky(values, lower=True), self.gram.block(vectors, rows), lower=True)
        return z, self.gram.diagonal()[rows] - (z**2).sum(axis=0)

    def budget_of(self, most_rows: int) -> Callable[[int], np.ndarray]:
        """What ``max_vectors`` does; problems of more rows are solved roughly over random vectors."""

        def choose(count: int) -> np.ndarray:
            before, budget.MOST_ROWS = budget.MOST_ROWS, most_rows
            try:
                return self._model(max_vectors=count, random_state=int(self.rng.integers(2**31))).support_
            finally:
                budget.MOST_ROWS = before

        return choose

    def of_model(self, count: int) -> np.ndarray:
        """Pursuit of the full model's function: what reduce_support chooses."""
        model = self._model()
        return Order([Pursuit(self.gram, model.support_.astype(np.int64), model.model_.coef.T)]).first(count)

    def _model(self, **parameters: Any) -> SVC:
        return SVC(C=self.data.C, gamma=self.data.gamma, n_jobs=1, **parameters).fit(self.data.X, self.data.y)


def greedy(values: np.ndarray, slope: np.ndarray, count: int) -> list[int]:
    """Orthogonal matching pursuit in the metric of these kernel values."""
    left, factor, chosen = np.diagonal(values).copy(), np.zeros((count, len(slope))), []
    for k in range(min(count, len(slope))):
        gains = np.where(left > 1e-7, slope**2 / np.maximum(left, 1e-7), 0.0)
        best = int(np.argmax(gains))
        factor[k] = (values[best] - factor[:k, best] @ factor[:k]) / np.sqrt(max(left[best], 1e-7))
        slope = slope - factor[k] * (slope[best] / np.sqrt(max(left[best], 1e-7)))
        left = left - factor[k] ** 2
        left[best] = 0.0
        chosen.append(best)
    return chosen


def compare_choices(rows: int, counts: tuple[int, ...], seeds: int) -> None:
    ways = ("random", "residual", "weighted residual", "slopes", "rough: random vectors", "rough: solver", "full model")
    print(f"| data | vectors | {' | '.join(ways)} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for data in (noisy(rows), named("a9a", rows), named("ijcnn1", rows)):
        optimum = float(SVC(C=data.C, gamma=data.gamma, tol=1e-4).fit(data.X, data.y).dual_value_[0])
        for count in counts:
            found = []
            for seed in range(seeds):
                c = Choices(data, seed)
                tried = (c.random, c.residual, c.weighted, c.slopes, c.budget_of(0), c.budget_of(rows))
                found.append([c.best(way(count))[1].primal_value / optimum - 1 for way in (*tried, c.of_model)])
            cells = " | ".join(f"{mean:.3g}" for mean in np.mean(found, axis=0))
            print(f"| {data.name} {rows} | {count} | {cells} |", flush=True)


# ---- models -----------------------------------------------------------------------------------------------------


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds: they do not depend on the load of the machine."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def compare_models(data: Data, counts: tuple[int, ...]) -> None:
    print(f"\n{data.name}, {data.X.shape[0]} rows, C = {data.C:g}: test accuracy in percent, certified gap, CPU s\n")
    print("| vectors | max_vectors | fit and reduce_support | Nystroem and LinearSVC |\n|---|---|---|---|", flush=True)
    full_seconds, full = timed(lambda: SVC(C=data.C, gamma=data.gamma, n_jobs=1).fit(data.X, data.y))
    for count in counts:
        own = timed(lambda n=count: SVC(C=data.C, gamma=data.gamma, n_jobs=1, max_vectors=n).fit(data.X, data.y))
        small = timed(lambda n=count: reduce_support(full, data.X, data.y, max_vectors=n))
        pipeline = make_pipeline(
            Nystroem(gamma=data.gamma, n_components=count, random_state=0),
            LinearSVC(loss="squared_hinge", C=data.C / 2, random_state=0),
        )
        linear_seconds, linear = timed(lambda made=pipeline: made.fit(data.X, data.y))
        accuracy = 100 * linear.score(data.X_test, data.y_test)
        cells = [cell(data, *own), cell(data, small[0] + full_seconds, small[1])]
        print(f"| {count} | {' | '.join(cells)} | {accuracy:.2f}, {linear_seconds:.2f} s |", flush=True)
    print(f"| {len(full.support_)} (all) | {cell(data, full_seconds, full)} | | |", flush=True)


def cell(data: Data, seconds: float, model: SVC) -> str:
    return f"{100 * model.score(data.X_test, data.y_test):.2f}, {model.relative_gap_:.2g}, {seconds:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["choices", "models"])
    parser.add_argument("--rows", type=int, default=4000, help="of the comparison of choices")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--counts", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--data", nargs="+", default=["a7a", "noisy", "letter"])
    arguments = parser.parse_args()
    if arguments.part == "choices":
        compare_choices(arguments.rows, tuple(arguments.counts), arguments.seeds)
        return
    for name in arguments.data:
        own = {"noisy": lambda: noisy(20_000), "a7a": lambda: named("a7a", parameters="a9a")}
        compare_models(own.get(name, lambda n=name: named(n))(), tuple(arguments.counts))


if __name__ == "__main__":
    main()
