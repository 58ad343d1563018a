"""Reductions of classifiers: a problem for each pair of classes, over the vectors of its own two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import cast

import numpy as np

from ..arrays import ArrayLike, MatrixLike
from ..estimators import SVC
from ..fitting.inputs import sample_weights
from ..fitting.pursuit import Order, Pursuit, products
from ..gram import Gram
from ..models import Pair, Pairwise, sides
from ..problems import Coefficients
from .data import ROUNDING, check_dual_point, check_gap, check_vectors, checked_data, exact_gram, merged_as_fitted
from .losses import PairLoss
from .reduction import KEPT, Problem, Reduction


class PairsReduction(Reduction[SVC]):
    """Reductions of an ``SVC``."""

    kept = (*KEPT, "classes_", "class_weight_")

    def __init__(self, model: SVC, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        _check_kind(model)
        self._pairwise = cast(Pairwise, model.model_)  # see _check_kind
        X, y = checked_data(model, X, y)
        labels = _places(model.classes_, y)
        check_vectors(model, X, bool((labels[model.support_] == model.model_.owner).all()))
        weights = sample_weights(sample_weight, X) * model.class_weight_[labels]
        costs = model.C * merged_as_fitted(model, X, labels, weights)
        self._groups = [np.flatnonzero((labels == c) & (costs > 0)) for c in range(len(model.classes_))]
        gram, self._pairs = exact_gram(model, X, self._groups), list(combinations(self._pairwise.present, 2))
        problems = [self._problem(gram, pair, costs, model.simplex_gap_) for pair in self._pairs]
        super().__init__(model, gram, problems, Order(self._pursuits(gram)))

    def _problem(self, gram: Gram, pair: Pair, costs: np.ndarray, certified: float) -> Problem:
        positive, negative = (self._groups[c] for c in sides(pair, len(self._groups)))
        rows = np.concatenate([positive, negative])
        loss = PairLoss(rows, np.where(np.arange(len(rows)) < len(positive), 1.0, -1.0), costs[rows])
        value = simplex_value(gram, loss, self._pairwise.function(pair), certified)
        return Problem(loss, [self._groups[c] for c in pair], 0.5 / value)

    def _pursuits(self, gram: Gram) -> list[Pursuit]:
        """Two classes have one function of all vectors; of several, each class has its part of one for each other."""
        model, parts = self._pairwise, [slice(None)]
        if model.n_classes > 2:
            parts = [model.own(c) for c in range(model.n_classes) if model.counts[c]]
        return [Pursuit(gram, model.vectors.support[own].astype(np.int64), model.coef[:, own].T) for own in parts]

    def fitted(self, functions: Sequence[Coefficients]) -> Pairwise:
        """The decision functions of all pairs."""
        by_pair = dict(zip(self._pairs, functions, strict=True))
        return Pairwise.of(self.gram.X, self._pairwise.vectors.kernel, self._groups, by_pair)

    def unit(self, dual_value: float) -> float:
        """f = 1 / (2 D) on the simplex."""
        return 0.5 / dual_value


def simplex_value(gram: Gram, loss: PairLoss, function: Coefficients, certified: float) -> float:
    """f = a'Qa of the given model, after a look whether its certificate holds: then min P >= 1 / (2 f).

    b = y * coefficients is feasible for max 1'b - b'Qb / 2, b >= 0, and a = b / sum b on the simplex.
    """
    by_row = np.zeros(gram.X.shape[0])
    by_row[function.rows] = function.coef
    b = loss.signs * by_row[loss.rows]
    check_dual_point(b.min() >= 0 and abs(function.coef.sum() - function.intercept) <= ROUNDING * b.sum())
    decisions = products(gram, loss.rows, function.rows, function.coef) + function.coef.sum()
    scores = loss.signs * decisions + b / loss.weights  # Qb
    value = float(b @ scores) / b.sum() ** 2
    check_gap(2 * (1 - scores.min() / (value * b.sum())), certified, " on the simplex")
    return value


def _check_kind(model: SVC) -> None:
    if not isinstance(model.model_, Pairwise):
        raise ValueError(
            f"reduce_support takes pairs of classes, not multiclass={model.multiclass!r}: fit with multiclass='ovo', "
            "or with max_vectors"
        )
    if np.isinf(model.C):
        raise ValueError("a hard margin (C=inf) is lost with any vector: fit with a finite C to reduce a model")


def _places(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The place of each label among the classes; ``ValueError`` for others."""
    comparable = (classes.dtype.kind in "UO") == (y.dtype.kind in "UO")  # NumPy does not order numbers and text
    places = np.searchsorted(classes, y).clip(max=len(classes) - 1) if comparable else np.zeros(len(y), dtype=np.intp)
    other = classes[places] != y if comparable else np.ones(len(y), dtype=bool)
    if other.any():
        shown, found = classes.tolist()[:4], y[other].tolist()[0]
        raise ValueError(f"y has the label {found!r}, which is none of the model's classes, such as {shown}")
    return places
