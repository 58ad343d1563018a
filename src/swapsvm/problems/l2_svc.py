"""The dual of the L2-SVM: maximize -a'Qa, Q_ij = y_i y_j (k(x_i, x_j) + 1) + [i == j] / (C w_i)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..gram import Gram
from .quadratic import Coefficients, Quadratic

Groups = int | Sequence[int]


@dataclass(frozen=True, eq=False)
class L2SVC(Quadratic):
    """The two-class problem of some groups of a Gram."""

    @classmethod
    def of(cls, gram: Gram, positive: Groups, negative: Groups, C: float, weights: np.ndarray | None = None) -> L2SVC:
        """One or several groups ``positive`` (y = +1) against one or several ``negative`` (y = -1).

        ``weights`` holds one number per row of the data: a row of weight w counts as w rows, exactly, because w equal
        variables with ridge 1/C merge into one with ridge 1/(C w).
        """
        segments = [(int(g), sign) for side, sign in ((positive, 1.0), (negative, -1.0)) for g in np.atleast_1d(side)]
        ridge: float | np.ndarray = 1.0 / C
        if weights is not None:
            ridge = 1.0 / (C * weights[np.concatenate([gram.groups[g] for g, _ in segments])])
        return cls(gram, segments, ridge=ridge, bias=1.0)

    def model(self, weights: np.ndarray, value: float) -> Coefficients:
        """The decision function, divided by f = a'Qa to give margins unit scale: b = a / f solves the usual dual."""
        if not value < 0:
            raise ValueError(
                f"a'Qa = {-value:.3g} is not positive, so there is no decision function: the kernel is not positive "
                "semidefinite on these rows. Use a smaller C, another gamma or coef0, or another kernel"
            )
        support = np.flatnonzero(weights)
        coef = weights[support] * self.signs[support] / -value
        return Coefficients(self.rows[support], coef, float(coef.sum()))
