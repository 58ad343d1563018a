"""Reductions of regressions: a problem for each output, all over the same vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import ArrayLike, MatrixLike
from ..estimators import SVR
from ..fitting.inputs import numbers, sample_weights, unless_ones
from ..fitting.pursuit import Order, Pursuit, products
from ..gram import Gram
from ..models import Expansion, Outputs
from ..problems import L2SVR, Coefficients
from .data import ROUNDING, check_dual_point, check_gap, check_vectors, checked_data, exact_gram, merged_as_fitted
from .losses import TubeLoss
from .primal import Minimum, objective
from .reduction import KEPT, Problem, Reduction


class OutputsReduction(Reduction[SVR]):
    """Reductions of an ``SVR`` of one or of several outputs. A learned tube keeps its width."""

    kept = (*KEPT, "epsilon_")

    def __init__(self, model: SVR, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        X, y = checked_data(model, X, y)
        targets = numbers(y)
        _check_outputs(model, targets)
        check_vectors(model, X)
        self._weights = merged_as_fitted(model, X, targets, sample_weights(sample_weight, X))
        gram = exact_gram(model, X, [np.flatnonzero(self._weights > 0)])
        functions = _functions(model)
        problems = [
            self._problem(gram, model, column, function, float(width))
            for column, function, width in zip(
                np.atleast_2d(targets.T), functions, np.atleast_1d(model.epsilon_), strict=True
            )
        ]
        super().__init__(model, gram, problems, Order([_pursuit(gram, model, problems)]))

    def _problem(self, gram: Gram, model: SVR, y: np.ndarray, function: Coefficients, learned: float) -> Problem:
        width = None if isinstance(model.epsilon, str) else float(model.epsilon)
        y, weights = np.ascontiguousarray(y), unless_ones(self._weights)
        loss = tube_loss(L2SVR.of(gram, y, model.C, width, weights, expectile=model.expectile), y, width, learned)
        return Problem(loss, gram.groups, dual_value(gram, loss, function, model.relative_gap_))

    def fitted(self, functions: Sequence[Coefficients]) -> Expansion | Outputs:
        """One function, or those of all outputs."""
        X, kernel = self.gram.X, self.model.model_.vectors.kernel
        if isinstance(self.model.model_, Outputs):
            return Outputs.of(X, kernel, functions)
        return Expansion.of(X, kernel, functions[0])

    def unit(self, dual_value: float) -> float:
        """A regression is measured in units of its own objective."""
        return dual_value

    def certificate(self, found: Sequence[Minimum]) -> Mapping[str, object]:
        """Numbers in place of arrays if there is one function, as after a fit."""
        proven = dict(super().certificate(found))
        if isinstance(self.model.model_, Expansion):
            for name in ("primal_value_", "dual_value_", "n_iter_"):
                proven[name] = np.asarray(proven[name]).item()
        return proven


def _functions(model: SVR) -> list[Coefficients]:
    """The function of each output over all vectors."""
    rows = model.support_.astype(np.int64)
    pairs = zip(model.dual_coef_, model.intercept_.tolist(), strict=True)
    return [Coefficients(rows, coef, intercept) for coef, intercept in pairs]


def _pursuit(gram: Gram, model: SVR, problems: Sequence[Problem]) -> Pursuit:
    """What is left of an output counts in units of its objective: gaps are relative, and outputs differ in units."""
    units = np.array([np.sqrt(problem.dual_value) or np.inf for problem in problems])
    return Pursuit(gram, model.support_.astype(np.int64), model.dual_coef_.T / units)


def tube_loss(problem: L2SVR, y: np.ndarray, width: float | None, learned: float) -> TubeLoss:
    """The loss of the primal of a problem, with a tube of given or of learned width."""
    half = problem.size // 2
    rows, costs = problem.rows[:half], 1.0 / np.asarray(problem.ridge)[:-1]
    price = np.inf if width is not None or problem.grows else float(problem.radius or np.inf)
    return TubeLoss(rows, y[rows], learned if width is None else width, costs[:half], costs[half:], price)


def dual_value(gram: Gram, loss: TubeLoss, function: Coefficients, certified: float) -> float:
    """D of the given model, after a look whether its certificate holds.

    The positive and the negative parts of its coefficients are feasible for max c'b - b'Qb / 2, b >= 0; for a learned
    tube c has no epsilon, but sum b is at most its price. D is the value of their best multiple.
    """
    by_row = np.zeros(gram.X.shape[0])
    by_row[function.rows] = function.coef
    b = by_row[loss.rows]
    total = float(np.abs(b).sum())
    check_dual_point(abs(function.coef.sum() - function.intercept) <= ROUNDING * np.abs(function.coef).sum())
    linear = float(b @ loss.targets) - (0.0 if loss.learned else loss.epsilon * total)
    decisions = products(gram, loss.rows, function.rows, function.coef) + function.coef.sum()
    square = float(b @ decisions + b**2 @ (1.0 / loss.costs(b)))
    scale = min(linear / square, loss.price / total) if total > 0 and linear > 0 else 0.0
    value = scale * (linear - scale * square / 2)
    problem = Problem(loss, gram.groups, value)
    check_gap(problem.excess(objective(gram, loss, function)), certified, "")
    return value


def _check_outputs(model: SVR, targets: np.ndarray) -> None:
    """``ValueError`` if the targets have another number of columns."""
    own = len(model.model_.intercept) if isinstance(model.model_, Outputs) else 0
    given = targets.shape[1] if targets.ndim == 2 else 0
    if own != given:
        of = f"{own} columns" if own else "one number for each row"
        raise ValueError(f"y has the shape {targets.shape}, but the model was fitted on {of}: pass the same targets")
