"""Support vectors and their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _core
from ..arrays import Matrix
from ..columns import is_sparse, without_empty_columns
from ..kernels import Kernel, Precomputed
from ..rows import Rows, as_rows
from .part import Part


@dataclass(frozen=True, eq=False)
class Vectors(Part):
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

    @cached_property
    def compiled(self) -> Rows:
        """The rows as the core takes them.

        It follows the places of sparse entries without checking them again, so it has its own copy of them.
        """
        rows = self.rows
        if is_sparse(rows):
            rows = type(rows)((rows.data, rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
        return as_rows(rows)

    @cached_property
    def _longest(self) -> int:
        return int(np.argmax(_squared_lengths(self.rows)))

    def rounding(self, X: Matrix, total: float) -> np.ndarray:
        """For each row of X a bound on the rounding of a sum in single precision.

        ``total`` is the sum of the absolute coefficients. The worst case has all of it at the longest vector.
        """
        if not len(self):
            return np.zeros(X.shape[0])
        coef = np.zeros(len(self))
        coef[self._longest] = total
        X, rows = without_empty_columns(X, self.rows)
        right = self.compiled if rows is self.rows else as_rows(rows)
        return _core.cross_rounding(as_rows(X), right, self.kernel.spec(), coef)


def _squared_lengths(rows: Matrix) -> np.ndarray:
    return np.asarray((rows**2 if isinstance(rows, np.ndarray) else rows.multiply(rows)).sum(axis=1))
