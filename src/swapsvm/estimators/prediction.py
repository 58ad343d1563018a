"""From support vectors and coefficients in LIBSVM's layout to decision values."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..gram import as_rows
from ..kernels import Function, Precomputed

BLOCK_VALUES = 1 << 22  # kernel values held at a time


def kernel_decisions(model: Any, X: Any) -> np.ndarray:
    """Decision values of every pair of classes, shape (n_samples, n_pairs)."""
    if len(model.classes_) == 2:
        return _binary(model, X)[:, None]
    n_classes = len(model.classes_)
    ends = np.cumsum(model.n_support_)
    pairs = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    decisions = np.tile(model.intercept_, (X.shape[0], 1))
    for rows, K in _kernel_blocks(model, X):
        for c, (begin, end) in enumerate(zip(ends - model.n_support_, ends, strict=True)):
            # rows of dual_coef_ for class c: its coefficients against each other class, in their order
            others = [d for d in range(n_classes) if d != c]
            columns = [pairs[min(c, d), max(c, d)] for d in others]
            decisions[rows, columns] += K[:, begin:end] @ model.dual_coef_[:, begin:end].T
    return decisions


def linear_coefficients(model: Any) -> np.ndarray:
    """w of every pair of classes."""
    vectors = model.support_vectors_
    dense = vectors.toarray() if sp.issparse(vectors) else vectors
    if len(model.classes_) == 2:
        return model.dual_coef_ @ dense
    n_classes = len(model.classes_)
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    return np.array(
        [
            model.dual_coef_[b - 1, owner == a] @ dense[owner == a]
            + model.dual_coef_[a, owner == b] @ dense[owner == b]
            for a, b in combinations(range(n_classes), 2)
        ]
    )


def one_versus_rest(decisions: np.ndarray, n_classes: int, present: list[int]) -> np.ndarray:
    """Votes plus summed decision values squeezed into (-1/3, 1/3), so that they only break ties.

    A class that had no row of positive weight takes part in no vote and gets -1.
    """
    votes = np.zeros((len(decisions), n_classes))
    confidence = np.zeros((len(decisions), n_classes))
    for k, (a, b) in enumerate(combinations(range(n_classes), 2)):
        if a not in present or b not in present:
            continue
        first_wins = decisions[:, k] >= 0
        votes[:, a] += first_wins
        votes[:, b] += ~first_wins
        confidence[:, a] += decisions[:, k]
        confidence[:, b] -= decisions[:, k]
    result = votes + confidence / (3 * (np.abs(confidence) + 1))
    result[:, [c for c in range(n_classes) if c not in present]] = -1.0
    return result


def _threads(model: Any) -> int:
    return 0 if model.n_jobs is None or model.n_jobs < 0 else int(model.n_jobs)


def _as_model(model: Any, X: Any) -> Any:
    return X.astype(model.support_vectors_.dtype, copy=False)


def _binary(model: Any, X: Any) -> np.ndarray:
    kernel, coef = model._fitted_kernel, model.dual_coef_[0]
    if isinstance(kernel, Precomputed):
        return X[:, model.support_] @ coef + model.intercept_[0]
    if isinstance(kernel, Function):
        return np.concatenate([K @ coef for _, K in _kernel_blocks(model, X)]) + model.intercept_[0]
    left, right = as_rows(_as_model(model, X)), as_rows(model.support_vectors_)
    return np.asarray(_core.cross_product(left, right, kernel.spec(), coef, _threads(model))) + model.intercept_[0]


def _kernel_blocks(model: Any, X: Any) -> Any:
    """Kernel values of some rows of X at a time against all support vectors, with the rows as a slice."""
    kernel, vectors = model._fitted_kernel, model.support_vectors_
    step = max(BLOCK_VALUES // max(len(model.support_), 1), 1)
    right = None if isinstance(kernel, Precomputed | Function) else as_rows(vectors)
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        if isinstance(kernel, Precomputed):
            K = X[rows][:, model.support_]
        elif isinstance(kernel, Function):
            K = kernel.block(X[rows], vectors, np.float64)
        else:
            K = _core.cross_block(as_rows(_as_model(model, X[rows])), right, kernel.spec(), _threads(model))
        yield rows, np.asarray(K)
