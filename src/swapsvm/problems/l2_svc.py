"""The dual of the L2-SVM: maximize -a'Qa, Q_ij = y_i y_j (k(x_i, x_j) + 1) + [i == j] / (C w_i).

With f = a'Qa, b = a / f is feasible for the usual dual max 1'b - b'Qb / 2, b >= 0, and has the value D = 1 / (2 f). The
gap is f (P / D - 1), P the primal value of the best multiple of the decision function (core/primal.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..gram import Gram
from .quadratic import Coefficients, Family, Quadratic

Groups = int | Sequence[int]


@dataclass(frozen=True, eq=False)
class L2SVC(Quadratic):
    """The two-class problem of some groups of a Gram."""

    scales: ClassVar[bool] = True
    BIAS: ClassVar[float] = 1.0

    @classmethod
    def of(cls, gram: Gram, positive: Groups, negative: Groups, C: float, weights: np.ndarray | None = None) -> L2SVC:
        """One or several groups ``positive`` (y = +1) against one or several ``negative`` (y = -1).

        ``weights`` holds one number per row of the data: a row of weight w counts as w rows, exactly, because w equal
        variables with ridge 1/C merge into one with ridge 1/(C w).
        """
        segments = [(g, 1.0) for g in _listed(positive)] + [(g, -1.0) for g in _listed(negative)]
        ridge: float | np.ndarray = 1.0 / C
        if weights is not None:
            ridge = 1.0 / (C * weights[np.concatenate([gram.groups[g] for g, _ in segments])])
        return cls(gram, segments, ridge=ridge, bias=cls.BIAS)

    def bounds(self, value: float, gap: float, rounding: float) -> tuple[float, float]:
        return self.bounds_of(value, gap, rounding)

    @staticmethod
    def bounds_of(value: float, gap: float, rounding: float) -> tuple[float, float]:
        """P from above and D from below; gap / f = P / D - 1 for the lower bound f of a'Qa."""
        least, largest = -value - rounding, -value + rounding
        if not least > 0:  # nothing is known of a'Qa
            return float("inf"), 0.0
        dual = 0.5 / largest
        return dual * (1.0 + max(gap, 0.0) / least), dual

    def primal_gap_of(self, below: float, scale: float) -> float:
        """f (f / f* - 1), the best primal value being 1 / (2 f*)."""
        return below * scale / (scale - below) if below < scale else float("inf")

    def model(self, weights: np.ndarray, value: float) -> Coefficients:
        """The decision function, divided by f = a'Qa to give margins unit scale: b = a / f solves the usual dual."""
        return decision_function(*self._rows, weights, value)

    @cached_property
    def _rows(self) -> tuple[np.ndarray, int]:
        """The row of each variable, and how many have a positive sign, which come first."""
        rows = [self.gram.groups[group] for group, _ in self.segments]
        positive = sum(len(own) for own, (_, sign) in zip(rows, self.segments, strict=True) if sign > 0)
        return np.concatenate(rows), positive


def decision_function(rows: np.ndarray, positive: int, weights: np.ndarray, value: float) -> Coefficients:
    """Of the weights of variables of these rows, the positive ones first."""
    check_value(value)
    (support,) = weights.nonzero()
    coef = weights[support] / -value
    coef[support.searchsorted(positive) :] *= -1.0
    return Coefficients(rows[support], coef, float(coef.sum()))


def check_value(value: float) -> None:
    """``ValueError`` if g = -a'Qa is not negative."""
    if not value < 0:
        raise ValueError(
            f"a'Qa = {-value:.3g} is not positive, so there is no decision function: the kernel is not positive "
            "semidefinite on these rows. Use a smaller C, another gamma or coef0, or another kernel"
        )


def decision_functions(rows: np.ndarray, positive: int, weights: np.ndarray, values: np.ndarray) -> Family:
    """One for each line of weights, which are those of variables of these rows, the positive ones first."""
    check_value(values.max())
    (support,) = weights.sum(axis=0).nonzero()  # none is negative
    coef = weights[:, support] / -values[:, None]
    coef[:, support.searchsorted(positive) :] *= -1.0
    return Family(rows[support], coef, coef.sum(axis=1))


def _listed(groups: Groups) -> list[int]:
    return [int(g) for g in groups] if isinstance(groups, Sequence | np.ndarray) else [int(groups)]
