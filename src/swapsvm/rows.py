"""Matrices as the core takes them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from . import _core
from .arrays import Matrix
from .columns import is_sparse

Rows: TypeAlias = _core.Rows32 | _core.Rows64

LAID_OUT: list[Literal["C", "A"]] = ["C", "A"]  # memory-mapped files may be unaligned


def as_rows(X: Matrix, *, finite: bool = False) -> Rows:
    """The compiled view of a float32 or float64 matrix, dense or CSR; copies only what has another layout.

    ``finite``: the entries were checked when they were read.
    """
    if is_sparse(X):
        X = X.tocsr()
        if X.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X has {X.shape[1]} columns: at most 2**31 - 1 are supported")
        if not X.has_canonical_format:  # never modify the user's matrix
            X = X.copy()
            X.sum_duplicates()
        indptr, indices = np.require(X.indptr, np.int64, LAID_OUT), np.require(X.indices, np.int32, LAID_OUT)
        rows = _core.Rows32 if X.dtype == np.float32 else _core.Rows64
        return rows(indptr, indices, _as_float(X.data, finite), X.shape[1])
    dense = _as_float(X, finite)
    return (_core.Rows32 if dense.dtype == np.float32 else _core.Rows64)(dense)


def _as_float(values: np.ndarray, finite: bool) -> np.ndarray:
    dtype = np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64
    floats = np.require(values, dtype, LAID_OUT)
    if finite:
        return floats
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(floats.sum(dtype=np.float64))  # no temporary array for data that are finite
    if suspicious and not np.isfinite(floats).all():
        raise ValueError("the data contain NaN or infinity: kernel values need finite numbers")
    return floats
