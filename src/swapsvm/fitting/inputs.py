"""From what users pass to what is solved: rows, weights, kernel, and the precision of kernel values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays import ArrayLike, CsrMatrix, KernelFunction, Matrix, MatrixLike
from ..kernels import KERNELS, Function, Kernel, Laplacian, Precomputed, Rbf, Sum, make_kernel, resolve_gamma, resolved
from ..passes import is_sharded, sizes_of
from .duplicates import merged_weights
from .elsewhere import checked_targets, is_elsewhere, sharded_rows
from .frames import float_types, plain_targets, refuse_missing
from .growing import Batches

LARGEST_DOUBLE = 1024  # rows of data that the block engine takes in double from the start
LEAST_SINGLE_TOL = 1e-4  # below this relative gap it does so as well

ClassWeight = dict[object, float] | str | None


class KernelSettings(Protocol):
    """The parameters of an estimator that its kernel and its Gram depend on."""

    kernel: str | KernelFunction
    degree: int
    gamma: float | str
    coef0: float
    solver: str
    tol: float


def training_data(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, **options: bool
) -> tuple[Matrix, np.ndarray]:
    """X as the core takes it, and y."""
    if isinstance(X, Batches):
        assert X.y is not None
        return _training_rows(estimator, X.rows), X.y
    if is_elsewhere(X):
        return sharded_rows(estimator, X), checked_targets(estimator, X, y, options.get("y_numeric", False))
    try:
        rows, targets = _validated(estimator, X, plain_targets(y), **options)
    except TypeError:
        refuse_missing(y)
        raise
    return _training_rows(estimator, rows), targets


def numbers(y: ArrayLike) -> np.ndarray:
    """Validated targets in double, one for each row or a column for each output."""
    if sp.issparse(y):
        raise ValueError("y is a sparse matrix: pass its numbers as an array, y.toarray()")
    return np.asarray(y, np.float64)


def training_rows(estimator: BaseEstimator, X: MatrixLike) -> Matrix:
    """X as the core takes it, of an estimator without y."""
    if isinstance(X, Batches):
        return _training_rows(estimator, X.rows)
    if is_elsewhere(X):
        return sharded_rows(estimator, X)
    return _training_rows(estimator, _validated(estimator, X, "no_validation"))


def new_batch(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None, first: bool
) -> Batches:
    """A batch of rows, which must have the features of the first one, with their y unless that is None."""
    estimator.check_parameters()
    if is_elsewhere(X):
        raise ValueError("partial_fit takes rows in memory: add shards to the others, and fit again")
    if estimator.kernel == "precomputed":
        raise ValueError("kernel='precomputed' has no rows to append to: fit the larger matrix with warm_start=True")
    options = {"reset": first} if y is None else {"reset": first, **estimator.TARGETS}
    found = _validated(estimator, X, "no_validation" if y is None else plain_targets(y), **options)
    rows, targets = (found, None) if y is None else found
    return Batches(rows, targets, sample_weights(sample_weight, rows))


def new_rows(estimator: BaseEstimator, X: MatrixLike) -> Matrix:
    """X as the core takes it, to be predicted by a fitted estimator."""
    check_is_fitted(estimator)
    return _validated(estimator, X, "no_validation", reset=False)


def same_data(estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, **options: bool) -> tuple[Matrix, np.ndarray]:
    """X and y of a fitted estimator, once more; the options are those of its fit."""
    check_is_fitted(estimator)
    return _validated(estimator, X, y, reset=False, **options)


def _validated(estimator: BaseEstimator, X: MatrixLike, y: ArrayLike | None, **options: bool):  # type: ignore[no-untyped-def]  # X, or X and y
    if _is_plain(X) and (_are_plain_targets(y, X) or isinstance(y, str)) and _takes_features(estimator, X, **options):
        return X if isinstance(y, str) else (X, y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"y has no column (its shape is {shape}): pass a number, or several, for each row")
    return validate_data(estimator, X, y, accept_sparse="csr", dtype=float_types(X), order="C", **options)


def _is_plain(X: object) -> TypeGuard[np.ndarray]:
    """Whether X is an array that scikit-learn's checks would return as it is.

    They take a seventh of a fit of a hundred rows, and most of the prediction of one row.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    return X.size > 0 and X.flags.c_contiguous and _is_finite(X)


def _are_plain_targets(y: object, X: np.ndarray) -> bool:
    """The same for y; labels that are neither integers nor numbers are left to scikit-learn."""
    if type(y) is not np.ndarray or y.shape != X.shape[:1] or not y.flags.c_contiguous:
        return False
    return y.dtype.kind in "biu" or (y.dtype.kind == "f" and _is_finite(y))


def _is_finite(values: np.ndarray) -> bool:
    """False may also mean that the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _takes_features(estimator: BaseEstimator, X: np.ndarray, reset: bool = True, **others: bool) -> bool:
    """Whether rows without names of features can be taken without a word; if so, their number is noted."""
    if "feature_names_in_" in vars(estimator) or not (reset or X.shape[1] == getattr(estimator, "n_features_in_", 0)):
        return False
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return True


def _training_rows(estimator: BaseEstimator, X: Matrix) -> Matrix:
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel matrix is square (n_samples x n_samples); X has shape {X.shape}")
    return _with_own_structure(X) if sp.issparse(X) else X


def _with_own_structure(X: CsrMatrix) -> CsrMatrix:
    """CSR rows with the same values and copies of ``indices`` and ``indptr``.

    The core follows these without checking them again, and callbacks that write into X run during the fit.
    """
    if not X.has_canonical_format:  # SciPy subtracts such rows in arrays as long as they are wide
        X = X.copy()
        X.sum_duplicates()
        return X
    return type(X)((X.data, X.indices.copy(), X.indptr.copy()), shape=X.shape)


def sample_weights(sample_weight: ArrayLike | None, X: Matrix) -> np.ndarray:
    """One finite number, 0 or more, for each row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():  # older releases of scikit-learn let them pass
        raise ValueError("sample weights must contain at least one non-zero number")
    return weights


def class_weights(class_weight: ClassWeight, labels: np.ndarray, classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weight of each class; ``rows`` are the weights of the rows, which balanced ones count."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(labels, weights=rows, minlength=len(classes))
        found = np.divide(rows.sum(), len(classes) * counts, out=np.ones(len(classes)), where=counts > 0)
    else:
        found = compute_class_weight(class_weight, classes=classes, y=classes[labels])
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise ValueError(f"class_weight={class_weight!r} must give finite numbers, none negative")
    return np.asarray(found)


def merged(settings: KernelSettings, X: Matrix, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights with those of equal rows added up. The paper's solvers get the problem as it is given.

    Rows are equal only if their keys are, which can be several for each row.
    """
    kernel, here = settings.kernel, not is_sharded(X)
    by_formula = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel != "precomputed")
    mergeable = settings.solver == "block" and by_formula and here
    if not mergeable:
        return weights
    return merged_weights(X, keys if keys.ndim == 1 else np.unique(keys, axis=0, return_inverse=True)[1], weights)


def unless_ones(weights: np.ndarray) -> np.ndarray | None:
    """The weights, or None if all are 1."""
    return weights if (weights != 1).any() else None


def fitted_kernel(settings: KernelSettings, X: Matrix, weights: np.ndarray) -> Kernel:
    """The kernel with the gamma that a rule gives for these rows."""
    if isinstance(settings.kernel, Kernel):
        return _own_kernel(settings, settings.kernel, X, weights)
    gamma: float = 1.0
    if isinstance(settings.kernel, str) and settings.kernel in KERNELS:
        cls = KERNELS[settings.kernel]
        if "gamma" in cls.parameter_names():
            with _squares_in_range(settings.gamma):
                gamma = resolve_gamma(settings.gamma, cls, X, unless_ones(weights))
    kernel = make_kernel(settings.kernel, gamma=gamma, coef0=settings.coef0, degree=settings.degree)
    if isinstance(kernel, Function):
        kernel.check_symmetric(X)
    return kernel


def _own_kernel(settings: KernelSettings, kernel: Kernel, X: Matrix, weights: np.ndarray) -> Kernel:
    if isinstance(kernel, Precomputed | Function):
        raise ValueError(f"kernel={kernel!r}: write kernel='precomputed', or pass the function itself")
    with _squares_in_range(kernel):
        return resolved(kernel, X, unless_ones(weights), getattr(settings, "feature_names_in_", None))


@contextmanager
def _squares_in_range(gamma: object) -> Iterator[None]:
    """A readable error where a rule for gamma needs squares that are no doubles."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        raise ValueError(
            f"gamma={gamma!r} cannot be computed: values of X have squares out of the range of a double; scale X"
        ) from None


def value_type(settings: KernelSettings, kernel: Kernel, X: Matrix) -> np.dtype:
    """Single precision for kernel values where it resolves the gap. Certificates are in double in any case."""
    if settings.solver == "block" and settings.tol < LEAST_SINGLE_TOL and not isinstance(kernel, Precomputed):
        return np.dtype(np.float64)  # blocks that single precision cannot solve any further take long to find that out
    single = settings.solver == "block" and X.shape[0] > LARGEST_DOUBLE
    if not single or isinstance(kernel, Precomputed | Function) or not _fits_single(kernel, X):
        return np.dtype(X.dtype)
    return np.dtype(np.float32)


def _fits_single(kernel: Kernel, X: Matrix) -> bool:
    """Whether squares, products and kernel values stay well within the range of float32."""
    if isinstance(kernel, Sum):
        parts = [(part, X if is_sharded(X) else own, weight) for part, own, weight in kernel.parts(X)]
        return all(_fits_single(part, own) and 1e-2 <= weight <= 1e2 for part, own, weight in parts)
    largest = X.look.largest if is_sharded(X) else _largest(X)
    if largest == 0:
        return True
    gamma, coef0 = math.log10(getattr(kernel, "gamma", 1.0)), abs(getattr(kernel, "coef0", 0.0))
    square = math.log10(X.shape[1]) + 2 * math.log10(largest)
    power = max(getattr(kernel, "degree", 1), 1) * max(gamma + square, math.log10(1 + coef0))
    in_range = max(abs(gamma), abs(square)) < 30 and (power < 35 or isinstance(kernel, Rbf | Laplacian))
    return in_range and not _loses_digits(kernel, X)


def _largest(X: Matrix) -> float:
    entries = np.asarray(X.data if sp.issparse(X) else X)
    return max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))


def _loses_digits(kernel: Kernel, X: Matrix) -> bool:
    """Whether distances of sparse rows, which come from their norms, could have too few digits in single precision."""
    if not isinstance(kernel, Rbf | Laplacian) or not (X.is_sparse if is_sharded(X) else sp.issparse(X)):
        return False
    look = X.look if is_sharded(X) else sizes_of(X)
    largest = look.longest if isinstance(kernel, Rbf) else look.widest
    return bool(float(kernel.gamma) * 4 * largest * look.most_entries * np.finfo(np.float32).eps > 0.1)
