"""Support vectors and their kernel: sums of kernel values between them and new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Matrix
from ..columns import without_empty_columns
from ..gram import as_rows
from ..kernels import Function, Kernel, Precomputed

BLOCK_VALUES = 1 << 22  # kernel values held at a time, where they are held at all

Sums = Callable[[slice, np.ndarray], np.ndarray]  # (vectors, coefficients of them) -> (rows, outputs)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Rows of the training data and the kernel of their model.

    ``rows`` holds the rows themselves. It is empty for a precomputed kernel, where new data are columns of kernel
    values and ``support`` tells which of them count.
    """

    kernel: Kernel
    support: np.ndarray  # positions in the training data, int32
    rows: Matrix

    @classmethod
    def of(cls, X: Matrix, kernel: Kernel, support: np.ndarray) -> Vectors:
        """The listed rows of the training data."""
        rows = np.empty((0, 0)) if isinstance(kernel, Precomputed) else X[support]
        return cls(kernel, support.astype(np.int32), rows)

    def __len__(self) -> int:
        return len(self.support)

    def sums(self, X: Matrix, single: bool, threads: int) -> Sums:
        """A function of some of the vectors and their coefficients that sums kernel values of X with them.

        Coefficients have the shape (vectors, outputs). ``single`` computes kernel values in float32.
        """
        kernel = self.kernel
        if isinstance(kernel, Precomputed):
            return lambda own, coefs: np.asarray(X[:, self.support[own]] @ coefs)
        if isinstance(kernel, Function):
            return lambda own, coefs: _function_sums(kernel, X, self.rows[own], coefs)
        X, rows = without_empty_columns(X.astype(self.rows.dtype, copy=False), self.rows)
        left, spec = as_rows(X), kernel.spec()

        def compiled_sums(own: slice, coefs: np.ndarray) -> np.ndarray:
            right, coefs = as_rows(rows[own]), np.ascontiguousarray(coefs)
            # both sides have the type of the vectors
            return _core.cross_products(left, right, spec, coefs, single, threads)

        return compiled_sums

    def rounding(self, X: Matrix, total: float) -> np.ndarray:
        """For each row of X a bound on the rounding of a sum in single precision.

        ``total`` is the sum of the absolute coefficients. The worst case has all of it at the longest vector.
        """
        if not len(self):
            return np.zeros(X.shape[0])
        coef = np.zeros(len(self))
        coef[int(np.argmax(_squared_lengths(self.rows)))] = total
        left, right = (as_rows(rows) for rows in without_empty_columns(X, self.rows))
        return _core.cross_rounding(left, right, self.kernel.spec(), coef)


def _squared_lengths(rows: Matrix) -> np.ndarray:
    return np.asarray((rows**2 if isinstance(rows, np.ndarray) else rows.multiply(rows)).sum(axis=1))


def _function_sums(kernel: Function, X: Matrix, rows: Matrix, coefs: np.ndarray) -> np.ndarray:
    step = max(BLOCK_VALUES // max(rows.shape[0], 1), 1)
    parts = [X[first : first + step] for first in range(0, X.shape[0], step)]
    return np.concatenate([kernel.block(part, rows, np.float64) @ coefs for part in parts])
