"""Choosing C and gamma of a support vector classifier by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..estimators import SVC
from ..estimators.declaration import constraints_of, estimator, parameter, same_parameter
from ..fitting.frames import encoded_labels
from ..fitting.inputs import ClassWeight, new_rows, training_data
from ..models import scheme_of
from .search import Search
from .targets import Classes, Targets


@estimator
class SVCCV(ClassifierMixin, Search[SVC]):
    """``SVC`` with C and gamma chosen by cross-validation.

    The scores are those of ``GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, cv=cv)`` within the tolerance of the
    solver, at a fraction of the cost: along C each fit starts from the previous solution and keeps its kernel values,
    and where kernel values are expensive the folds share them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    best_params_, best_score_, best_index_, best_estimator_, refit_time_, n_splits_, scorer_
        As in scikit-learn's GridSearchCV.
    cv_results_ : dict of arrays
        As in GridSearchCV, and for each candidate ``max_relative_gap``, the largest of its folds, and ``stop_reason``.
    gammas_ : array
        The resolved values of ``gammas``; empty for kernels without gamma.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1]).fit(X, y)
    >>> sorted(search.best_params_), bool(search.best_score_ > 0.97)
    (['C', 'gamma'], True)
    """

    scoring: object = same_parameter(Search, "scoring", default="accuracy")
    class_weight: ClassWeight = parameter(
        default=None,
        kind='dict or "balanced"',
        text="Factors of the sample weights of each class. Balanced ones are those of each training fold.",
        allowed=constraints_of(SVC, "class_weight"),
    )
    multiclass: str = same_parameter(SVC, "multiclass", default="ovo")
    decision_function_shape: str = same_parameter(SVC, "decision_function_shape", default="ovr")
    break_ties: bool = same_parameter(SVC, "break_ties", default=False)

    INSTEAD: ClassVar[Mapping[str, str]] = {**SVC.INSTEAD, **Search.INSTEAD}

    score = Search.score  # not that of the mixin

    def _model(self, **parameters: Any) -> SVC:  # of any parameters of SVC
        shared = self._shared("class_weight", "multiclass", "decision_function_shape", "break_ties")
        return SVC(**shared, **parameters)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.isinf(self._grid()).any():
            raise ValueError(f"Cs={self.Cs!r}: a hard margin (C=inf) can fail on any fold; use finite values")

    def _data(self, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
        return training_data(self, X, y)

    def _targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        self.classes_, labels = encoded_labels(y)
        rows = [np.flatnonzero(labels == c) for c in range(len(self.classes_))]
        scheme = scheme_of(self.multiclass, len(self.classes_))
        return Classes(rows, [{}], labels, self.classes_, self.class_weight, scheme)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """As ``SVC.decision_function``, by the refitted model."""
        return self._chosen("decision_function").decision_function(new_rows(self, X))
