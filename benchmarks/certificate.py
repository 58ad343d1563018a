"""The duality gap of a fitted model, computed by NumPy from its public attributes, without code of the package.

The coefficients y_i b_i of a pair of classes have the dual value D = sum b - b'Qb / 2, with b >= 0 and
Q_ij = y_i y_j (k(x_i, x_j) + 1) + [i == j] / C, and the function t sum_i y_i b_i (k(x_i, x) + 1) has the primal value
P(t) = t^2 |w|^2 / 2 + C / 2 sum_i max(0, 1 - t margin_i)^2. The optimum lies between D and the least P(t). Equal rows
of a class may be listed as one, with the b of all, which they share equally.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

BLOCK = 2048


def relative_gap(model: Any, X: Any, y: np.ndarray) -> float:
    """The largest relative gap P / D - 1 of the pairs."""
    pairs = combinations(range(len(model.classes_)), 2)
    return max(_pair_gap(model, X, y, a, b) for a, b in pairs)


def _pair_gap(model: Any, X: Any, y: np.ndarray, a: int, b: int) -> float:
    support, b_of = _pair_weights(model, a, b)
    rows = np.flatnonzero(np.isin(y, model.classes_[[a, b]]))
    sign = np.where(y == model.classes_[a], 1.0, -1.0)
    X = X.astype(np.float64)
    margins = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        values = _rbf(X[part], X[support], model.gamma_) + 1.0
        margins[first : first + BLOCK] = sign[part] * (values @ (sign[support] * b_of))
    norm = float(b_of @ margins[np.searchsorted(rows, support)])
    dual = float(b_of.sum()) - norm / 2 - _shared_squares(X, rows, sign, support, b_of) / (2 * model.C)
    found = minimize_scalar(
        lambda t: t**2 * norm / 2 + model.C / 2 * float((np.maximum(0.0, 1.0 - t * margins) ** 2).sum()),
        bounds=(0.0, 10.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.fun) / dual - 1.0


def _shared_squares(X: Any, rows: np.ndarray, sign: np.ndarray, support: np.ndarray, b_of: np.ndarray) -> float:
    """sum b_i^2, where rows share their b with equal ones if the model lists no two equal rows."""
    contents = [_content(X, row, sign) for row in support]
    if len(set(contents)) < len(contents):
        return float(b_of @ b_of)
    copies = Counter(_content(X, row, sign) for row in rows)
    return float((b_of**2 / [copies[content] for content in contents]).sum())


def _content(X: Any, row: int, sign: np.ndarray) -> bytes:
    values = X[row].tobytes() if isinstance(X, np.ndarray) else _sparse_content(X, row)
    return values + (b"+" if sign[row] > 0 else b"-")


def _sparse_content(X: Any, row: int) -> bytes:
    part = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[part].astype(np.int64).tobytes() + b"|" + X.data[part].tobytes()


def _pair_weights(model: Any, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the pair's support vectors and b there, from the coefficients in LIBSVM's layout."""
    owner = np.repeat(np.arange(len(model.classes_)), model.n_support_)
    coef = np.zeros(len(owner))
    coef[owner == a] = model.dual_coef_[b - 1, owner == a]
    coef[owner == b] = model.dual_coef_[a, owner == b]
    used = np.flatnonzero(coef)
    return model.support_[used], np.abs(coef[used])


def _rbf(left: Any, right: Any, gamma: float) -> np.ndarray:
    products = left @ right.T
    products = products.toarray() if hasattr(products, "toarray") else products
    distances = _squares(left)[:, None] + _squares(right)[None, :] - 2.0 * products
    return np.exp(-gamma * np.maximum(distances, 0.0))


def _squares(X: Any) -> np.ndarray:
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, np.float64).ravel()
