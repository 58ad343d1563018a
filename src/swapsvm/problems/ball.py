"""The dual of the smallest ball with squared slack: maximize sum_i a_i k(x_i, x_i) - a'Qa, Q = K + diag(1 / (C s)).

The primal is min over c, r, xi of r + C/4 sum_i s_i xi_i^2 with |phi(x_i) - c|^2 <= r + xi_i. At the solution
c = sum_i a_i phi(x_i) and xi_i = 2 a_i / (C s_i). For any a, with r = max_i (|phi(x_i) - c|^2 - xi_i), primal minus
dual is the gap on the simplex. Without slack (C infinite) it is the minimum enclosing ball, and certified bounds are
value <= radius^2 <= value + gap.

If k(x, x) is constant, so is the linear term: the same weights solve the one-class problem of the same C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gram import Gram
from .one_class import slack_part, slack_ridge
from .quadratic import Quadratic


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

    @classmethod
    def of(cls, gram: Gram, C: float = np.inf, weights: np.ndarray | None = None) -> Ball:
        """The first group of rows. ``weights`` holds s for each row of the data: a row of weight s counts as s rows."""
        # diag(K), not diag(Q): with the ridge of weighted rows in it, s equal variables would not merge into one
        return cls(gram, ridge=slack_ridge(gram, C, weights), linear=gram.diagonal()[gram.groups[0]])

    def model(self, weights: np.ndarray, value: float, gap: float) -> Sphere:
        """The center, and the mean of the squared distances of the support from it, weighted by a: a'diag(K) - a'Ka.

        Unlike r, which can be negative where slack is cheap, it is a squared radius for every C. It is not below r, so
        that rows without weight are inside, whatever is left of the gap; without slack, every row is.
        """
        support, slack = np.flatnonzero(weights), slack_part(self, weights)
        mean = max(value + slack, 0.0)
        squared_norm = float(weights @ self.linear_term()) - mean
        return Sphere(self.rows[support], weights[support], squared_norm, max(mean, value + gap - slack))
