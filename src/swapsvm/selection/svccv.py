"""Choosing C and gamma of a support vector classifier by cross-validation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import product
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..arrays import ArrayLike, KernelFunction, Matrix, MatrixLike
from ..estimators import SVC
from ..estimators.base import forget_fit
from ..estimators.declaration import estimator, parameter, same_parameter
from ..fitting.callbacks import CallbackSupportMixin, SearchTasks, with_callbacks
from ..fitting.inputs import (
    ClassWeight,
    class_weights,
    fitted_kernel,
    new_rows,
    sample_weights,
    training_data,
    value_type,
)
from ..fitting.session import Session
from ..fitting.workers import Cancelled, thread_limit
from ..gram import automatic_cache_bytes
from ..kernels import Kernel
from ..models import Pair, Pairwise
from ..result import warn_user
from ..stopping import ConvergenceWarning
from .paths import Fold, PathPoint, Paths
from .scores import RULES, Fit, draw_scores, results_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARED = ("kernel", "degree", "coef0", "tol", "max_time", "class_weight", "decision_function_shape", "cache_size")
FIRST_C, STEP_OF_C = 2.0**-3, 2.0  # of a grid that is given by its size
STEP_OF_GAMMA = 4.0

Place = tuple[int, int]  # of a candidate: its kernel, its C
Setting = TypeVar("Setting", float, float | str)


@estimator
class SVCCV(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
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

    Cs: int | Sequence[float] | np.ndarray = parameter(
        default=10,
        kind="int or array",
        text="Values of C; an integer stands for that many powers of 2, starting at 1/8.",
        kw_only=False,
    )
    gammas: int | Sequence[float | str] | np.ndarray = parameter(
        default=5,
        kind="int or array",
        text="""
        Values of gamma, numbers or rules as in ``SVC``; an integer stands for that many powers of 4, centred at 1,
        times ``"scale"``. Rules are resolved once, on all rows. Kernels without gamma have a grid of C alone.
        """,
        kw_only=False,
    )
    cv: object = parameter(
        default=5,
        kind="int, splitter or iterable",
        text="As in scikit-learn; an integer stands for that many stratified folds.",
        kw_only=False,
    )
    kernel: str | KernelFunction = same_parameter(SVC, "kernel", default="rbf")
    degree: int = same_parameter(SVC, "degree", default=3)
    coef0: float = same_parameter(SVC, "coef0", default=0.0)
    tol: float = same_parameter(SVC, "tol", default=1e-3)
    max_time: float | None = parameter(
        default=None,
        kind="float",
        text="Largest number of seconds for each fit. A fit stopped by it is scored, and the next C starts from it.",
    )
    scoring: object = parameter(
        default="accuracy",
        kind="str, callable or None",
        text="A scorer of scikit-learn. Sample weights count in scores as well, unless it is a callable.",
    )
    rule: str = parameter(
        default="best",
        kind='{"best", "one_standard_error"}',
        text="""
        ``"one_standard_error"`` takes the smallest C, and for it the widest kernel, whose mean score is within one
        standard error of the best.
        """,
    )
    refit: bool = parameter(default=True, kind="bool", text="Whether to train on all rows with the chosen parameters.")
    class_weight: ClassWeight = parameter(
        default=None,
        kind='dict or "balanced"',
        text="Factors of the sample weights of each class. Balanced ones are those of each training fold.",
    )
    decision_function_shape: str = same_parameter(SVC, "decision_function_shape", default="ovr")
    cache_size: float | None = parameter(
        default=None,
        kind="float",
        text="Megabytes for kernel values of each thread. By default as in ``SVC``, with each processor's share of it.",
    )
    n_jobs: int | None = same_parameter(SVC, "n_jobs", default=None)
    random_state: int | np.random.RandomState | None = same_parameter(SVC, "random_state", default=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._model().__sklearn_tags__().input_tags
        return tags

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every C and gamma on every fold, choose, and train on all rows.

        Parameters
        ----------
        X, y : as in ``SVC.fit``
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, in fits and in scores.
        groups : array of shape (n_samples,), optional
            For splitters that need them.

        Returns
        -------
        self
        """
        watched = hasattr(self, "_skl_callbacks")
        tasks = SearchTasks(self, self._init_callback_context, X, y, sample_weight) if watched else None
        try:
            self._fit(X, y, sample_weight, groups, tasks)
            if tasks:
                tasks.end()
            return self
        except BaseException:
            forget_fit(self)
            raise

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        tasks: SearchTasks | None,
    ) -> None:
        self._check_parameters()
        X, y = training_data(self, X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = sample_weights(sample_weight, X)
        self.scorer_ = check_scoring(self._model(), scoring=self.scoring)
        folds = self._folds(X, y, labels, weights, groups)
        self.n_splits_ = len(folds)
        gammas, kernels = self._kernels(X, labels, weights)
        paths = self._paths(X, labels, folds, kernels)
        scored = None if sample_weight is None or callable(self.scoring) else weights
        self._set_results(self._fits(paths, y, scored, tasks), paths, gammas)
        if tasks:
            tasks.scored()
        if self.refit:
            self._refit(X, y, sample_weight, tasks)

    def _refit(self, X: Matrix, y: np.ndarray, sample_weight: ArrayLike | None, tasks: SearchTasks | None) -> None:
        began = time.perf_counter()
        model = self._model(**self.best_params_, n_jobs=self.n_jobs)
        with tasks.refit(model) if tasks else nullcontext():
            self.best_estimator_ = model.fit(X, y, sample_weight)
        self.refit_time_ = time.perf_counter() - began

    def _check_parameters(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} must be one of {', '.join(map(repr, RULES))}")
        for name in ("Cs", "gammas"):
            values = getattr(self, name)
            count = np.ndim(values) == 0 and isinstance(values, int | np.integer) and values > 0
            if not count and (np.ndim(values) != 1 or len(values) == 0):
                raise ValueError(f"{name}={values!r} must be a positive integer or a list of values")
        for C in self._grid():
            if np.isinf(C):
                raise ValueError(f"Cs={self.Cs!r}: a hard margin (C=inf) can fail on any fold; use finite values")
            self._model(C=C, n_jobs=self.n_jobs).check_parameters()

    def _model(self, **parameters: Any) -> SVC:  # of any parameters of SVC
        """An unfitted classifier with these settings."""
        return SVC(**{name: getattr(self, name) for name in SHARED}, random_state=self.random_state, **parameters)

    def _grid(self) -> list[float]:
        return _listed(self.Cs, lambda count: [FIRST_C * STEP_OF_C**k for k in range(count)])

    def _kernels(self, X: Matrix, labels: np.ndarray, weights: np.ndarray) -> tuple[list[float | str], list[Kernel]]:
        """The values of gamma and their kernels; of a kernel without gamma just itself."""
        weights = self._weighted(labels, weights)
        plain = fitted_kernel(self._model(), X, weights)
        if "gamma" not in plain.parameter_names():
            self.gammas_ = np.empty(0)
            return [], [plain]
        middle = plain.gamma  # type: ignore[attr-defined]  # it is among its parameters
        gammas = _listed(self.gammas, lambda count: [middle * STEP_OF_GAMMA ** (k - count // 2) for k in range(count)])
        kernels = [fitted_kernel(self._model(gamma=gamma), X, weights) for gamma in gammas]
        self.gammas_ = np.array([kernel.gamma for kernel in kernels])  # type: ignore[attr-defined]  # as above
        return gammas, kernels

    def _weighted(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weights * class_weights(self.class_weight, labels, self.classes_, weights)[labels]

    def _folds(
        self, X: Matrix, y: np.ndarray, labels: np.ndarray, weights: np.ndarray, groups: ArrayLike | None
    ) -> list[Fold]:
        """The splits. A row that a split trains on twice has twice its weight; classes are balanced in each split."""
        folds: list[Fold] = []
        every = np.arange(X.shape[0])
        for train, test in check_cv(self.cv, y, classifier=True).split(X, y, groups):
            times = np.bincount(every[train], minlength=len(every))
            own = self._weighted(labels, weights * times)
            present = len(np.unique(labels[own > 0]))
            if present < 2:
                raise ValueError(
                    f"split {len(folds)} of cv trains on {present} class: at least two classes with positive weight "
                    "are needed in each. Use fewer folds, or stratified ones"
                )
            held_out = every[test]
            folds.append(Fold(held_out[weights[held_out] > 0], own))
        return folds

    def _paths(self, X: Matrix, labels: np.ndarray, folds: list[Fold], kernels: list[Kernel]) -> Paths:
        settings = self._model(n_jobs=self.n_jobs)
        types = [value_type(settings, kernel, X) for kernel in kernels]
        both = 16  # bytes: a value in the matrix of a pair, and once more in the working set
        automatic = automatic_cache_bytes(X.shape[0], both, os.cpu_count() or 1) / 2**20
        return Paths(
            Session(settings),
            X,
            rows=[np.flatnonzero(labels == c) for c in range(len(self.classes_))],
            folds=folds,
            kernels=kernels,
            Cs=sorted({float(C) for C in self._grid()}),
            max_time=self.max_time,
            dtype=np.result_type(*types),  # one for all: single precision only where every kernel stays in its range
            megabytes=automatic if self.cache_size is None else self.cache_size,
            threads=_core.usable_threads(thread_limit(self.n_jobs) or 0),
            seed=check_random_state(self.random_state).randint(2**31),
        )

    def _fits(
        self, paths: Paths, y: np.ndarray, weights: np.ndarray | None, watched: SearchTasks | None
    ) -> dict[Place, list[Fit]]:
        """For each kernel and C the fits of all folds."""
        found = paths.follow(watched, bool(self.refit))
        places = list(product(range(len(paths.kernels)), range(len(paths.Cs))))
        jobs = [(place, fold) for place in places for fold in range(len(paths.folds))]

        def score(job: tuple[Place, int], cancelled: Cancelled) -> Fit:
            (kernel, C), fold = job
            points = {pair: path[C] for pair, path in found[kernel, fold].items()}
            return self._score(paths, job, points, y, weights)

        fits = dict(zip(jobs, paths.session.each(jobs, paths.workers(len(jobs)), score), strict=True))
        return {place: [fits[place, fold] for fold in range(len(paths.folds))] for place in places}

    def _score(
        self,
        paths: Paths,
        job: tuple[Place, int],
        points: dict[Pair, PathPoint],
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> Fit:
        """The model that the points of all pairs make, scored on the rows held out."""
        (kernel, C), fold = job
        functions = {pair: point.function for pair, point in points.items()}
        pairwise = Pairwise.of(paths.X, paths.kernels[kernel], paths.groups(fold), functions)
        fitted = {"model_": pairwise, "classes_": self.classes_, "n_features_in_": paths.X.shape[1]}
        model = self._model(C=paths.Cs[C], n_jobs=1).set_fitted(**fitted)
        began, test = time.perf_counter(), paths.folds[fold].test
        options = {} if weights is None else {"sample_weight": weights[test]}
        score = float(self.scorer_(model, paths.X[test], y[test], **options))
        return Fit(
            score,
            fit_seconds=sum(point.seconds for point in points.values()),
            score_seconds=time.perf_counter() - began,
            relative_gap=max(point.relative_gap for point in points.values()),
            stop_reason=next((p.stop_reason for p in points.values() if p.stop_reason != "gap"), "gap"),
        )

    def _set_results(self, fits: dict[Place, list[Fit]], paths: Paths, gammas: Sequence[float | str]) -> None:
        Cs = self._grid()
        candidates = [{"C": C, "gamma": gamma} for C, gamma in product(Cs, gammas)] or [{"C": C} for C in Cs]
        places = [(k, paths.Cs.index(float(C))) for C, k in product(Cs, range(len(paths.kernels)))]
        self.cv_results_ = results_of(candidates, [fits[place] for place in places])
        numbers = np.array([getattr(paths.kernels[kernel], "gamma", 0.0) for kernel, _ in places])
        self.best_index_ = RULES[self.rule](self.cv_results_, numbers)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        short = [fit for place in set(places) for fit in fits[place] if fit.stop_reason != "gap"]
        if short:
            worst = max(short, key=lambda fit: fit.relative_gap)
            warn_user(
                f"SVCCV: {len(short)} of {sum(map(len, fits.values()))} fits did not reach the gap; the worst stopped "
                f"by {worst.stop_reason!r} at a relative gap of {worst.relative_gap:.2g}. They are scored as they are; "
                "see cv_results_['max_relative_gap'].",
                ConvergenceWarning,
            )

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class of each row, by the refitted model."""
        return self._chosen("predict").predict(new_rows(self, X))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """As ``SVC.decision_function``, by the refitted model."""
        return self._chosen("decision_function").decision_function(new_rows(self, X))

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score that ``scoring`` stands for, of the refitted model."""
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self._chosen("score"), new_rows(self, X), y, **options))

    def _chosen(self, what: str) -> SVC:
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError(f"{what} needs the model of all rows: use refit=True")
        return self.best_estimator_

    def plot_scores(self, ax: Axes | None = None) -> Axes:
        """A map of the mean test scores over C and gamma, the chosen candidate marked.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        if not len(self.gammas_):
            raise ValueError(f"kernel={self.kernel!r} has no gamma: there is no map over C and gamma to draw")
        Cs = np.array(self._grid(), dtype=np.float64)
        scores = self.cv_results_["mean_test_score"].reshape(len(Cs), len(self.gammas_)).T
        across, up = np.argsort(Cs), np.argsort(self.gammas_)
        chosen = Cs[self.best_index_ // len(self.gammas_)], self.gammas_[self.best_index_ % len(self.gammas_)]
        return draw_scores(ax, Cs[across], self.gammas_[up], scores[np.ix_(up, across)], chosen)


def _listed(values: int | Sequence[Setting] | np.ndarray, make: Callable[[int], list[Setting]]) -> list[Setting]:
    """The values of a grid, which may be given by their number."""
    return make(int(values)) if isinstance(values, int | np.integer) else list(values)
