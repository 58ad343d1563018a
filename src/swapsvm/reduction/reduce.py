"""Smaller models: fewer support vectors, with coefficients that are optimized over all training rows and certified."""

from __future__ import annotations

import copy
import logging
import time
from itertools import combinations
from typing import cast

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..estimators import SVC
from ..fitting.inputs import merged, same_data, sample_weights
from ..fitting.pursuit import Order, Pursuit, products
from ..fitting.workers import thread_limit
from ..gram import Gram
from ..models import Pair, Pairwise, sides
from ..parameters import check_integer, check_number
from ..result import warn_user
from ..stopping import ConvergenceWarning
from .primal import Minimum, PairLoss, minimize

logger = logging.getLogger(__name__)

ROUNDING = 1e-6  # of a sum of coefficients, and below zero of a gap
SLACK = 1e-2  # of a recomputed relative gap: rounding is far less, other data are far more
FIRST = 16  # vectors that a search for an accuracy tries first
RESOLUTION = 20  # it ends when two numbers of vectors differ by less than this part
FITTED = (
    "classes_",
    "class_weight_",
    "shape_fit_",
    "n_features_in_",
    "feature_names_in_",
)  # what a reduced model keeps

Validation = tuple[MatrixLike, ArrayLike]


def reduce_support(
    model: SVC,
    X: MatrixLike,
    y: ArrayLike,
    *,
    max_vectors: int | None = None,
    max_accuracy_loss: float | None = None,
    validation: Validation | None = None,
    sample_weight: ArrayLike | None = None,
) -> SVC:
    """A model of fewer support vectors that is as close to the given one as these allow.

    The vectors are chosen one after the other, each to explain as much as possible of what is left of the decision
    functions. Their coefficients are then optimized again: they minimize the objective of the L2-SVM over *all*
    training rows. The certificate of the new model is for the whole problem as well: its objective, computed from
    scratch, against the lower bound that the given model proves.

    Parameters
    ----------
    model : SVC
        After ``fit`` with ``multiclass="ovo"``; it is not changed.
    X, y, sample_weight
        What the model was fitted on.
    max_vectors : int, optional
        Largest number of support vectors of the new model, counted once for all pairs of classes.
    max_accuracy_loss : float, optional
        Instead: as few vectors as keep the accuracy on ``validation`` within this of the given model's, found by
        doubling and bisection to five percent of their number. For other rows this is an estimate.
    validation : (X, y), optional
        Rows and labels for ``max_accuracy_loss``, preferably not among those that the model was fitted on.

    Returns
    -------
    SVC
        Fitted, with the parameters of the given model. ``relative_gap_`` is P / D - 1 of the worst pair of classes,
        where P is the objective of the new decision function and D the lower bound: no solution with any vectors has
        an objective below ``P / (1 + relative_gap_)``. ``dual_gap_`` is the same in units of the simplex problem.
        ``stop_reason_`` is ``"gap"`` if the gap is within ``tol`` all the same, else ``"reduced"``, or ``"max_time"``:
        the model's own limit holds for its reduction. ``n_iter_`` counts Newton steps. There is no ``trace_``.

    Notes
    -----
    Coefficients may have either sign, so a reduced model is not a point of the simplex and cannot be reduced again:
    reduce the model that it came from. Time grows with rows times the square of the number of vectors, memory with
    rows times vectors (8 bytes each).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from swapsvm import SVC, reduce_support
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SVC(C=16).fit(X[:1000], y[:1000])
    >>> small = reduce_support(model, X[:1000], y[:1000], max_vectors=200)
    >>> len(model.support_) > 400, len(small.support_)
    (True, 200)
    >>> bool(model.score(X[1000:], y[1000:]) - small.score(X[1000:], y[1000:]) < 0.01)
    True
    """
    _check_request(model, max_vectors, max_accuracy_loss, validation)
    reduction = Reduction(model, X, y, sample_weight)
    if max_accuracy_loss is not None and validation is not None:
        small = _smallest(reduction, max_accuracy_loss, validation)
    else:
        small = reduction.to(int(max_vectors or 0))
    if len(small.support_) < len(model.support_) and small.stop_reason_ not in ("gap", "reduced"):
        warn_user(
            f"{small.stop_reason_!r} stopped the reduction before its coefficients were the best of their vectors, at "
            f"a relative gap of {small.relative_gap_:.2g}. The gap is certified; for a smaller one raise max_time",
            ConvergenceWarning,
        )
    return small


def _check_request(
    model: SVC, max_vectors: int | None, max_accuracy_loss: float | None, validation: Validation | None
) -> None:
    if not isinstance(model, SVC):
        raise ValueError(
            f"only an SVC can be reduced, not {type(model).__name__}; of a search, pass its best_estimator_"
        )
    if not hasattr(model, "model_"):
        raise NotFittedError("this SVC is not fitted: call fit before reduce_support")
    if not isinstance(model.model_, Pairwise):
        raise ValueError(
            f"reduce_support takes pairs of classes, not multiclass={model.multiclass!r}: fit with multiclass='ovo', "
            "or with max_vectors"
        )
    if np.isinf(model.C):
        raise ValueError("a hard margin (C=inf) is lost with any vector: fit with a finite C to reduce a model")
    if (max_vectors is None) == (max_accuracy_loss is None):
        raise ValueError(
            f"pass one of max_vectors={max_vectors!r} and max_accuracy_loss={max_accuracy_loss!r}, and not both"
        )
    if max_vectors is not None:
        check_integer("max_vectors", max_vectors, lambda count: count >= 1, "a positive integer")
    if max_accuracy_loss is not None:
        allowed = "in [0, 1): 0.005 is half a percent"
        check_number("max_accuracy_loss", max_accuracy_loss, lambda part: 0 <= part < 1, allowed)
    if (max_accuracy_loss is None) != (validation is None):
        raise ValueError("max_accuracy_loss and validation=(X, y), the rows to measure it on, belong together")


def _smallest(reduction: Reduction, loss: float, validation: Validation) -> SVC:
    """Twice as many vectors until the accuracy is good enough, then bisection."""
    model, (X, y) = reduction.model, validation
    least = model.score(X, y) - loss
    few, many, found = 0, FIRST, reduction.to(FIRST)
    while found.score(X, y) < least:
        few, many = many, 2 * many
        found = reduction.to(many)  # all of them at last, which is the model itself
    many = min(many, len(model.support_))
    while many - few > max(1, many // RESOLUTION):
        middle = (few + many) // 2
        tried = reduction.to(middle)
        if tried.score(X, y) >= least:
            many, found = middle, tried
        else:
            few = middle
    return found


class Reduction:
    """Reductions of one model to any number of vectors. The choice of vectors continues where it ended."""

    def __init__(self, model: SVC, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        self.model, self._pairwise = model, cast(Pairwise, model.model_)  # see _check_request
        self._X, labels = _checked_data(model, X, y)
        weights = sample_weights(sample_weight, self._X) * model.class_weight_[labels]
        costs = model.C * self._merged(weights, labels)
        self._groups = [np.flatnonzero((labels == c) & (costs > 0)) for c in range(len(model.classes_))]
        kernel, threads = self._pairwise.vectors.kernel, thread_limit(model.n_jobs)
        self._gram = Gram(kernel, self._X, dtype=np.float64, cache_size=0, n_threads=threads)
        _check_semidefinite(self._gram.diagonal().min() >= 0)
        self._losses = {pair: self._loss(pair, costs) for pair in combinations(self._pairwise.present, 2)}
        self._values = {pair: self._dual_value(pair) for pair in self._losses}
        self._order = Order(self._pursuits())
        self._end = time.perf_counter() + (np.inf if model.max_time is None else model.max_time)

    def _merged(self, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Weights as the fit had them: equal rows merged, unless copies are among the support vectors."""
        together = merged(self.model, self._X, labels, weights)
        return together if together[self.model.support_].all() else weights

    def to(self, count: int) -> SVC:
        """The model of at most this many vectors."""
        if count >= len(self.model.support_):
            return copy.copy(self.model)
        rows = self._order.first(count, self._end)
        found = {pair: self._minimum(pair, rows) for pair in self._losses}
        small = self._model_of(found)
        logger.info("%d of %d vectors, relative gap %.2g", len(rows), len(self.model.support_), small.relative_gap_)
        return small

    def _loss(self, pair: Pair, costs: np.ndarray) -> PairLoss:
        positive, negative = (self._groups[c] for c in sides(pair, len(self._groups)))
        rows = np.concatenate([positive, negative])
        return PairLoss(rows, np.where(np.arange(len(rows)) < len(positive), 1.0, -1.0), costs[rows])

    def _minimum(self, pair: Pair, rows: np.ndarray) -> Minimum:
        own = np.concatenate([np.intersect1d(self._groups[c], rows) for c in pair])
        return minimize(self._gram, self._losses[pair], own, self._end)

    def _dual_value(self, pair: Pair) -> float:
        """f = a'Qa of the given model, after a look whether its certificate holds: then min P >= 1 / (2 f).

        b = y * coefficients is feasible for max 1'b - b'Qb / 2, b >= 0, and a = b / sum b on the simplex.
        """
        loss, function = self._losses[pair], self._pairwise.function(pair)
        vectors, coefficients = function.rows, function.coef
        by_row = np.zeros(self._X.shape[0])
        by_row[vectors] = coefficients
        b = loss.signs * by_row[loss.rows]
        if b.min() < 0 or abs(coefficients.sum() - function.intercept) > ROUNDING * b.sum():
            raise ValueError(
                "the model's coefficients do not solve its dual problem, as after a reduction: reduce the model "
                "that it came from"
            )
        decisions = products(self._gram, loss.rows, vectors, coefficients) + coefficients.sum()
        scores = loss.signs * decisions + b / loss.costs  # Qb
        value = float(b @ scores) / b.sum() ** 2
        gap = 2 * (1 - scores.min() / (value * b.sum()))
        if not gap <= (1 + SLACK) * self.model.simplex_gap_ + SLACK:
            raise ValueError(
                f"on these data the model has a relative gap of {gap:.2g} on the simplex, but it was certified at "
                f"{self.model.simplex_gap_:.2g}: pass the X, y, sample_weight and C that it was fitted with"
            )
        return value

    def _pursuits(self) -> list[Pursuit]:
        """Two classes have one function of all vectors; of several, each class has its part of one for each other."""
        model, parts = self._pairwise, [slice(None)]
        if model.n_classes > 2:
            parts = [model.own(c) for c in range(model.n_classes) if model.counts[c]]
        return [Pursuit(self._gram, model.vectors.support[own].astype(np.int64), model.coef[:, own].T) for own in parts]

    def _model_of(self, found: dict[Pair, Minimum]) -> SVC:
        functions = {pair: minimum.function for pair, minimum in found.items()}
        pairwise = Pairwise.of(self._X, self._pairwise.vectors.kernel, self._groups, functions)
        kept = {name: copy.copy(value) for name, value in vars(self.model).items() if name in FITTED}
        small = SVC(**self.model.get_params(deep=False))
        return small.set_fitted(model_=pairwise, **kept, **self._certificate(found, small.tol))

    def _certificate(self, found: dict[Pair, Minimum], tol: float) -> dict[str, object]:
        """2 f P = P / D: f bounds the best value of the simplex problem from one side, 1 / (2 P) from the other."""
        excess = {pair: 2 * self._values[pair] * minimum.value - 1 for pair, minimum in found.items()}
        _check_semidefinite(min(excess.values()) > -ROUNDING)
        gap = max(excess.values())
        reached = "gap" if gap <= tol else "reduced"
        reason = next((m.stop_reason for m in found.values() if m.stop_reason != "gap"), reached)
        return {
            "relative_gap_": gap,
            "simplex_gap_": np.inf,  # its function is not a sum over a point of the simplex
            "primal_value_": np.array([minimum.value for minimum in found.values()]),
            "dual_value_": np.array([0.5 / self._values[pair] for pair in found]),
            "dual_gap_": max(excess[pair] * self._values[pair] for pair in found),
            "n_evaluations_": self._gram.evaluations,
            "n_iter_": np.array([minimum.steps for minimum in found.values()], dtype=np.int64),
            "stop_reason_": reason,
            "fit_status_": 0 if reason == "gap" else 1,
        }


def _check_semidefinite(holds: bool) -> None:
    if not holds:
        raise ValueError(
            "the kernel is not positive semidefinite on these rows, so there is neither a certificate nor a best "
            "choice of vectors: use another gamma or coef0, or another kernel"
        )


def _checked_data(model: SVC, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
    """The training rows and the class of each; ``ValueError`` if the support vectors are not among them."""
    X, y = same_data(model, X, y)
    if model.stop_reason_ == "imported":
        raise ValueError(
            "the model has no certificate (it was imported), so nothing is known about its problem: fit it here"
        )
    if X.shape[0] != model.shape_fit_[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted on {model.shape_fit_[0]}: pass the same rows"
        )
    if model.relative_gap_ == np.inf:
        raise ValueError(
            "the certificate of the model proves nothing: its value is lost in the rounding of kernel values. Scale "
            "the data, or lower C"
        )
    labels = _places(model.classes_, y)
    if (labels[model.support_] != model.model_.owner).any() or not _same_vectors(model, X):
        raise ValueError(
            "the model's support vectors are not the rows support_ of X with their labels: pass what it was fitted on"
        )
    return X, labels


def _places(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The place of each label among the classes; ``ValueError`` for others."""
    comparable = (classes.dtype.kind in "UO") == (y.dtype.kind in "UO")  # NumPy does not order numbers and text
    places = np.searchsorted(classes, y).clip(max=len(classes) - 1) if comparable else np.zeros(len(y), dtype=np.intp)
    other = classes[places] != y if comparable else np.ones(len(y), dtype=bool)
    if other.any():
        shown = classes.tolist()[:4]
        raise ValueError(f"y has the label {y[other][0]!r}, which is none of the model's classes, such as {shown}")
    return places


def _same_vectors(model: SVC, X: Matrix) -> bool:
    if model.kernel == "precomputed":
        return True
    ours, theirs = X[model.support_], model.support_vectors_
    if sp.issparse(ours) or sp.issparse(theirs):
        return bool((sp.csr_array(ours) != sp.csr_array(theirs)).nnz == 0)
    return np.array_equal(ours, theirs)
