"""The estimators over Dask collections."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from .. import estimators as local
from ..estimators.declaration import estimator, parameter
from ..fitting.elsewhere import check_supported
from .parts import client_of, futures_of, gathered, is_collection
from .predictions import lazily
from .rows import DaskRows

CLIENT = """
The client of the cluster. By default the one that was created last. It is used by ``fit`` and ``score``, stays
with the estimator when that is cloned, and is left out when it is pickled.
"""
ABOUT = """``swapsvm.{name}`` over Dask collections.

Parameters
----------
{{parameters}}

Attributes
----------
n_passes_, n_tasks_ : int
    Passes over the rows on the workers, and tasks that they took.
n_rounds_ : int
    Passes and requests for rows: how often the client waited for the workers.
bytes_sent_, bytes_received_ : int
    Sizes of the arrays that were sent to the workers and came back.

All others are those of ``swapsvm.{name}``.
"""
Class = TypeVar("Class")


def documented(cls: type[Class]) -> type[Class]:
    """The class with the docstring that all of these estimators share."""
    cls.__doc__ = ABOUT.format(name=cls.__name__)
    return cls


@estimator
class OnCluster(BaseEstimator):
    """What all these estimators share: rows stay on the workers, predictions are lazy."""

    client: Client | None = parameter(default=None, kind="distributed.Client", text=CLIENT, allowed=[Client, None])

    _local: ClassVar[type[BaseEstimator]]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on a Dask Array or DataFrame, or a list of delayed chunks of rows (NumPy, pandas or CSR).

        Parameters
        ----------
        X : collection of shape (n_samples, n_features)
            Chunks of rows of any number and any length, known or not.
        y : collection or array of shape (n_samples,)
            Labels or targets. They are brought to the client, as are the weights: some numbers for each row.
        sample_weight : collection or array of shape (n_samples,), optional
            A row of weight w counts exactly as w rows.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, sample_weight)
        check_supported(self)
        client = client_of(self.client)
        rows = DaskRows(client, futures_of(client, X))
        targets = gathered(client, y, rows.counts, "y")
        weights = gathered(client, sample_weight, rows.counts, "sample_weight")
        here = self.checkpoint is None and rows.fit_here()  # another cluster may have to pass over them
        super().fit(rows.brought() if here else rows, targets, weights)
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        self.n_passes_, self.n_tasks_, self.n_rounds_ = rows.passes, rows.tasks, rows.rounds
        self.bytes_sent_, self.bytes_received_ = rows.bytes_sent, rows.bytes_received
        return self

    @property
    def partial_fit(self) -> Any:
        """Not available: it would keep all rows at the client."""
        raise AttributeError("partial_fit needs rows in memory: append chunks to the collection, and fit again")

    def to_local(self) -> BaseEstimator:
        """A plain estimator of ``swapsvm`` with the same parameters and the same model."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        plain = self._local(**parameters)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and not name.startswith("_")}
        vars(plain).update(fitted)
        return plain

    def _lazily(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return lazily(self.to_local(), method, X)

    def __sklearn_clone__(self) -> Self:
        """The client is not copied."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        copied = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**copied, client=client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


class Predicts(OnCluster):
    """Estimators with ``predict``."""

    def predict(self, X: Any) -> Any:
        """As the local estimator's; of a collection lazily, block by block, as a collection of the same kind."""
        return self._lazily("predict", X) if is_collection(X) else super().predict(X)


class Decides(Predicts):
    """Estimators with ``decision_function``."""

    def decision_function(self, X: Any) -> Any:
        """As the local estimator's; of a collection lazily, block by block, as a collection of the same kind."""
        return self._lazily("decision_function", X) if is_collection(X) else super().decision_function(X)


class Detects(Decides):
    """Estimators with ``score_samples``."""

    def score_samples(self, X: Any) -> Any:
        """As the local estimator's; of a collection lazily, block by block, as a collection of the same kind."""
        return self._lazily("score_samples", X) if is_collection(X) else super().score_samples(X)


class Scores(Predicts):
    """Estimators with ``score``."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regression. Predictions are made on the workers."""
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        client = client_of(self.client)
        found = gathered(client, self.predict(X), (), "predictions")
        targets, weights = gathered(client, y, (), "y"), gathered(client, sample_weight, (), "sample_weight")
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(targets, found, sample_weight=weights))


@estimator
@documented
class SVC(Scores, Decides, local.SVC):
    _local = local.SVC


@estimator
@documented
class SVR(Scores, local.SVR):
    _local = local.SVR


@estimator
@documented
class OneClassSVM(Detects, local.OneClassSVM):
    _local = local.OneClassSVM


@estimator
@documented
class SVDD(Detects, local.SVDD):
    _local = local.SVDD
