"""Lazy predictions: block by block, a collection of the kind of the input. The model is one node of the graph."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed
from sklearn.base import BaseEstimator

from ..extras import needed_by
from .parts import in_rows


def lazily(model: BaseEstimator, method: str, X: Any) -> Any:
    """What a method of a fitted local estimator makes of a collection."""
    if isinstance(X, Delayed):
        return lazily(model, method, [X])[0]
    empty = _like(model, method, X)
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


def _like(model: BaseEstimator, method: str, X: Any) -> np.ndarray:
    """An empty array of the type and the columns of what the method returns of such rows, if they fit the model."""
    width = X.shape[1] if getattr(X, "ndim", 1) == 2 else model.n_features_in_
    row = np.zeros((1, width), model.model_.vectors.rows.dtype)
    if hasattr(X, "columns"):
        return np.asarray(getattr(model, method)(_named(row, X.columns, model)))[:0]
    own = getattr(model, "feature_names_in_", np.zeros(0))
    return np.asarray(getattr(model, method)(_named(row, own, model) if len(own) == width else row))[:0]


def _named(rows: np.ndarray, names: Any, model: BaseEstimator) -> Any:
    """With the names of their columns, which must be those that the model was trained with, if it has any."""
    if not hasattr(model, "feature_names_in_"):
        return rows
    with needed_by("a Dask DataFrame"):
        import pandas as pd

    return pd.DataFrame(rows, columns=list(names))


def applied(chunk: Any, model: BaseEstimator, method: str, empty: np.ndarray) -> np.ndarray:
    """The method on one chunk, which can be empty."""
    if chunk.shape[0] == 0:
        return empty
    if hasattr(chunk, "to_numpy"):
        return np.asarray(getattr(model, method)(_named(chunk.to_numpy(), chunk.columns, model)))
    return np.asarray(getattr(model, method)(sp.csr_array(chunk) if sp.issparse(chunk) else chunk))


def applied_to_frame(chunk: Any, model: BaseEstimator, method: str, empty: np.ndarray) -> Any:
    """The same with the index of the chunk."""
    return _as_frame(applied(chunk, model, method, empty), chunk.index)


def _as_frame(values: np.ndarray, index: Any) -> Any:
    with needed_by("a Dask DataFrame"):
        import pandas as pd

    return pd.Series(values, index=index) if values.ndim == 1 else pd.DataFrame(values, index=index)
