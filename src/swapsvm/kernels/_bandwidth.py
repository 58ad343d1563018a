"""The rules that choose gamma from the data."""

from __future__ import annotations

import numpy as np

from ..arrays import CsrMatrix, Matrix
from ..columns import is_sparse, without_empty_columns
from ..parameters import check_number
from ._formulas import GAMMA_RULES, Kernel


def resolve_gamma(gamma: float | str, kernel: type[Kernel], X: Matrix, weights: np.ndarray | None = None) -> float:
    """The number behind a gamma rule; a row of weight w counts as w rows.

    ``"scale"`` is 1 / (n var(X)), ``"auto"`` 1 / n, ``"mean_sq_dist"`` 1 / (2 mean) (the RBF width of [SWAP14]; for the
    polynomial kernel 1 / mean) and ``"cvm"`` 2 / mean over a stride sample of at most 5000 rows, as the code published
    with Core Vector Machines does. ``mean`` is that of the squared distances among distinct rows.
    """
    if not isinstance(gamma, str):
        allowed = f"a positive finite number or one of {list(GAMMA_RULES)}"
        check_number("gamma", gamma, lambda number: 0 < number < float("inf"), allowed)
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        return _over(1.0, X.shape[1] * _variance_of_entries(X, weights))
    if gamma == "mean_sq_dist":
        return _over(kernel.gamma_over_mean, mean_squared_distance(X, weights))
    if gamma == "cvm":
        stride = -(-X.shape[0] // 5000)
        return _over(2.0, mean_squared_distance(X[::stride], None if weights is None else weights[::stride]))
    raise ValueError(f"gamma={gamma!r} is unknown: use a positive number or one of {list(GAMMA_RULES)}")


def mean_squared_distance(X: Matrix, weights: np.ndarray | None = None) -> float:
    """Mean of |x_i - x_j|^2 over pairs i != j: twice the trace of the (unbiased) covariance."""
    total = X.shape[0] if weights is None else weights.sum()
    if total <= 1:
        return 0.0
    _, variances = _column_moments(X, weights)
    return float(2.0 * variances.sum() * total / (total - 1))


def _variance_of_entries(X: Matrix, weights: np.ndarray | None) -> float:
    means, variances = _column_moments(X, weights)
    empty = X.shape[1] - len(means)
    mean = means.sum() / X.shape[1]
    return float((variances.sum() + ((means - mean) ** 2).sum() + empty * mean**2) / X.shape[1])


def _column_moments(X: Matrix, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column, in double, with weighted rows; empty columns may be missing."""
    shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    if hasattr(X, "column_moments"):  # rows that lie elsewhere
        return X.column_moments(shares)
    if is_sparse(X):
        return _sparse_moments(without_empty_columns(X.tocsr())[0], shares)
    shift = X[0].astype(np.float64)  # the difference of two large moments would cancel
    mean, mean_square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first in range(0, X.shape[0], 8192):
        part = X[first : first + 8192] - shift
        mean += shares[first : first + 8192] @ part
        mean_square += shares[first : first + 8192] @ (part * part)
    return mean + shift, np.maximum(mean_square - mean**2, 0.0)


def _sparse_moments(X: CsrMatrix, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances from differences to the mean: those of the entries, and of the zeros between them."""
    column, share, values = X.indices, np.repeat(shares, np.diff(X.indptr)), X.data.astype(np.float64)
    mean = np.bincount(column, share * values, minlength=X.shape[1])
    filled = np.bincount(column, minlength=X.shape[1]) == X.shape[0]
    zeros = np.where(filled, 0.0, np.maximum(1.0 - np.bincount(column, share, minlength=X.shape[1]), 0.0))
    squares = np.bincount(column, share * (values - mean[column]) ** 2, minlength=X.shape[1])
    return mean, squares + zeros * mean**2


def _over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 1.0
