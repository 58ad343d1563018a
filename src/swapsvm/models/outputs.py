"""Several functions over the same vectors, one for each output of a regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients, Family
from .part import Part
from .sums import Sums
from .vectors import Vectors


@dataclass(frozen=True, eq=False)
class Outputs(Part):
    """Functions sum_i coef[k, i] k(x_i, x) + intercept[k] over all vectors that any of them uses.

    ``coef`` has the shape (outputs, vectors).
    """

    vectors: Vectors
    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, X: Matrix, kernel: Kernel, functions: Sequence[Coefficients]) -> Outputs:
        """The functions defined by coefficients of training rows."""
        family = Family.of(functions)
        return cls(Vectors.of(X, kernel, family.rows), family.coef, family.intercept)

    def values(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """The values of each row, shape (rows, outputs)."""
        return self._sums.of(X, False, threads) + self.intercept

    @cached_property
    def _sums(self) -> Sums:
        return Sums.of_all(self.vectors, self.coef)

    def linear_coefficients(self) -> np.ndarray:
        """w of every output, for a linear kernel."""
        return np.asarray(self.coef @ self.vectors.rows)
