"""A fitted function sum_i coef_i k(x_i, x) + intercept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients
from .part import Part
from .sums import Sums
from .vectors import Vectors


@dataclass(frozen=True, eq=False)
class Expansion(Part):
    """One function of a set of support vectors; ``coef`` has the shape (vectors,)."""

    vectors: Vectors
    coef: np.ndarray
    intercept: float = 0.0

    @classmethod
    def of(cls, X: Matrix, kernel: Kernel, found: Coefficients) -> Expansion:
        """The function defined by coefficients of training rows."""
        return cls(Vectors.of(X, kernel, found.rows), found.coef, found.intercept)

    def sums(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """sum_i coef_i k(x_i, x) for each row x."""
        return self._sums.of(X, False, threads)[:, 0]

    @cached_property
    def _sums(self) -> Sums:
        return Sums.of_all(self.vectors, self.coef[None, :])

    def scores(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """The value of each row without the intercept."""
        return self.scores_of(X, self.sums(X, threads))

    def scores_of(self, X: Matrix, sums: np.ndarray) -> np.ndarray:
        """The same from known sums."""
        return sums

    def values(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """The value of each row."""
        return self.scores(X, threads) + self.intercept

    def linear_coefficients(self) -> np.ndarray:
        """sum_i coef_i x_i, which is the whole function for a linear kernel."""
        return np.asarray(self.vectors.rows.T @ self.coef)
