"""Sparse matrices of many columns, most of them empty."""

from __future__ import annotations

from typing import TypeGuard, TypeVar

import numpy as np
import scipy.sparse as sp

from .arrays import CsrMatrix, Matrix

SomeMatrix = TypeVar("SomeMatrix", bound=Matrix)


def is_sparse(X: object) -> TypeGuard[CsrMatrix]:
    """Whether this is a sparse matrix of SciPy."""
    return bool(sp.issparse(X))


def without_empty_columns(*matrices: SomeMatrix, beyond: int = 1) -> tuple[SomeMatrix, ...]:
    """The same matrices without the columns that are empty in all of them, if there are more columns than entries.

    Matrices of at most ``beyond`` columns are returned as they are. No kernel depends on columns that are zero
    everywhere, but the core expands rows: its memory grows with the number of columns, which this bounds.
    """
    rows = [X.tocsr() for X in matrices if is_sparse(X)]
    if len(rows) < len(matrices) or rows[0].shape[1] <= max(sum(X.nnz for X in rows), beyond):
        return matrices
    used, places = np.unique(np.concatenate([X.indices for X in rows]), return_inverse=True)
    ends = np.cumsum([len(X.indices) for X in rows])[:-1]
    shape = max(len(used), 1)
    return tuple(
        sp.csr_array((X.data, indices.astype(np.int32), X.indptr), shape=(X.shape[0], shape))
        for X, indices in zip(rows, np.split(places.ravel(), ends), strict=True)
    )


def stacked(matrices: list[Matrix]) -> Matrix:
    """Rows below each other."""
    if any(map(is_sparse, matrices)):
        return sp.csr_array(sp.vstack(matrices, format="csr"))
    return np.concatenate(matrices)
