"""Columns of pandas and polars, where scikit-learn's conversions lose a type or do not tell what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import ArrayLike


def float_types(X: Any) -> list[type[np.floating]]:
    """The types in which rows are kept, the one for all others first."""
    if not hasattr(X, "columns"):
        return [np.float64, np.float32]
    single = {str(dtype) for dtype in X.dtypes} == {"Float32"}  # of polars, or nullable: unknown to NumPy
    return [np.float32] if single else [np.float64, np.float32]


def plain_targets(y: Any) -> Any:  # of any library of arrays
    """Integers and booleans of pandas' nullable types as those of NumPy, not as floats."""
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if plain is None or plain.kind not in "iub" or y.isna().any():
        return y
    return y.to_numpy(plain)


def encoded_labels(y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The classes, those known or else all labels, and for each label the place of its class.

    Integers of few classes are labels beyond doubt: scikit-learn's check of them would take a tenth of a small fit.
    """
    with missing_labels_named(y):
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        if known is not None:
            return known, np.searchsorted(known, y)
        classes, labels = _by_counting(y) if y.dtype.kind in "iu" else np.unique(y, return_inverse=True)
        if 2 * len(classes) > len(y):
            check_classification_targets(y)
        return classes, labels


def _by_counting(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As ``np.unique``, which sorts: integers of a small range are counted."""
    low, high = int(y.min()), int(y.max())
    if high - low > len(y) or max(abs(low), abs(high)) > 1 << 62:
        return np.unique(y, return_inverse=True)
    offsets = np.subtract(y, low, dtype=np.int64)
    present = np.bincount(offsets) > 0
    (classes,) = present.nonzero()
    return (classes + low).astype(y.dtype), (np.cumsum(present) - 1)[offsets]


@contextmanager
def missing_labels_named(y: ArrayLike) -> Iterator[None]:
    """Around checks of labels: an error about missing ones says where they are."""
    try:
        yield
    except (TypeError, ValueError):
        refuse_missing(y)
        raise


def refuse_missing(y: ArrayLike | None) -> None:
    """``ValueError`` if a label is missing."""
    place = first_missing(y)
    if place is not None:
        raise ValueError(f"y has missing labels, the first at row {place}: leave such rows out") from None


def first_missing(y: ArrayLike | None) -> int | None:
    """The place of the first label that is None, NaN or pandas.NA."""
    for place, label in enumerate(np.asarray(y, dtype=object).ravel()):
        if label is None or is_scalar_nan(label) or is_pandas_na(label):
            return place
    return None
