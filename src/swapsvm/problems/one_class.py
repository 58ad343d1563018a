"""The dual of the one-class L2-SVM: maximize -a'Qa, Q = K + diag(1 / (C s)).

The primal is min over w, rho, xi of |w|^2 - 2 rho + C sum_i s_i xi_i^2 with w'phi(x_i) >= rho - xi_i. At the solution
w = sum_i a_i phi(x_i), xi_i = a_i / (C s_i), so sum_i s_i xi_i = 1 / C, and rho = a'Qa. For any a, with rho = min Qa,
primal minus dual is the gap on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gram import Gram
from .coefficients import Coefficients
from .quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class OneClass(Quadratic):
    """The hyperplane that has the rows of a Gram on one side and the origin, as far as possible, on the other."""

    @classmethod
    def of(cls, gram: Gram, C: float, weights: np.ndarray | None = None) -> OneClass:
        """The first group of rows. ``weights`` holds s for each row of the data: a row of weight s counts as s rows."""
        return cls(gram, ridge=slack_ridge(gram, C, weights))

    def model(self, weights: np.ndarray, value: float, gap: float) -> Coefficients:
        """w'phi(x) less a level: the mean |w|^2 = a'Ka of w'phi over the support, weighted by a.

        It is not above rho = min Qa, so that rows without weight are inside, whatever is left of the gap.
        """
        support = np.flatnonzero(weights)
        return Coefficients(self.rows[support], weights[support], value + max(slack_part(self, weights), gap / 2))


def slack_ridge(gram: Gram, C: float, weights: np.ndarray | None) -> float | np.ndarray:
    """1 / (C s), because s equal variables with ridge 1 / C merge into one with ridge 1 / (C s)."""
    return 1.0 / C if weights is None else 1.0 / (C * weights[gram.groups[0]])


def slack_part(problem: Quadratic, weights: np.ndarray) -> float:
    """a'Da, D the ridge: the part of a'Qa that is not a'Ka."""
    return float(np.sum(np.square(weights) * problem.ridge))
