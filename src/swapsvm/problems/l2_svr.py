"""The dual of L2-loss support vector regression: maximize c'b - b'Qb / 2 over b = (beta, beta*) >= 0.

    Q = [[K', -K'], [-K', K']] + diag(1 / (C+ w), 1 / (C- w)),   K' = K + 1,   c = (y - epsilon, -y - epsilon)

Targets above the prediction have the weight C+ = 2 tau C, those below C- = 2 (1 - tau) C, where tau is the expectile.
The prediction is sum_i (beta_i - beta*_i) (k(x_i, x) + 1). On the simplex b = radius * a, with a slack vertex for the
rest of the weight. A given tube requires b >= 0 only. A learned one, as in Core Vector Regression, has c = (y, -y) and
a radius that is the price of its width:

    min over w, xi, epsilon >= 0:  |w|^2 / 2 + 1/2 sum_i w_i (C+ xi_i^2 + C- xi*_i^2) + radius * epsilon
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..gram import Gram
from .quadratic import Coefficients, Quadratic

EXCESS = 0.1  # mean excess of residuals over a learned tube, as a part of the standard deviation of y
LEAST = 1e-100  # lower bound on the largest target


@dataclass(frozen=True, eq=False)
class L2SVR(Quadratic):
    """The regression of targets on some groups of a Gram: a variable for each sign of each row, then the slack."""

    @classmethod
    def of(
        cls,
        gram: Gram,
        y: np.ndarray,
        C: float,
        epsilon: float | None,
        weights: np.ndarray | None = None,
        groups: Sequence[int] = (0,),
        expectile: float = 0.5,
    ) -> L2SVR:
        """Targets and weights hold one number per row of the data; ``epsilon=None`` learns the tube."""
        rows = np.concatenate([gram.groups[g] for g in groups])
        targets, weight = y[rows], np.ones(len(rows)) if weights is None else weights[rows]
        check_scale(targets)
        c = np.concatenate([targets, -targets]) - (epsilon or 0.0)
        price = tube_price(targets, C * weight) if epsilon is None else 0.0
        costs = np.concatenate([2.0 * part * C * weight for part in (expectile, 1.0 - expectile)])
        radius = price or largest_sum(c, costs)
        if not radius < 1 / LEAST:
            raise ValueError(f"C={C!r} times the targets leaves the range of a double: lower C, or scale y")
        return cls(
            gram,
            (*((g, 1.0) for g in groups), *((g, -1.0) for g in groups), (groups[0], 0.0)),
            ridge=np.append(1.0 / costs, 0.0),
            linear=np.append(2.0 * c / radius, 0.0),
            bias=1.0,
            radius=radius,
            grows=not price,
        )

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random rows, each with the sign of its target, and the slack."""
        half = self.size // 2
        picks = rng.choice(half, size=min(count, half), replace=False)
        c = self.linear_term()
        below = c[picks] < c[picks + half]
        return np.append(np.sort(picks + half * below), self.size - 1)

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        """b = 0: all at the slack."""
        return np.where(variables == self.size - 1, self.radius or 1.0, 0.0)

    def start_from(self, weights: np.ndarray) -> np.ndarray:
        """The same b: the slack has the rest of the radius."""
        return np.append(weights[:-1], max(float(self.radius or 1.0) - weights[:-1].sum(), 0.0))

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        """Rows in random order, both signs together: one sign alone would bias the fit."""
        half = self.size // 2
        rows = rng.permutation(half)
        return np.append(self.size - 1, np.column_stack([rows, rows + half]).ravel())

    def without_opposites(self, weights: np.ndarray) -> np.ndarray:
        half = self.size // 2
        both = np.minimum(weights[:half], weights[half:-1])
        return weights - np.concatenate([both, both, [0.0]])

    def model(self, weights: np.ndarray, value: float) -> Coefficients:
        """The prediction as coefficients of the rows."""
        half = self.size // 2
        if self._linear_value(weights) < value:  # b'Qb / 2 is the difference
            raise ValueError(
                "b'Qb is negative, so there is no regression function: the kernel is not positive semidefinite on "
                "these rows. Use a smaller C, another gamma or coef0, or another kernel"
            )
        coef = weights[:half] - weights[half:-1]
        support = np.flatnonzero(coef)
        return Coefficients(self.rows[support], coef[support], float(coef.sum()))

    def tube(self, level: float) -> float:
        """The learned width: the offset of the primal whose value is certified (``Result.level``), in units of y."""
        return 0.0 if self.grows else max(0.0, -level * float(self.radius or 1.0))  # grows: all targets are equal

    def _linear_value(self, weights: np.ndarray) -> float:
        return float(self.linear_term() @ weights) * float(self.radius or 1.0) / 2.0


def check_scale(y: np.ndarray) -> None:
    """Values are squares of targets, which must not leave the range of a double."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest and not LEAST < largest < 1 / LEAST:
        raise ValueError(f"targets up to {largest:.3g} have squares out of the range of a double: scale y and epsilon")


def largest_sum(c: np.ndarray, weight: np.ndarray) -> float:
    """Four times a bound on the sum of any b of positive value.

    From c'b >= b'Qb / 2 >= sum_i b_i^2 / (2 weight_i) follows sum_i b_i^2 / weight_i <= 4 sum_i weight_i max(c_i, 0)^2,
    and by Cauchy sum_i b_i <= 2 sqrt(sum_i weight_i * sum_i weight_i max(c_i, 0)^2). Twice that leaves room.
    """
    largest = np.abs(c).max(initial=0.0) or 1.0
    bound = np.sqrt(weight.sum()) * np.sqrt(weight @ np.maximum(c / largest, 0.0) ** 2) * largest
    return float(4.0 * bound) or 1.0


def tube_price(y: np.ndarray, weight: np.ndarray) -> float:
    """C m mu of Core Vector Regression; mu, the mean excess of residuals over the tube, scales with the spread of y."""
    total = weight.sum()
    spread = np.sqrt(weight @ (y - weight @ y / total) ** 2 / total)
    return float(EXCESS * spread * total)
