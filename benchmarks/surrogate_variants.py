"""How many sweeps surrogate steps take: landmarks at random or by pivots, kappa, the plane, and how many landmarks.

    python -m benchmarks.surrogate_variants [--rows 5000] [--tol 0.01] [--output benchmarks/results/surrogate.md]

An independent version of the step in NumPy and double precision, with the whole kernel matrix in memory. Counts are
exact and do not depend on the machine.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

MOST = 30  # sweeps


@dataclass(frozen=True)
class Variant:
    """A way to take the steps."""

    name: str
    count: int = 512
    pivots: bool = False  # landmarks by randomly pivoted Cholesky, else uniformly random
    adapted: int = 0  # first steps whose lengths divide kappa
    kappa: float = 1.0  # r is multiplied by it
    remembered: int = 1  # last steps that span the search space together with the new one
    projected: bool = False  # negative weights are set to 0, instead of cutting the step


VARIANTS = (
    Variant("as in the package"),
    Variant("256 landmarks", count=256),
    Variant("1024 landmarks", count=1024),
    Variant("landmarks by pivots", pivots=True),
    Variant("kappa from the first two steps", adapted=2),
    Variant("kappa = 3", kappa=3.0),
    Variant("line search only", remembered=0),
    Variant("three last steps", remembered=3),
    Variant("projected instead of cut", projected=True),
)


def noisy(rows: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 22))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + noise * rng.standard_normal(rows)
    return X, np.where(f > 0, 1.0, -1.0)


def tabular(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, 10)) @ rng.standard_normal((10, 10))
    X /= X.std(axis=0)
    f = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + np.abs(X[:, 3]) - 1 + 0.6 * rng.standard_normal(rows)
    return X, np.where(f > 0, 1.0, -1.0)


def clusters(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Local structure: many small clusters, some of them mixed."""
    rng = np.random.default_rng(7)
    centers, labels = 3 * rng.standard_normal((rows // 20, 6)), rng.choice([-1.0, 1.0], rows // 20)
    chosen = rng.integers(len(centers), size=rows)
    flipped = rng.random(rows) < 0.1
    return centers[chosen] + 0.3 * rng.standard_normal((rows, 6)), np.where(flipped, -1, 1) * labels[chosen]


def sets(rows: int) -> dict[str, tuple[np.ndarray, np.ndarray, float, float]]:
    """X, y, gamma and C of each kind."""
    return {
        "noisy, C = 1": (*noisy(rows, 0.3), 1 / 44, 1.0),
        "noisy, C = 10": (*noisy(rows, 0.1), 1 / 44, 10.0),
        "tabular, C = 16": (*tabular(rows), 0.1, 16.0),
        "clusters, C = 10": (*clusters(rows), 0.5, 10.0),
    }


def kernel_matrix(X: np.ndarray, gamma: float) -> np.ndarray:
    squares = (X**2).sum(axis=1)
    return np.asarray(np.exp(-gamma * np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)) + 1.0)


def chosen_landmarks(K: np.ndarray, variant: Variant) -> np.ndarray:
    rng, count = np.random.default_rng(1), min(variant.count, len(K) // 4)
    if not variant.pivots:
        return rng.choice(len(K), count, replace=False)
    left, columns, found = np.diagonal(K).copy(), np.zeros((len(K), count)), []
    for k in range(count):
        found.append(rng.choice(len(K), p=left / left.sum()))
        column = K[:, found[-1]] - columns[:, :k] @ columns[found[-1], :k]
        columns[:, k] = column / np.sqrt(max(column[found[-1]], 1e-12))
        left = np.maximum(left - columns[:, k] ** 2, 0)
    return np.array(found)


def inner_solution(Z: np.ndarray, c: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """u of the surrogate, to double precision."""
    for _ in range(60):
        slack = np.maximum(q - Z @ u, 0)
        active = slack > 0
        gradient = u - Z.T @ (c * slack)
        H = (Z[active].T * c[active]) @ Z[active] + np.eye(len(u))
        step, value, length = -cho_solve(cho_factor(H), gradient), 0.5 * (u @ u + (c * slack) @ slack), 1.0
        if -(gradient @ step) < 1e-13 * value:
            break
        while length > 1e-6:
            tried = u + length * step
            rest = np.maximum(q - Z @ tried, 0)
            if 0.5 * (tried @ tried + (c * rest) @ rest) < value:
                break
            length /= 2
        u = u + length * step
    return u


def relative_gap(b: np.ndarray, product: np.ndarray, ridge: float) -> float:
    scale = b.sum() / (b @ (product + ridge * b))
    b, product = scale * b, scale * product
    slack = np.maximum(1 - product, 0)
    return float((0.5 * b @ product + 0.5 * slack @ slack / ridge) / (0.5 * b.sum()) - 1)


def best_change(
    steps: list[np.ndarray], K: np.ndarray, b: np.ndarray, slope: np.ndarray, ridge: float, projected: bool
) -> tuple[np.ndarray, float]:
    """The best combination of steps, cut or projected, and the gain."""
    D = np.array(steps)
    curved = D @ K + ridge * D
    lengths = np.linalg.lstsq(D @ curved.T, D @ slope, rcond=1e-12)[0]
    change = lengths @ D
    if projected:
        change = np.maximum(b + change, 0) - b
    else:
        falling = change < 0
        change = change * np.min(b[falling] / -change[falling], initial=1.0)
    return change, float(change @ slope - 0.5 * change @ (K @ change + ridge * change))


def sweeps(K: np.ndarray, ridge: float, variant: Variant, tol: float) -> int:
    """Products with K until the relative gap is ``tol``; K has the signs of the labels."""
    F = chosen_landmarks(np.abs(K), variant)
    L = np.linalg.cholesky(K[np.ix_(F, F)] + 1e-6 * np.eye(len(F)))
    Z = solve_triangular(L, K[F], lower=True).T
    r = np.maximum(np.diagonal(K) - (Z**2).sum(axis=1), 0)
    b, product, u, kappa, last = np.zeros(len(K)), np.zeros(len(K)), np.zeros(len(F)), variant.kappa, []
    for count in range(1, MOST + 1):
        c = 1 / (kappa * r + ridge)
        u = inner_solution(Z, c, q := 1 - (product - Z @ (Z.T @ b) - kappa * r * b), u)
        toward = c * np.maximum(q - Z @ u, 0) - b
        slope = 1 - product - ridge * b
        tried = [best_change([toward, *last[:k]], K, b, slope, ridge, variant.projected) for k in range(len(last) + 1)]
        if count <= variant.adapted:
            length = float(tried[0][0] @ toward / (toward @ toward))
            kappa = float(np.clip(kappa / max(length, 0.3), 0.5, 8.0))
        change = max(tried, key=lambda pair: pair[1])[0]
        b = np.maximum(b + change, 0)
        product = K @ b
        last = [change, *last][: variant.remembered]
        if relative_gap(b, product, ridge) <= tol:
            return count
    return MOST + 1


def table(rows: int, tol: float) -> str:
    found = sets(rows)
    lines = [f"| variant | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    signed = {name: (kernel_matrix(X, gamma) * np.outer(y, y), 1 / C) for name, (X, y, gamma, C) in found.items()}
    for variant in VARIANTS:
        counts = [sweeps(K, ridge, variant, tol) for K, ridge in signed.values()]
        lines.append(f"| {variant.name} | " + " | ".join(str(n) if n <= MOST else f"> {MOST}" for n in counts) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    base = replace(VARIANTS[0])
    text = (
        f"# Sweeps of surrogate steps\n\nMade by `python -m benchmarks.surrogate_variants --rows {options.rows} "
        f"--tol {options.tol}`: sweeps until P/D - 1 <= {options.tol}, with {base.count} landmarks unless the variant "
        f"says otherwise.\n\n{table(options.rows, options.tol)}\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
