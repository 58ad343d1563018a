"""Sums of kernel values between new rows and groups of support vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import _core
from ..arrays import Matrix
from ..columns import without_empty_columns
from ..kernels import Function, Precomputed, Sum
from ..rows import Rows, as_rows
from .part import Part
from .vectors import Vectors

BLOCK_VALUES = 1 << 22  # kernel values held at a time, where they are held at all


@dataclass(frozen=True, eq=False)
class Sums(Part):
    """sum_i coef[l, i] k(x_i, x) over the vectors of each group, for each line l of coefficients.

    ``columns`` names an output for each line of each group; sums that go to the same output are added.
    """

    vectors: Vectors
    coef: np.ndarray  # (lines, vectors)
    ends: np.ndarray  # of the groups, which are consecutive
    columns: np.ndarray  # (groups, lines)

    @classmethod
    def of_all(cls, vectors: Vectors, coef: np.ndarray) -> Sums:
        """One group of all vectors, and an output for each line of coefficients."""
        columns = np.arange(len(coef), dtype=np.int32)[None, :]
        return cls(vectors, np.ascontiguousarray(coef), np.array([len(vectors)]), columns)

    def with_others(self, coefs: Sequence[np.ndarray]) -> Sums:
        """The same sums with each of these coefficients, their outputs one behind the other."""
        outputs = np.int32(self.columns.max() + 1)
        columns = np.hstack([self.columns + k * outputs for k in range(len(coefs))], dtype=np.int32)
        return Sums(self.vectors, np.concatenate(coefs), self.ends, columns)

    def of(self, X: Matrix, single: bool, threads: int) -> np.ndarray:
        """The outputs of each row of X, shape (rows, outputs); ``single`` computes kernel values in float32."""
        vectors, kernel = self.vectors, self.vectors.kernel
        if isinstance(kernel, Sum):
            return self._of_terms(kernel, X, single, threads)
        if isinstance(kernel, Precomputed):
            return self._of_values(X.shape[0], lambda some, own: np.asarray(X[some][:, vectors.support[own]]))
        if isinstance(kernel, Function):
            return self._of_values(X.shape[0], lambda some, own: kernel.block(X[some], vectors.rows[own], np.float64))
        if X.dtype != vectors.rows.dtype:
            X = X.astype(vectors.rows.dtype)
        X, rows = without_empty_columns(X, vectors.rows)
        compiled = self._compiled if rows is vectors.rows else self._compile(as_rows(rows))
        return compiled.of(as_rows(X), single, threads)

    def _of_terms(self, kernel: Sum, X: Matrix, single: bool, threads: int) -> np.ndarray:
        terms = zip(self._terms, kernel.parts(X), strict=True)
        return np.sum([weight * own.of(columns, single, threads) for own, (_, columns, weight) in terms], axis=0)

    @cached_property
    def _terms(self) -> list[Sums]:
        """The same sums of each term of a sum of kernels, over its columns."""
        kernel, support, rows = self.vectors.kernel, self.vectors.support, self.vectors.rows
        parts = kernel.parts(rows) if isinstance(kernel, Sum) else ()
        return [replace(self, vectors=Vectors(part, support, own)) for part, own, _ in parts]

    @cached_property
    def _compiled(self) -> _core.KernelSums:
        return self._compile(self.vectors.compiled)

    def _compile(self, rows: Rows) -> _core.KernelSums:
        return _core.KernelSums(rows, self.vectors.kernel.spec(), self.coef, self.ends, self.columns)

    def _of_values(self, count: int, values: Callable[[slice, slice], np.ndarray]) -> np.ndarray:
        """The outputs from kernel values of some rows with some of the vectors."""
        out, begin = np.zeros((count, int(self.columns.max()) + 1)), 0
        for end, columns in zip(self.ends.tolist(), self.columns, strict=True):
            own, step = slice(begin, end), max(BLOCK_VALUES // max(end - begin, 1), 1)
            for first in range(0, count if end > begin else 0, step):
                some = slice(first, first + step)
                out[some, columns] += values(some, own) @ self.coef[:, own].T
            begin = end
        return out
