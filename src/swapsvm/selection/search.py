"""Choosing C, gamma and other settings of an estimator by cross-validation: what the searches share."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..arrays import ArrayLike, KernelFunction, Matrix, MatrixLike
from ..estimators import SVC, SVR
from ..estimators.base import forget_fit
from ..estimators.constraints import COUNT, TRUE_OR_FALSE, Constraints, key_of, one_of
from ..estimators.declaration import (
    check_declared,
    check_value,
    constraints_of,
    estimator,
    parameter,
    same_parameter,
)
from ..estimators.scikit import INSTEAD, ScikitEstimator
from ..fitting.callbacks import CallbackSupportMixin, SearchTasks, with_callbacks
from ..fitting.inputs import fitted_kernel, new_rows, sample_weights
from ..fitting.session import Session
from ..fitting.workers import thread_limit
from ..gram import automatic_cache_bytes
from ..kernels import Kernel
from .fits import Fits, Place
from .layout import Fold
from .limits import SearchTime
from .paths import Paths
from .progress import SearchProgress
from .scores import RULES, Fit, draw_scores, results_of
from .scoring import Scoring
from .shortfall import check_scored, warn_of_gaps, warn_of_missing
from .targets import Setting, Settings, Targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARED = ("kernel", "degree", "coef0", "tol", "cache_size", "random_state")  # with the model
FIRST_C, STEP_OF_C = 2.0**-3, 2.0  # of a grid that is given by its size
GRID = [COUNT, "array-like"]
STEP = 4.0  # of other grids that are given by their size

Model = TypeVar("Model", SVC, SVR)
Value = TypeVar("Value", float, Setting)


@estimator
class Search(CallbackSupportMixin, ScikitEstimator, ABC, Generic[Model]):
    """A search for the best settings of an estimator.

    A subclass names its estimator and reads its targets; the grid of C and gamma, folds, scores and the refit are here.
    """

    Cs: int | Sequence[float] | np.ndarray = parameter(
        default=10,
        kind="int or array",
        text="Values of C; an integer stands for that many powers of 2, starting at 1/8.",
        allowed=GRID,
        kw_only=False,
    )
    gammas: int | Sequence[float | str] | np.ndarray = parameter(
        default=5,
        kind="int or array",
        text="""
        Values of gamma, numbers or rules as in ``SVC``; an integer stands for that many powers of 4, centred at 1,
        times ``"scale"``. Rules are resolved once, on all rows. Kernels without gamma have a grid of C alone.
        """,
        allowed=GRID,
        kw_only=False,
    )
    cv: object = parameter(
        default=5,
        kind="int, splitter or iterable",
        text="As in scikit-learn; an integer stands for that many folds, which are stratified for classes.",
        allowed=["cv_object"],
        kw_only=False,
    )
    kernel: str | KernelFunction = same_parameter(SVC, "kernel", default="rbf")
    degree: int = same_parameter(SVC, "degree", default=3)
    coef0: float = same_parameter(SVC, "coef0", default=0.0)
    tol: float = same_parameter(SVC, "tol", default=1e-3)
    max_time: float | None = parameter(
        default=None,
        kind="float",
        text="""
        Largest number of seconds for the whole search, the fit on all rows included. If they are not enough, a part of
        the grid is scored, coarse steps of C first, and the best candidate that was scored on all folds is chosen. The
        others have the score NaN and ``stop_reason`` ``"max_time"``. Fits that ended early are scored as they are.
        """,
        allowed=constraints_of(SVC, "max_time"),
    )
    scoring: object = parameter(
        default=None,
        kind="str, callable or None",
        text="""
        A scorer of scikit-learn. Sample weights count in scores as well; in those of a callable only if it is a scorer
        that requests them, by ``set_score_request(sample_weight=True)``.
        """,
        allowed=[one_of(*get_scorer_names()), callable, None],
    )
    rule: str = parameter(
        default="best",
        kind='{"best", "one_standard_error"}',
        text="""
        ``"one_standard_error"`` takes the smallest C, and for it the widest kernel, whose mean score is within one
        standard error of the best; of several such candidates the first.
        """,
        allowed=[key_of(RULES)],
    )
    refit: bool = parameter(
        default=True,
        kind="bool",
        text="Whether to train on all rows with the chosen parameters.",
        allowed=[TRUE_OR_FALSE],
    )
    cache_size: float | None = parameter(
        default=None,
        kind="float",
        text="Megabytes for kernel values of each thread. By default as in ``SVC``, with each processor's share of it.",
        allowed=constraints_of(SVC, "cache_size"),
    )
    on_interrupt: str = parameter(
        default="raise",
        kind='{"raise", "keep"}',
        text="""
        What Ctrl-C does: raise ``KeyboardInterrupt``, or choose the best candidate that was scored on all folds so far
        and train on all rows; if there is none, it raises. The others have the score NaN and ``stop_reason``
        ``"interrupted"``. During the last fit it acts as in ``SVC``.
        """,
        allowed=constraints_of(SVC, "on_interrupt"),
    )
    verbose: int = parameter(
        default=0,
        kind="int",
        text="1 shows on stderr how many fits are done, and then the refit: by a bar or by lines, as in ``SVC``.",
        allowed=constraints_of(SVC, "verbose"),
    )
    n_jobs: int | None = same_parameter(SVC, "n_jobs", default=None)
    random_state: int | np.random.RandomState | None = same_parameter(SVC, "random_state", default=0)

    INSTEAD: ClassVar[Mapping[str, str]] = {
        **INSTEAD,
        "C": "use Cs, which lists the values to try",
        "gamma": "use gammas, which lists the values to try",
        "param_grid": "use Cs and gammas, which list the values to try",
    }

    _clock = staticmethod(time.perf_counter)  # of max_time
    GRIDS: ClassVar[dict[str, str]] = {"Cs": "C", "gammas": "gamma"}  # lists, or their length, of parameters

    @abstractmethod
    def _model(self, **parameters: Any) -> Model:  # of any parameters of the estimator
        """An unfitted estimator with these settings."""

    @abstractmethod
    def _data(self, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
        """Rows and targets, validated."""

    @abstractmethod
    def _targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        """What is learned from them; ``weights`` are those of the rows."""

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
        """Score every candidate on every fold, choose, and train on all rows.

        Parameters
        ----------
        X, y : as in the ``fit`` of the estimator
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
            limit = SearchTime(self.max_time, bool(self.refit), self._clock)
            self._fit(X, y, sample_weight, groups, tasks, limit)
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
        limit: SearchTime,
    ) -> None:
        self._check_parameters()
        X, y = self._data(X, y)
        weights = sample_weights(sample_weight, X)
        targets = self._targets(y, weights)
        self.scorer_ = check_scoring(self._model(), scoring=self.scoring)
        folds = self._folds(X, y, targets, weights, groups)
        self.n_splits_: int = len(folds)
        gammas, kernels = self._kernels(X, targets.weighted(weights))
        paths = self._paths(X, targets, folds, kernels, limit)
        scored = weights if sample_weight is not None and takes_weights(self.scoring) else None
        scoring = Scoring(paths, y, scored, self._model, self.scorer_, by_accuracy=self.scoring == "accuracy")
        fits = Fits(scoring, limit).make(tasks, bool(self.refit))
        self._set_results(fits, paths, gammas)
        if tasks:
            tasks.scored()
        if self.refit:
            limits = {"max_time": limit.left(), "on_interrupt": self.on_interrupt, "verbose": self.verbose}
            self._refit(self._model(**self.best_params_, n_jobs=self.n_jobs, **limits), X, y, sample_weight, tasks)

    def _refit(
        self, model: Model, X: Matrix, y: np.ndarray, sample_weight: ArrayLike | None, tasks: SearchTasks | None
    ) -> None:
        began = time.perf_counter()
        with tasks.refit(model) if tasks else nullcontext():
            model.fit(X, y, sample_weight)
        self.best_estimator_: Model = model
        model.set_params(max_time=None, on_interrupt="raise", verbose=0)  # which were those of the search
        self.refit_time_ = time.perf_counter() - began

    def _check_parameters(self) -> None:
        check_declared(self)
        for name, of_model in self.GRIDS.items():
            self._check_grid(name, constraints_of(type(self._model()), of_model))
        for C in self._grid():
            self._model(C=C, n_jobs=self.n_jobs).check_parameters()

    def _check_grid(self, name: str, allowed: Constraints) -> None:
        """Each value of a grid must be allowed as the parameter of the model."""
        values = getattr(self, name)
        if isinstance(values, Integral):
            return
        if np.ndim(values) != 1 or len(values) == 0:
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(self).__name__} must be a positive integer or a list of values. "
                f"Got {values!r} instead."
            )
        for place, value in enumerate(values):
            check_value(self, f"{name}[{place}]", value, allowed)

    def check_parameters(self) -> None:
        """``ValueError`` if a parameter is out of its range. ``fit`` does this first."""
        self._check_parameters()

    def set_fitted(self, **attributes: object) -> Self:
        """Give the search fitted attributes, such as ``best_estimator_``, that come from elsewhere than ``fit``."""
        for name, value in attributes.items():
            setattr(self, name, value)
        self.scorer_ = check_scoring(self._model(), scoring=self.scoring)
        return self

    def _shared(self, *further: str) -> dict[str, Any]:  # parameters of any kind
        """The settings that the model shares with the search."""
        return {name: getattr(self, name) for name in (*SHARED, *further)}

    def _grid(self) -> list[float]:
        return listed(self.Cs, lambda count: [FIRST_C * STEP_OF_C**k for k in range(count)])

    def _kernels(self, X: Matrix, weights: np.ndarray) -> tuple[list[Setting], list[Kernel]]:
        """The values of gamma and their kernels; of a kernel without gamma just itself."""
        plain = fitted_kernel(self._model(), X, weights)
        if isinstance(self.kernel, Kernel) or "gamma" not in plain.parameter_names():
            self.gammas_ = np.empty(0)
            return [], [plain]
        middle = plain.gamma  # type: ignore[attr-defined]  # it is among its parameters
        gammas = listed(self.gammas, lambda count: around(middle, count))
        kernels = [fitted_kernel(self._model(gamma=gamma), X, weights) for gamma in gammas]
        self.gammas_ = np.array([kernel.gamma for kernel in kernels])  # type: ignore[attr-defined]  # as above
        return gammas, kernels

    def _folds(
        self, X: Matrix, y: np.ndarray, targets: Targets, weights: np.ndarray, groups: ArrayLike | None
    ) -> list[Fold]:
        """The splits. A row that a split trains on twice has twice its weight; classes are balanced in each split."""
        folds: list[Fold] = []
        every = np.arange(X.shape[0])
        for train, test in check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups):
            times = np.bincount(every[train], minlength=len(every))
            own = targets.weighted(weights * times)
            lack = targets.lack([g for g, rows in enumerate(targets.rows) if own[rows].any()])
            if lack:
                raise ValueError(f"split {len(folds)} of cv {lack}. Use fewer folds, or other ones")
            held_out = every[test]
            folds.append(Fold(held_out[weights[held_out] > 0], own))
        return folds

    def _paths(self, X: Matrix, targets: Targets, folds: list[Fold], kernels: list[Kernel], limit: SearchTime) -> Paths:
        Cs = sorted({float(C) for C in self._grid()})
        settings = self._model(C=Cs[-1], n_jobs=self.n_jobs, on_interrupt=self.on_interrupt)
        types = [settings.value_type(kernel, X) for kernel in kernels]
        both = 16  # bytes: a value in the matrix of a job, and once more in the working set
        automatic = automatic_cache_bytes(X.shape[0], both, os.cpu_count() or 1) / 2**20
        return Paths(
            Session(settings, clock=self._clock),
            X,
            targets,
            folds=folds,
            kernels=kernels,
            Cs=Cs,
            order=limit.order(len(Cs)),
            dtype=np.result_type(*types),  # one for all: single precision only where every kernel stays in its range
            megabytes=automatic if self.cache_size is None else self.cache_size,
            threads=_core.usable_threads(thread_limit(self.n_jobs) or 0),
            seed=check_random_state(self.random_state).randint(2**31),
            progress=SearchProgress(self.verbose, self._clock),
        )

    def _set_results(self, fits: dict[Place, list[Fit]], paths: Paths, gammas: Sequence[Setting]) -> None:
        Cs, variants = self._grid(), paths.targets.variants
        by_kernel: list[Settings] = [{"gamma": gamma} for gamma in gammas] or [{}]
        candidates = [{"C": C, **variant, **kernel} for C, variant, kernel in product(Cs, variants, by_kernel)]
        indices = product([paths.Cs.index(float(C)) for C in Cs], range(len(variants)), range(len(by_kernel)))
        places = [(kernel, variant, C) for C, variant, kernel in indices]
        scored = [fits[place] for place in places]
        check_scored(scored, self.max_time)
        self.cv_results_ = results_of(candidates, scored)
        numbers = np.array([getattr(paths.kernels[kernel], "gamma", 0.0) for kernel, _, _ in places])
        self.best_index_ = RULES[self.rule](self.cv_results_, numbers)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        warn_of_missing(type(self).__name__, scored, self.max_time)
        warn_of_gaps(type(self).__name__, list(fits.values()))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The prediction for each row, by the refitted model."""
        return self._chosen("predict").predict(new_rows(self, X))

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score that ``scoring`` stands for, of the refitted model."""
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self._chosen("score"), new_rows(self, X), y, **options))

    def _chosen(self, what: str) -> Model:
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError(f"{what} needs the model of all rows: use refit=True")
        return self.best_estimator_

    def plot_scores(self, ax: Axes | None = None) -> Axes:
        """A map of the mean test scores over C and gamma, the chosen candidate marked.

        Other settings, such as the tube of a regression, are those of the chosen candidate.

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
        scores = self.cv_results_["mean_test_score"].reshape(len(Cs), -1, len(self.gammas_))
        row, variant, column = np.unravel_index(self.best_index_, scores.shape)
        across, up = np.argsort(Cs), np.argsort(self.gammas_)
        chosen = float(Cs[row]), float(self.gammas_[column])
        return draw_scores(ax, Cs[across], self.gammas_[up], scores[:, variant].T[np.ix_(up, across)], chosen)


def takes_weights(scoring: object) -> bool:
    """Whether weights count in scores: in those of functions only if these have requested them."""
    return not callable(scoring) or bool(get_routing_for_object(scoring).consumes("score", ["sample_weight"]))


def listed(values: int | Sequence[Value] | np.ndarray, make: Callable[[int], list[Value]]) -> list[Value]:
    """The values of a grid, which may be given by their number."""
    return make(int(values)) if isinstance(values, int | np.integer) else list(values)


def around(middle: float, count: int) -> list[Setting]:
    """This many values in equal ratios, of which ``middle`` is the middle one."""
    return [middle * STEP ** (k - count // 2) for k in range(count)]
