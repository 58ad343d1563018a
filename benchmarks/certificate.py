"""The duality gap of a fitted model, computed by NumPy from its public attributes, without code of the package.

For a pair of classes the dual is min a'Qa on the simplex, Q_ij = y_i y_j (k(x_i, x_j) + 1) + [i == j] / C, and the
coefficients of the model are y_i a_i / a'Qa. With h = Qa no point of the simplex is below a'Qa by more than
2 (a'Qa - min h), the gap.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

BLOCK = 2048


def relative_gap(model: Any, X: Any, y: np.ndarray) -> float:
    """The largest relative gap of the pairs: gap / a'Qa."""
    pairs = combinations(range(len(model.classes_)), 2)
    return max(_pair_gap(model, X, y, a, b) for a, b in pairs)


def _pair_gap(model: Any, X: Any, y: np.ndarray, a: int, b: int) -> float:
    support, weights = _pair_weights(model, a, b)
    rows = np.flatnonzero(np.isin(y, model.classes_[[a, b]]))
    sign = np.where(y == model.classes_[a], 1.0, -1.0)
    X = X.astype(np.float64)
    h = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        values = _rbf(X[part], X[support], model.gamma_) + 1.0
        h[first : first + BLOCK] = sign[part] * (values @ (sign[support] * weights))
    at = np.searchsorted(rows, support)
    h[at] += weights / model.C
    value = float(weights @ h[at])
    return 2.0 * (value - float(h.min())) / value


def _pair_weights(model: Any, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the pair's support vectors and their weights, from the coefficients in LIBSVM's layout."""
    owner = np.repeat(np.arange(len(model.classes_)), model.n_support_)
    coef = np.zeros(len(owner))
    coef[owner == a] = model.dual_coef_[b - 1, owner == a]
    coef[owner == b] = model.dual_coef_[a, owner == b]
    used = np.flatnonzero(coef)
    weights = np.abs(coef[used])
    return model.support_[used], weights / weights.sum()


def _rbf(left: Any, right: Any, gamma: float) -> np.ndarray:
    products = left @ right.T
    products = products.toarray() if hasattr(products, "toarray") else products
    distances = _squares(left)[:, None] + _squares(right)[None, :] - 2.0 * products
    return np.exp(-gamma * np.maximum(distances, 0.0))


def _squares(X: Any) -> np.ndarray:
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, np.float64).ravel()
