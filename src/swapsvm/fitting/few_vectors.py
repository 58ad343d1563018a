"""The SVM over few vectors: the loss counts all rows, w is a combination of the vectors in F.

    P(w, b) = 1/2 (|w|^2 + b^2 + sum_v c_v max(0, q_v - s_v (w'phi(x_v) + b))^2),  w = sum_{j in F} coef_j phi(x_j)

v runs over the variables of the dual problem max q'b - b'Qb / 2, b >= 0: its row, sign s, target q and c = 1 / ridge. A
classification has q = 1; a regression has two variables for each row, with q = y - epsilon and q = -y - epsilon.

Features of F (``LandmarksAndConstant``) in single precision give the first coefficients. Newton steps with gradients in
double then remove what single precision and the regularization of its factor have left.

P of any function bounds the optimum from above. Any b >= 0 bounds it from below: its best multiple has the dual value
D = (q'b)^2 / (2 b'Qb). b = c slack is such a point. The first surrogate step (solvers/surrogate.py) gives a better one
from the same features: it knows how much of each row they leave out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from .._core import StopToken
from ..problems import Coefficients, Quadratic
from ..solvers.newton import SmoothProblem
from ..state import Factor, KernelState, LandmarksAndConstant, one_blas_thread

ACCURACY = 1e-4  # of the solution in single precision
STEPS, MOST_STEPS = 12, 50  # most Newton steps in double, and of a small problem
SETTLED, PRECISE = 1e-9, 1e-16  # part of P that a step has to promise, and in a small problem
SMALL = 128  # rows: such a problem is solved to the limit of double precision, as without a budget
HALVINGS = 12
UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Function:
    """A function over the vectors, its values at the distinct rows, and P with its parts."""

    coef: np.ndarray
    intercept: float
    values: np.ndarray
    slacks: np.ndarray
    square: float  # |w|^2 + b^2
    loss: float

    @property
    def primal_value(self) -> float:
        """P, as computed."""
        return (self.square + self.loss) / 2


class FewVectors:
    """A problem restricted to functions over some of its rows."""

    def __init__(self, problem: Quadratic, vectors: np.ndarray) -> None:
        self.problem, self.vectors = problem, np.sort(vectors).astype(np.int32)
        self.state = KernelState(problem)
        self.targets, ridge = self.state.target_and_ridge()
        self.costs = np.divide(1.0, ridge, out=np.zeros(problem.size), where=ridge > 0)  # no slack vertex
        self.rows, self._place = np.unique(problem.rows, return_inverse=True)
        self._own = np.searchsorted(self.rows, self.vectors)  # vectors are among the rows
        self._features: LandmarksAndConstant | None = None
        self._small = len(self.rows) < SMALL

    @cached_property
    def factor(self) -> Factor:
        """L of K_FF."""
        try:
            return Factor(replace(self.problem, bias=0.0), self.vectors)
        except LinAlgError:
            raise ValueError(
                "the kernel is not positive semidefinite on these rows, so a model of few vectors has no best "
                "coefficients: use another gamma or coef0, or another kernel"
            ) from None

    def function(self, coef: np.ndarray, intercept: float) -> Function:
        """A function, from one pass over all rows in double, which nothing stops."""
        values = self._product(self.rows, self.vectors, coef) + intercept
        slacks = np.maximum(self.targets - self.problem.signs * values[self._place], 0.0)
        square = float(coef @ (values[self._own] - intercept)) + intercept**2
        return Function(coef, intercept, values, slacks, square, float(self.costs @ slacks**2))

    def projection(self, values: np.ndarray, intercept: float) -> Function:
        """The function that has these values, without the intercept, at the vectors."""
        return self.function(self._solved(self._solved(values), transposed=True), intercept)

    def values_at_vectors(self, function: Coefficients) -> np.ndarray:
        """Values of another function at the vectors, without its intercept."""
        return self._product(self.vectors, function.rows, function.coef)

    def minimize(self, start: Function) -> tuple[Function, int]:
        """The function of least P, and the number of Newton steps in double; the last one so far if stopped.

        Raises ``Stopped`` if there is no time for the features.
        """
        with one_blas_thread():
            self._features = LandmarksAndConstant(self.state.core, self.factor)
            first = np.append(self.factor.values.T @ start.coef, start.intercept)
            smooth = SmoothProblem(self._features, first)
            smooth.solve(self.costs, self.targets, ACCURACY, self.state.is_stopped)
            found = self.function(self._solved(smooth.u[:-1], transposed=True), float(smooth.u[-1]))
            best = min(start, found, key=lambda function: function.primal_value)
            return self._polished(best, smooth)

    def _polished(self, at: Function, smooth: SmoothProblem) -> tuple[Function, int]:
        steps = MOST_STEPS if self._small else STEPS
        for count in range(steps):
            if self.state.is_stopped():
                return at, count
            gradient, weights = self._gradient(at), np.where(at.slacks > 0, self.costs, 0.0)
            step = smooth.newton_step(gradient, weights, 0.0) if gradient.any() else gradient
            better = self._along(at, step, gradient)
            if better is None:
                return at, count
            at = better
        return at, steps

    def _gradient(self, at: Function) -> np.ndarray:
        """Of P, in the coordinates of the features."""
        pulls = self.pulls(at)
        active = np.flatnonzero(pulls)
        pulled = self._product(self.vectors, self.rows[active], pulls[active])
        own = self._solved(at.values[self._own] - at.intercept - pulled)
        return np.append(own, at.intercept - pulls.sum())

    def _along(self, at: Function, step: np.ndarray, gradient: np.ndarray) -> Function | None:
        """A better function along a step; None if it promises too little, or rounding leaves none."""
        promised, coef = -float(gradient @ step), self._solved(step[:-1], transposed=True)
        if promised <= (PRECISE if self._small else SETTLED) * at.primal_value:
            return None
        for length in 0.5 ** np.arange(HALVINGS):
            tried = self.function(at.coef + length * coef, at.intercept + length * float(step[-1]))
            if tried.primal_value < at.primal_value - 1e-4 * length * promised:
                return tried
        return None

    def pulls(self, at: Function) -> np.ndarray:
        """s_v b_v, summed for each distinct row: the dual point of the slacks as coefficients of rows."""
        return np.bincount(self._place, self.problem.signs * self.costs * at.slacks, len(self.rows))

    def largest_primal_value(self, at: Function) -> float:
        """P of the function, rounding included."""
        error = self._rounding(self.rows, self.vectors, at.coef) + UNIT * (abs(at.intercept) + np.abs(at.values))
        terms = np.abs(at.coef) @ np.abs(at.values[self._own] - at.intercept) + at.intercept**2  # they may cancel
        square = at.square + float(np.abs(at.coef) @ error[self._own] + len(at.coef) * UNIT * terms)
        slacks = np.where(self.costs > 0, self._slacks_within(at, error), 0.0)
        return (1 + 4 * len(self.costs) * UNIT) * (square + float(self.costs @ slacks**2)) / 2

    def _slacks_within(self, at: Function, error: np.ndarray) -> np.ndarray:
        decisions = self.problem.signs * at.values[self._place]
        return np.maximum(self.targets - decisions + error[self._place] + UNIT * np.abs(self.targets), 0.0)

    def dual_weights(self, at: Function) -> np.ndarray:
        """A point b >= 0 of the dual that belongs to a function, without a pass over kernel values."""
        weights = self.costs * at.slacks
        if self._features is None or self.state.is_stopped():
            return weights
        left_out, near = self._features.residual, SmoothProblem(self._features)
        near.u = np.append(self.factor.values.T @ at.coef, at.intercept)
        c = np.divide(self.costs, 1.0 + self.costs * left_out)
        with one_blas_thread():
            found = self.problem.without_opposites(near.solve(c, self.targets, ACCURACY, self.state.is_stopped))
        return found if np.isfinite(found).all() else weights  # features can leave the range of single precision

    def dual_point(self, weights: np.ndarray, most_rows: float = np.inf, token: StopToken | None = None) -> DualPoint:
        """The dual value of b, of which at most this many entries are kept; the token stops its pass."""
        active = np.flatnonzero(weights)
        if len(active) > most_rows:
            active = active[np.linspace(0, len(active), int(most_rows), endpoint=False).astype(np.int64)]
        b, signs = weights[active], self.problem.signs[active]
        rows, place = np.unique(self.problem.rows[active], return_inverse=True)
        pulls = np.bincount(place, signs * b, len(rows))
        products = self._product(rows, rows, pulls, token) + self.problem.bias * math.fsum(pulls)
        error = self._rounding(rows, rows, pulls) + 6 * UNIT * self.problem.bias * np.abs(pulls).sum()
        square = float(pulls @ products + b @ (b / self.costs[active]))
        terms = np.abs(pulls) @ np.abs(products) + b @ (b / self.costs[active])  # they may cancel, as those of q'b
        rounding = float(np.abs(pulls) @ error + 4 * len(active) * UNIT * terms)
        kept = np.zeros(self.problem.size)
        kept[active] = b
        linear = self.targets @ kept - len(active) * UNIT * (np.abs(self.targets) @ kept)
        return DualPoint(kept, float(linear), square, rounding)

    def _product(
        self, rows: np.ndarray, vectors: np.ndarray, coef: np.ndarray, token: StopToken | None = None
    ) -> np.ndarray:
        core = self.problem.gram.core
        return np.asarray(core.own_product(rows.astype(np.int32), vectors.astype(np.int32), coef, True, token))

    def _rounding(self, rows: np.ndarray, vectors: np.ndarray, coef: np.ndarray) -> np.ndarray:
        core = self.problem.gram.core
        return np.asarray(core.own_rounding(rows.astype(np.int32), vectors.astype(np.int32), coef, True))

    def _solved(self, values: np.ndarray, transposed: bool = False) -> np.ndarray:
        trans = "T" if transposed else "N"
        return np.asarray(solve_triangular(self.factor.values, values, lower=True, trans=trans, check_finite=False))


@dataclass(frozen=True, eq=False)
class DualPoint:
    """b >= 0 with its q'b, from below, and its b'Qb, which is off by at most ``rounding``."""

    weights: np.ndarray
    linear: float
    square: float
    rounding: float

    @property
    def scale(self) -> float:
        """The best multiple of b."""
        largest = self.square + self.rounding
        return self.linear / largest if self.linear > 0 and largest > 0 else 0.0

    @property
    def least_dual_value(self) -> float:
        """D of the best multiple, rounding included."""
        return 0.5 * self.linear * self.scale * (1 - 8 * len(self.weights) * UNIT)
