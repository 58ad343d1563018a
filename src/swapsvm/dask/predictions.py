"""Lazy predictions: block by block, a collection of the kind of the input. The model is one node of the graph."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..extras import needed_by
from .parts import in_rows


def lazily(model: BaseEstimator, method: str, X: Any) -> Any:
    """What a method of a fitted local estimator makes of a collection."""
    empty = _like(model, method)
    sent = dask.delayed(model)
    if isinstance(X, list | tuple):
        return [dask.delayed(applied)(chunk, sent, method, empty) for chunk in X]
    if hasattr(X, "map_partitions") and hasattr(X, "divisions"):
        meta = _as_frame(empty, X._meta.index[:0])
        return X.map_partitions(applied_to_frame, model=sent, method=method, empty=empty, meta=meta)
    rows = in_rows(X)
    if empty.ndim == 1:
        return rows.map_blocks(applied, model=sent, method=method, empty=empty, drop_axis=1, meta=empty)
    chunks = (rows.chunks[0], (empty.shape[1],))
    return rows.map_blocks(applied, model=sent, method=method, empty=empty, chunks=chunks, meta=empty)


def _like(model: BaseEstimator, method: str) -> np.ndarray:
    """An empty array of the type and the columns of what the method returns."""
    row = np.zeros((1, model.n_features_in_), model.model_.vectors.rows.dtype)
    return np.asarray(getattr(model, method)(row))[:0]


def applied(chunk: Any, model: BaseEstimator, method: str, empty: np.ndarray) -> np.ndarray:
    """The method on one chunk, which can be empty."""
    if chunk.shape[0] == 0:
        return empty
    rows = chunk.to_numpy() if hasattr(chunk, "to_numpy") else chunk
    return np.asarray(getattr(model, method)(sp.csr_array(rows) if sp.issparse(rows) else rows))


def applied_to_frame(chunk: Any, model: BaseEstimator, method: str, empty: np.ndarray) -> Any:
    """The same with the index of the chunk."""
    return _as_frame(applied(chunk, model, method, empty), chunk.index)


def _as_frame(values: np.ndarray, index: Any) -> Any:
    with needed_by("a Dask DataFrame"):
        import pandas as pd

    return pd.Series(values, index=index) if values.ndim == 1 else pd.DataFrame(values, index=index)
