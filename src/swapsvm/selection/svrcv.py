"""Choosing C, gamma and the tube of a support vector regression by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..estimators import SVR
from ..estimators.declaration import estimator, parameter, same_parameter
from ..fitting.inputs import training_data
from .search import GRID, Search, around, listed
from .targets import Numbers, Setting, Targets

PART_OF_SPREAD = 0.1  # the middle of a grid of tubes, relative to the standard deviation of y


@estimator
class SVRCV(RegressorMixin, Search[SVR]):
    """``SVR`` with C, gamma and epsilon chosen by cross-validation.

    The scores are those of ``GridSearchCV(SVR(), {"C": Cs, "epsilon": epsilons, "gamma": gammas}, cv=cv)`` within the
    tolerance of the solver, at a fraction of the cost: along C each fit starts from the previous solution, and where
    kernel values are expensive the folds and the tubes share them.

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
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from swapsvm import SVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = SVRCV(Cs=[0.25, 1], gammas=[0.005, 0.02], epsilons=[0.1, "auto"]).fit(scale(X), scale(y))
    >>> sorted(search.best_params_), bool(search.best_score_ > 0.45)
    (['C', 'epsilon', 'gamma'], True)
    """

    GRIDS: ClassVar[dict[str, str]] = {**Search.GRIDS, "epsilons": "epsilon"}
    INSTEAD: ClassVar[Mapping[str, str]] = {
        **SVR.INSTEAD,
        **Search.INSTEAD,
        "epsilon": "use epsilons, which lists the values to try",
    }

    epsilons: int | Sequence[Setting] | np.ndarray = parameter(
        default=3,
        kind="int or array",
        text="""
        Values of epsilon, numbers or ``"auto"`` as in ``SVR``; an integer stands for that many powers of 4, centred at
        1, times a tenth of the standard deviation of y.
        """,
        allowed=GRID,
    )
    expectile: float = same_parameter(SVR, "expectile", default=0.5)
    scoring: object = same_parameter(Search, "scoring", default="r2")

    score = Search.score  # not that of the mixin

    def _model(self, **parameters: Any) -> SVR:  # of any parameters of SVR
        return SVR(**self._shared("expectile"), **parameters)

    def _data(self, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
        X, y = training_data(self, X, y, y_numeric=True)
        return X, y.astype(np.float64)

    def _targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        epsilons = listed(self.epsilons, lambda count: around(PART_OF_SPREAD * _spread(y, weights), count))
        return Numbers([np.arange(len(y))], [{"epsilon": epsilon} for epsilon in epsilons], y, self.expectile)


def _spread(y: np.ndarray, weights: np.ndarray) -> float:
    """The standard deviation of y."""
    part = weights / (weights.sum() or 1.0)
    return float(np.sqrt(part @ (y - part @ y) ** 2))
