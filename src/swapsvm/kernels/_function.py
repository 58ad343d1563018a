"""Kernel values from a function of two blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import KernelFunction, Matrix
from ._formulas import Kernel

PROBES = 16  # rows on which symmetry is checked
LARGEST_ASYMMETRY = 1e-4  # relative to the largest value: less may be rounding of single precision


@dataclass(frozen=True)
class Function(Kernel):
    """``function(X, Z)`` returns the block of kernel values of the rows of X against those of Z."""

    function: KernelFunction

    name = "function"

    def values(self, X: Matrix, Z: Matrix) -> np.ndarray:
        return self.block(X, Z, np.float64)

    def check_symmetric(self, X: Matrix) -> None:
        """``ValueError`` if the function is not symmetric on a few rows of X, at equal steps."""
        rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], PROBES)).astype(np.intp)
        values = self.block(X[rows], X[rows], np.float64)
        apart = np.abs(values - values.T)
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        if apart[i, j] > LARGEST_ASYMMETRY * np.abs(values).max():
            raise ValueError(
                f"the kernel function is not symmetric: for the rows x = X[{rows[i]}] and z = X[{rows[j]}] "
                f"k(x, z) is {values[i, j]:.6g} but k(z, x) is {values[j, i]:.6g}. "
                "Use a symmetric one, such as (k(x, z) + k(z, x)) / 2"
            )

    def block(self, X: Matrix, Z: Matrix, dtype: DTypeLike) -> np.ndarray:
        """The values as a checked C-contiguous array."""
        values = np.ascontiguousarray(self.function(X, Z), dtype=dtype)
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} "
                f"for {X.shape[0]} x {Z.shape[0]} rows: expected {(X.shape[0], Z.shape[0])}"
            )
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned values that are not finite")
        return values
