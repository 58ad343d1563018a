"""The duals of the one-class L2-SVM and of the smallest ball with squared slack: Q = K + diag(1 / (C s)).

One class: maximize -a'Qa. The primal is min over w, rho, xi of |w|^2 - 2 rho + C sum_i s_i xi_i^2 with
w'phi(x_i) >= rho - xi_i. At the solution w = sum_i a_i phi(x_i), xi_i = a_i / (C s_i), so sum_i s_i xi_i = 1 / C, and
rho = a'Qa. For any a, with rho = min Qa, primal minus dual is at most the gap on the simplex.

Ball: maximize sum_i a_i k(x_i, x_i) - a'Qa. The primal is min over c, r, xi of r + C/4 sum_i s_i xi_i^2 with
|phi(x_i) - c|^2 <= r + xi_i. At the solution c = sum_i a_i phi(x_i) and xi_i = 2 a_i / (C s_i). For any a, with
r = max_i (|phi(x_i) - c|^2 - xi_i), primal minus dual is at most the gap on the simplex; the best rho or r, with the
best slack for it, brings it down (core/primal.hpp). Without slack (C infinite) it is the minimum enclosing ball, and
certified bounds are value <= radius^2 <= value + gap.

If k(x, x) is constant, so is the linear term of the ball: the same weights solve both problems of the same C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gram import Gram
from .quadratic import Coefficients, Quadratic


@dataclass(frozen=True, eq=False)
class OneClass(Quadratic):
    """The hyperplane that separates the rows of a Gram from the origin by the largest distance."""

    reads_products = True

    @classmethod
    def of(cls, gram: Gram, C: float, weights: np.ndarray | None = None) -> OneClass:
        """The first group of rows. ``weights`` holds s for each row of the data: a row of weight s counts as s rows."""
        return cls(gram, ridge=_slack_ridge(gram, C, weights))

    def model(self, weights: np.ndarray, value: float, simplex_gap: float) -> Coefficients:
        """w'phi(x) less a level: the mean |w|^2 = a'Ka of w'phi over the support, weighted by a.

        It is at most rho = min Qa, so rows without weight are inside for any gap.
        """
        support = np.flatnonzero(weights)
        return Coefficients(
            self.rows[support], weights[support], value + max(_slack_part(self, weights), simplex_gap / 2)
        )


@dataclass(frozen=True)
class Sphere:
    """A center sum_r coef_r phi(x_r) over rows of the data, its squared norm, and a squared radius."""

    rows: np.ndarray
    coef: np.ndarray
    squared_norm: float
    squared_radius: float


@dataclass(frozen=True, eq=False)
class Ball(Quadratic):
    """The ball that encloses the rows of a Gram."""

    reads_products = True

    @classmethod
    def of(cls, gram: Gram, C: float = np.inf, weights: np.ndarray | None = None) -> Ball:
        """The first group of rows. ``weights`` holds s for each row of the data: a row of weight s counts as s rows."""
        # diag(K), not diag(Q): with the ridge of weighted rows in it, s equal variables would not merge into one
        return cls(gram, ridge=_slack_ridge(gram, C, weights), linear=gram.diagonal()[gram.groups[0]])

    def model(self, weights: np.ndarray, value: float, simplex_gap: float) -> Sphere:
        """The center, and the mean of the squared distances of the support from it, weighted by a: a'diag(K) - a'Ka.

        Unlike r, which can be negative where slack is cheap, it is a squared radius for every C. It is at least r, so
        rows without weight are inside for any gap; without slack, every row is.
        """
        support, slack = np.flatnonzero(weights), _slack_part(self, weights)
        mean = max(value + slack, 0.0)
        squared_norm = float(weights @ self.linear_term()) - mean
        return Sphere(self.rows[support], weights[support], squared_norm, max(mean, value + simplex_gap - slack))


def _slack_ridge(gram: Gram, C: float, weights: np.ndarray | None) -> float | np.ndarray:
    """1 / (C s), because s equal variables with ridge 1 / C merge into one with ridge 1 / (C s)."""
    return 1.0 / C if weights is None else 1.0 / (C * weights[gram.groups[0]])


def _slack_part(problem: Quadratic, weights: np.ndarray) -> float:
    """a'Da, D the ridge: the part of a'Qa that is not a'Ka."""
    return float(np.sum(np.square(weights) * problem.ridge))
