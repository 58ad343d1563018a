"""Sparse matrices of many columns, most of them empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def without_empty_columns(*matrices: Any, beyond: int = 1) -> tuple[Any, ...]:
    """The same matrices without the columns that all of them leave empty, if there are more columns than entries.

    Nothing is done for a number of columns up to ``beyond``.

    No kernel depends on columns that are zero everywhere, but the core spreads rows out: its memory follows the number
    of columns, which thus follows the number of entries.
    """
    if not all(sp.issparse(X) for X in matrices) or matrices[0].shape[1] <= max(sum(X.nnz for X in matrices), beyond):
        return matrices
    rows = [X.tocsr() for X in matrices]
    used, places = np.unique(np.concatenate([X.indices for X in rows]), return_inverse=True)
    ends = np.cumsum([len(X.indices) for X in rows])[:-1]
    shape = max(len(used), 1)
    return tuple(
        sp.csr_array((X.data, indices.astype(np.int32), X.indptr), shape=(X.shape[0], shape))
        for X, indices in zip(rows, np.split(places.ravel(), ends), strict=True)
    )
