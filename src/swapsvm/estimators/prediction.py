"""From support vectors and coefficients in LIBSVM's layout to decision values."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..columns import without_empty_columns
from ..gram import as_rows
from ..kernels import Function, Precomputed, Rbf

BLOCK_VALUES = 1 << 22  # kernel values held at a time, where they are held at all


def expansion_values(model: Any, X: Any, single: bool = False) -> np.ndarray:
    """sum_i dual_coef_i k(x_i, x) + intercept_, one column for each row of ``dual_coef_``."""
    return kernel_sums(model, X, single) + model.intercept_


def kernel_sums(model: Any, X: Any, single: bool = False) -> np.ndarray:
    """The same without the intercept."""
    return _products(model, X, _compiled_sides(model, X), slice(None), model.dual_coef_.T, single)


def kernel_decisions(model: Any, X: Any, single: bool = False) -> np.ndarray:
    """Decision values of every pair of classes, shape (n_samples, n_pairs); ``single``: kernel values in float32."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return expansion_values(model, X, single)
    sides = _compiled_sides(model, X)
    decisions = np.tile(model.intercept_, (X.shape[0], 1))
    pairs = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    ends = np.cumsum(model.n_support_)
    for c, (begin, end) in enumerate(zip(ends - model.n_support_, ends, strict=True)):
        # rows of dual_coef_ for class c: its coefficients against each other class, in their order
        columns = [pairs[min(c, d), max(c, d)] for d in range(n_classes) if d != c]
        if begin < end:
            own = slice(begin, end)
            decisions[:, columns] += _products(model, X, sides, own, model.dual_coef_[:, own].T, single)
    return decisions


def certain_decisions(model: Any, X: Any) -> np.ndarray:
    """Decision values that lead to the same class as those of double precision, but faster.

    Kernel values are computed in single precision, with a bound on what rounding does to their sum. Where a sign, or
    the winner of a vote, could depend on it, the row is done again in double.
    """
    in_double = X.dtype == model.support_vectors_.dtype == np.float64
    if not in_double or not isinstance(model._fitted_kernel, Rbf):
        return kernel_decisions(model, X)
    decisions = kernel_decisions(model, X, single=True)
    bound = _rounding(model, X)[:, None]
    if len(model.classes_) == 2:
        doubtful = ~(np.abs(decisions) > bound)[:, 0]  # NaN is doubtful
    else:
        doubtful = ~_has_sure_winner(decisions, bound, len(model.classes_))
    if doubtful.any():
        decisions[doubtful] = kernel_decisions(model, X[np.flatnonzero(doubtful)])
    return decisions


def _rounding(model: Any, X: Any) -> np.ndarray:
    """A bound, for each row, on the rounding of any pair's decision value in single precision."""
    vectors, n_classes = model.support_vectors_, len(model.classes_)
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    sums = np.array([np.bincount(owner, row, minlength=n_classes) for row in np.abs(model.dual_coef_)])
    largest = sums.sum() if n_classes == 2 else 2 * sums.max()  # of a pair: two classes, one row of coefficients each
    coef = np.zeros(vectors.shape[0])  # all of it at the longest vector is the worst case
    squares = vectors.multiply(vectors).sum(axis=1) if sp.issparse(vectors) else (vectors**2).sum(axis=1)
    coef[int(np.argmax(squares))] = largest
    left, right = (as_rows(rows) for rows in without_empty_columns(X, vectors))
    return np.asarray(_core.cross_rounding(left, right, model._fitted_kernel.spec(), coef))


def linear_coefficients(model: Any) -> np.ndarray:
    """w of every pair of classes."""
    vectors = model.support_vectors_  # products with sparse ones are dense, but no larger than the result
    if len(model.classes_) == 2:
        return np.asarray(model.dual_coef_ @ vectors)
    n_classes = len(model.classes_)
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    return np.array(
        [
            model.dual_coef_[b - 1, owner == a] @ vectors[owner == a]
            + model.dual_coef_[a, owner == b] @ vectors[owner == b]
            for a, b in combinations(range(n_classes), 2)
        ]
    )


def one_versus_rest(decisions: np.ndarray, n_classes: int, present: list[int]) -> np.ndarray:
    """Votes plus summed decision values squeezed into (-1/3, 1/3), so that they only break ties.

    A class that had no row of positive weight takes part in no vote and gets -1.
    """
    votes, confidence = _votes(decisions, n_classes, present)
    result = votes + confidence / (3 * (np.abs(confidence) + 1))
    result[:, [c for c in range(n_classes) if c not in present]] = -1.0
    return result


def _votes(decisions: np.ndarray, n_classes: int, present: list[int]) -> tuple[np.ndarray, np.ndarray]:
    votes = np.zeros((n_classes, len(decisions)))
    confidence = np.zeros((n_classes, len(decisions)))
    for values, (a, b) in zip(np.ascontiguousarray(decisions.T), combinations(range(n_classes), 2), strict=True):
        if a not in present or b not in present:
            continue
        first_wins = values >= 0
        votes[a] += first_wins
        votes[b] += ~first_wins
        confidence[a] += values
        confidence[b] -= values
    return votes.T, confidence.T


def _has_sure_winner(decisions: np.ndarray, bound: np.ndarray, n_classes: int) -> np.ndarray:
    """Whether one class has more sure votes than any other has, or could have after rounding."""
    least = np.zeros((n_classes, len(decisions)))
    most = np.zeros((n_classes, len(decisions)))
    for values, (a, b) in zip(np.ascontiguousarray(decisions.T), combinations(range(n_classes), 2), strict=True):
        least[a] += values > bound[:, 0]
        most[a] += values >= -bound[:, 0]
        least[b] += values < -bound[:, 0]
        most[b] += values <= bound[:, 0]
    winner, rows = np.argmax(least, axis=0), np.arange(len(decisions))
    votes = least[winner, rows]
    most[winner, rows] = -1
    return votes > most.max(axis=0)


def _compiled_sides(model: Any, X: Any) -> tuple[Any, Any] | None:
    """X as the core takes it, and the support vectors over the same columns, if the core computes the kernel."""
    if isinstance(model._fitted_kernel, Precomputed | Function):
        return None
    vectors = model.support_vectors_
    X, vectors = without_empty_columns(X.astype(vectors.dtype, copy=False), vectors)
    return as_rows(X), vectors


def _products(
    model: Any, X: Any, sides: tuple[Any, Any] | None, own: slice, coefs: np.ndarray, single: bool
) -> np.ndarray:
    """Kernel values of X (compiled: ``sides``) against some support vectors, times coefficients (vectors, outputs)."""
    kernel = model._fitted_kernel
    if sides is not None:
        left, vectors = sides
        coefs, threads = np.ascontiguousarray(coefs), model._threads() or 0
        return np.asarray(_core.cross_products(left, as_rows(vectors[own]), kernel.spec(), coefs, single, threads))
    if isinstance(kernel, Precomputed):
        return X[:, model.support_[own]] @ coefs
    vectors = model.support_vectors_[own]
    step = max(BLOCK_VALUES // max(vectors.shape[0], 1), 1)
    parts = [X[first : first + step] for first in range(0, X.shape[0], step)]
    return np.concatenate([kernel.block(part, vectors, np.float64) @ coefs for part in parts])
