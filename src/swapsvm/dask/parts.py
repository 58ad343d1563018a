"""Dask collections as lists of parts, each a future that Dask can compute again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed
from distributed import Client, get_client

from . import tasks


def is_collection(X: object) -> bool:
    """Whether this is a Dask Array, DataFrame or Series, or a list of delayed chunks."""
    listed = isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(part, Delayed) for part in X)
    return listed or is_dask_collection(X)


def client_of(client: Client | None) -> Client:
    """The client given, or the default one."""
    try:
        found = client if client is not None else get_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: create one with dask.distributed.Client(), or pass client=..."
        ) from None
    if found.asynchronous:
        raise ValueError("asynchronous Dask clients are not supported: use Client(asynchronous=False)")
    if found.status != "running":
        raise ValueError(f"the Dask client is {found.status}: create a new one and pass it as client=...")
    return found


def futures_of(client: Client, X: Any) -> list[Any]:
    """One future for each part of a collection. Columns of an Array are joined, its rows stay where they are."""
    if isinstance(X, Delayed):
        parts = [X]
    elif isinstance(X, list | tuple):
        parts = list(X)
    else:
        parts = list(np.ravel(in_rows(X).to_delayed()))
    return list(client.compute(parts))


def in_rows(X: Any) -> Any:
    """The same Array with all columns in each chunk."""
    if getattr(X, "ndim", 1) == 2 and hasattr(X, "numblocks") and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def names_of(X: Any) -> list[str] | None:
    """Of the columns, if all are strings."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def gathered(client: Client, values: Any, counts: Sequence[int], what: str) -> np.ndarray | None:
    """Labels, targets or weights of all rows, here; None stays None."""
    if values is None or not is_collection(values):
        return None if values is None else np.asarray(values)
    parts = client.gather([client.submit(tasks.column, part) for part in futures_of(client, values)])
    lengths = [len(part) for part in parts]
    if len(lengths) == len(counts) and lengths != list(counts):
        place = next(k for k, (own, rows) in enumerate(zip(lengths, counts, strict=True)) if own != rows)
        raise ValueError(f"part {place} of {what} has {lengths[place]} entries, and that of X has {counts[place]} rows")
    return np.concatenate(parts) if parts else np.zeros(0)
