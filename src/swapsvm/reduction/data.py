"""The data of a fit once more, and whether they are those of the fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..estimators import SVC, SVR
from ..fitting.inputs import merged, same_data
from ..fitting.workers import thread_limit
from ..gram import Gram

ROUNDING = 1e-6  # of a sum of coefficients, and below zero of a gap
SLACK = 1e-2  # of a recomputed relative gap: rounding is far less, other data are far more


def checked_data(model: SVC | SVR, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
    """Valid rows and labels or targets, as many as those of a fit that has a certificate."""
    X, y = same_data(model, X, y, **model.TARGETS)
    if model.stop_reason_ == "imported":
        raise ValueError(
            "the model has no certificate (it was imported), so nothing is known about its problem: fit it here"
        )
    if X.shape[0] != model.shape_fit_[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted on {model.shape_fit_[0]}: pass the same rows"
        )
    if model.relative_gap_ == np.inf:
        raise ValueError(
            "the certificate of the model proves nothing: its value is lost in the rounding of kernel values. Scale "
            "the data, or lower C"
        )
    return X, y


def check_vectors(model: SVC | SVR, X: Matrix, fit: bool = True) -> None:
    """``ValueError`` unless the support vectors are rows of X whose labels or targets ``fit``."""
    if not (fit and _same_vectors(model, X)):
        raise ValueError(
            "the model's support vectors are not the rows support_ of X with their y: pass what it was fitted on"
        )


def _same_vectors(model: SVC | SVR, X: Matrix) -> bool:
    if model.kernel == "precomputed":
        return True
    ours, theirs = X[model.support_], model.support_vectors_
    if sp.issparse(ours) or sp.issparse(theirs):
        return bool((sp.csr_array(ours) != sp.csr_array(theirs)).nnz == 0)
    return np.array_equal(ours, theirs)


def merged_as_fitted(model: SVC | SVR, X: Matrix, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights as the fit had them: equal rows merged, unless copies are among the support vectors."""
    together = merged(model, X, keys, weights)
    return together if together[model.support_].all() else weights


def exact_gram(model: SVC | SVR, X: Matrix, groups: Sequence[np.ndarray]) -> Gram:
    """Kernel values in double."""
    kernel, threads = model.model_.vectors.kernel, thread_limit(model.n_jobs)
    gram = Gram(kernel, X, groups=groups, dtype=np.float64, cache_size=0, n_threads=threads)
    check_semidefinite(gram.diagonal().min() >= 0)
    return gram


def check_semidefinite(holds: bool) -> None:
    """``ValueError`` unless so."""
    if not holds:
        raise ValueError(
            "the kernel is not positive semidefinite on these rows, so there is neither a certificate nor a best "
            "choice of vectors: use another gamma or coef0, or another kernel"
        )


def check_dual_point(holds: bool) -> None:
    """``ValueError`` unless the coefficients are those of a fit."""
    if not holds:
        raise ValueError(
            "the model's coefficients do not solve its dual problem, as after a reduction: reduce the model "
            "that it came from"
        )


def check_gap(found: float, certified: float, kind: str) -> None:
    """``ValueError`` if the gap on these data is not what the fit certified: then data, weights or C differ."""
    if not found <= (1 + SLACK) * certified + SLACK:
        raise ValueError(
            f"on these data the model has a relative gap of {found:.2g}{kind}, but it was certified at "
            f"{certified:.2g}: pass the X, y, sample_weight and C that it was fitted with"
        )
