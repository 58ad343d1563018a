"""Training data that lie in files or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_y

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..datasets import Shards
from ..kernels import Function, Kernel, Precomputed
from ..passes import ShardedRows
from ..passes.files import FileRows, opened

Elsewhere = Shards | ShardedRows
Prediction = Callable[[Any, MatrixLike], np.ndarray]


class SolverSettings(Protocol):
    """The parameters of an estimator that rows elsewhere limit."""

    solver: str
    kernel: object


def is_elsewhere(X: object) -> TypeGuard[Elsewhere]:
    """Whether these are rows in files, or on a cluster."""
    return isinstance(X, Shards | ShardedRows)


def sharded_rows(estimator: BaseEstimator, X: Elsewhere) -> Matrix:
    """The rows of a fit, after a first look at all of them; in memory if they take little of it."""
    check_supported(estimator)
    rows = opened(X) if isinstance(X, Shards) else X
    if isinstance(rows, ShardedRows):
        rows.look  # noqa: B018 - a bad piece is found before any work is done
    estimator.n_features_in_ = rows.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return rows


def by_pieces(method: Prediction) -> Prediction:
    """A method that makes an array of some rows, for rows elsewhere as well: piece by piece, in their order."""

    @wraps(method)
    def over_all(estimator: BaseEstimator, X: MatrixLike) -> np.ndarray:
        if not is_elsewhere(X):
            return method(estimator, X)
        rows = FileRows(X) if isinstance(X, Shards) else X
        return rows.map(partial(method, estimator))

    return over_all


def targets_of(X: object, y: ArrayLike | None) -> ArrayLike | None:
    """Those given, or those that came with the rows."""
    return getattr(X, "y", None) if y is None and is_elsewhere(X) else y


def check_supported(settings: SolverSettings) -> None:
    """``ValueError`` if the parameters need all rows in memory."""
    if settings.solver != "block":
        raise ValueError(
            f"solver={settings.solver!r} needs all rows in memory: rows in shards are trained by solver='block'"
        )
    kernel = settings.kernel
    if not isinstance(kernel, str | Kernel) or kernel == "precomputed" or isinstance(kernel, Precomputed | Function):
        name = kernel if isinstance(kernel, str | Kernel) else "a function"
        raise ValueError(f"kernel={name!r} needs all rows in memory: rows in shards need a kernel of the package")


def checked_targets(estimator: BaseEstimator, X: Elsewhere, y: ArrayLike | None, y_numeric: bool = False) -> np.ndarray:
    """Labels or targets: those given, or those that came with the rows."""
    found = targets_of(X, y)
    if found is None:
        in_shards = (
            ", and the shards have no labels: pass y, or store them as NAME.labels.npy beside each shard NAME.npy or"
            " NAME.npz"
        )
        missing = in_shards if isinstance(X, Shards) else ": pass the labels or targets of the rows of X"
        raise ValueError(f"{type(estimator).__name__} requires y{missing}")
    targets = np.asarray(_check_y(np.asarray(found), y_numeric=y_numeric, estimator=estimator))
    if len(targets) != X.shape[0]:
        raise ValueError(f"y has {len(targets)} entries, and X has {X.shape[0]} rows")
    return targets
