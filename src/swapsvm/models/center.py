"""A point of the feature space and the distances of rows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Matrix
from ..gram import Gram
from .expansion import Expansion


@dataclass(frozen=True, eq=False)
class Center(Expansion):
    """c = sum_i coef_i phi(x_i) with its squared norm.

    ``length`` is k(x, x) of every row if the kernel is precomputed: new rows of such a kernel do not contain it.
    """

    squared_norm: float = 0.0
    length: float | None = None

    def scores_of(self, X: Matrix, sums: np.ndarray) -> np.ndarray:
        """-|phi(x) - c|^2 for each row x, from its sum."""
        lengths = Gram(self.vectors.kernel, X, cache_size=0).diagonal() if self.length is None else self.length
        return 2 * sums - lengths - self.squared_norm
