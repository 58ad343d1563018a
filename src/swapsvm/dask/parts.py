"""Dask collections as lists of parts, each a future that Dask can compute again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed
from distributed import Client, KilledWorker, get_client

from ..datasets.labels import check_kinds
from . import tasks


class ClusterError(RuntimeError):
    """The cluster could not compute a piece of the work."""


def is_collection(X: object) -> bool:
    """Whether this is a Dask Array, DataFrame or Series, or a list of delayed chunks."""
    if not isinstance(X, list | tuple):
        return is_dask_collection(X)
    delayed = [isinstance(part, Delayed) for part in X]
    if any(delayed) and not all(delayed):
        place = delayed.index(False)
        raise ValueError(
            f"part {place} of the list is a {type(X[place]).__name__}, and others are delayed: use dask.delayed for all"
        )
    return any(delayed)


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


def results_of(futures: Sequence[Any], what: str) -> list[Any]:
    """Of one task for each part of a collection; an error names the part."""
    found = []
    for k, future in enumerate(futures):
        try:
            found.append(future.result())
        except KilledWorker:
            raise ClusterError(
                f"workers died while they computed part {k} of {what}: is their memory enough?"
            ) from None
        except Exception as error:
            error.add_note(f"part {k} of {what} could not be computed")
            raise
    return found


def in_rows(X: Any) -> Any:
    """The same Array with all columns in each chunk."""
    if getattr(X, "ndim", 1) == 2 and hasattr(X, "numblocks") and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def gathered(client: Client, values: Any, counts: Sequence[int], what: str) -> np.ndarray | None:
    """Labels, targets or weights of all rows, here; None stays None."""
    if values is None or not is_collection(values):
        return None if values is None else np.asarray(values)
    parts = results_of([client.submit(tasks.column, part) for part in futures_of(client, values)], what)
    check_kinds([(f"part {k} of {what}", part) for k, part in enumerate(parts) if len(part)])
    lengths = [len(part) for part in parts]
    if len(lengths) == len(counts) and lengths != list(counts):
        place = next(k for k, (own, rows) in enumerate(zip(lengths, counts, strict=True)) if own != rows)
        raise ValueError(f"part {place} of {what} has {lengths[place]} entries, and that of X has {counts[place]} rows")
    return np.concatenate(parts) if parts else np.zeros(0)
