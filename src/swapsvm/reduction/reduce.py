"""Smaller models: fewer support vectors, with coefficients that are optimized over all training rows and certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..arrays import ArrayLike, MatrixLike
from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..parameters import check_integer, check_number
from ..result import warn_user
from ..stopping import ConvergenceWarning
from .outputs import OutputsReduction
from .pairs import PairsReduction
from .reduction import Machine, Reduction

FIRST = 16  # vectors that a search for an accuracy tries first
RESOLUTION = 20  # it ends when two numbers of vectors differ by less than this part
REDUCTIONS: Mapping[type[BaseEstimator], Callable[..., Reduction[Any]]] = {SVC: PairsReduction, SVR: OutputsReduction}
DETECTORS = (OneClassSVM, SVDD)
OF_DETECTORS = "the coefficients of a detector are its slacks as well, and set its threshold, so others would not do"

Validation = tuple[MatrixLike, ArrayLike]


def reduce_support(
    model: Machine,
    X: MatrixLike,
    y: ArrayLike,
    *,
    max_vectors: int | None = None,
    max_accuracy_loss: float | None = None,
    validation: Validation | None = None,
    sample_weight: ArrayLike | None = None,
) -> Machine:
    """A model of fewer support vectors that is as close to the given one as these allow.

    The vectors are chosen one after the other, each to explain as much as possible of what is left of the decision
    functions. Their coefficients are then optimized again: they minimize the objective of the fit over *all*
    training rows. The certificate of the new model is for the whole problem as well: its objective, computed from
    scratch, against the lower bound that the given model proves.

    Parameters
    ----------
    model : SVC or SVR
        After ``fit``, of an ``SVC`` with ``multiclass="ovo"``; it is not changed.
    X, y, sample_weight
        What the model was fitted on.
    max_vectors : int, optional
        Largest number of support vectors of the new model, counted once for all pairs of classes or outputs.
    max_accuracy_loss : float, optional
        Instead: as few vectors as keep the accuracy on ``validation`` within this of the given model's, found by
        doubling and bisection to five percent of their number. Of an ``SVR`` it is R^2 instead of the accuracy. For
        other rows this is an estimate.
    validation : (X, y), optional
        Rows and labels, or targets, for ``max_accuracy_loss``, preferably not among those that the model was fitted on.

    Returns
    -------
    SVC or SVR
        Fitted, with the parameters of the given model. ``relative_gap_`` is P / D - 1 of the worst pair of classes or
        output, where P is the objective of the new function and D the lower bound: no solution with any vectors has
        an objective below ``P / (1 + relative_gap_)``. ``dual_gap_`` is the same in units of the simplex problem.
        A tube that was learned (``epsilon="auto"``) keeps its width, whose price is a part of P.
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
    _check_goal(max_vectors, max_accuracy_loss, validation)
    reduction = _kind_of(model)(model, X, y, sample_weight)
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


def _kind_of(model: Machine) -> Callable[..., Reduction[Machine]]:
    """How this kind of model is reduced; ``ValueError`` if it is not, or not yet fitted."""
    found = next((kind for estimator, kind in REDUCTIONS.items() if isinstance(model, estimator)), None)
    name = type(model).__name__
    if isinstance(model, DETECTORS):
        raise ValueError(f"only an SVC or SVR can be reduced, not {name}: {OF_DETECTORS}. Fit with a smaller slack")
    if found is None:
        raise ValueError(f"only an SVC or SVR can be reduced, not {name}; of a search, pass its best_estimator_")
    if not hasattr(model, "model_"):
        raise NotFittedError(f"this {name} is not fitted: call fit before reduce_support")
    return found


def _check_goal(max_vectors: int | None, max_accuracy_loss: float | None, validation: Validation | None) -> None:
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
    if validation is not None and not (isinstance(validation, tuple | list) and len(validation) == 2):
        raise ValueError(f"validation must be a pair (X, y) of rows and their y, not {type(validation).__name__}")


def _smallest(reduction: Reduction[Machine], loss: float, validation: Validation) -> Machine:
    """Twice as many vectors until the accuracy is good enough, then bisection."""
    model, (X, y) = reduction.model, validation
    least = model.score(X, y) - loss
    if math.isnan(least):
        raise ValueError("R^2 of a single row is undefined: pass more rows for validation")
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
