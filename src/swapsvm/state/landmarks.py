"""Features of the variables of a kernel quadratic that come from landmark rows: the smooth part of its matrix.

With F the landmarks, K the kernel values with signs and bias, and L L' = K_FF:

    Z = K_:F L^-T,   K = Z Z' + R,   r = diag(R) >= 0
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from copy import copy
from functools import cache

import numpy as np
from scipy.linalg import cholesky, cython_blas, solve_triangular
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types

from .. import _core
from .._core import FullState32, FullState64
from ..problems import Quadratic

JITTER = 1e-5  # added to K_FF, as a part of its mean diagonal: single precision resolves no more


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """BLAS with one thread: its sums would depend on their number. The core calls it from threads of its own."""
    return _libraries().limit(limits=1, user_api="blas")


class Factor:
    """L of L L' = K_FF for some landmark rows F; of its first landmarks, L is a leading part."""

    def __init__(self, problem: Quadratic, landmarks: np.ndarray) -> None:
        self.problem, self.landmarks = problem, np.asarray(landmarks, np.int32)
        values = np.asarray(problem.gram.block(self.landmarks, self.landmarks), np.float64) + problem.bias
        values[np.diag_indices_from(values)] += JITTER * (np.abs(np.diagonal(values)).mean() or 1.0)
        with one_blas_thread():
            self.values = np.asarray(cholesky(values, lower=True, overwrite_a=True, check_finite=False))

    def first(self, count: int) -> Factor:
        """The same for the first landmarks."""
        part = copy(self)
        part.landmarks, part.values = self.landmarks[:count], self.values[:count, :count]
        return part

    def residuals(self, rows: np.ndarray) -> np.ndarray:
        """The mean of r over some rows, for each number of landmarks."""
        problem = self.problem
        values = np.asarray(problem.gram.block(self.landmarks, np.asarray(rows, np.int32)), np.float64) + problem.bias
        with one_blas_thread():
            z = solve_triangular(self.values, values, lower=True, overwrite_b=True, check_finite=False)
        own = problem.gram.diagonal()[rows] + problem.bias
        return np.maximum(own - np.cumsum(z**2, axis=0), 0.0).mean(axis=1)


class Landmarks:
    """Z and r of a problem, in its variables. Two variables of one row share its features, with their signs."""

    def __init__(self, core: FullState32 | FullState64, factor: Factor) -> None:
        problem = factor.problem
        own = problem.signs != 0  # the slack vertex has no kernel values
        rows, self._place = np.unique(problem.rows[own], return_inverse=True)
        self.rows, self.landmarks, self.factor = rows.astype(np.int32), factor.landmarks, factor.values
        self.count, self.size = len(self.landmarks), problem.size
        self._own, self._signs = np.flatnonzero(own), problem.signs[own]
        capsule, single = cython_blas.__pyx_capi__["strsm"], np.ascontiguousarray(self.factor, np.float32)
        with one_blas_thread():
            self._core = _core.features(core, self.rows, self.landmarks, single, float(problem.bias), capsule)
        self.residual = self._of_variables(np.asarray(self._core.residual), 1.0)

    def _of_variables(self, of_rows: np.ndarray, signs: np.ndarray | float) -> np.ndarray:
        found = np.zeros(self.size)
        found[self._own] = of_rows[self._place] * signs
        return found

    def _of_rows(self, of_variables: np.ndarray, signs: np.ndarray | float) -> np.ndarray:
        return np.bincount(self._place, of_variables[self._own] * signs, len(self.rows))

    def product(self, v: np.ndarray) -> np.ndarray:
        """Z v."""
        return self._of_variables(self._core.product(v), self._signs)

    def transposed(self, w: np.ndarray) -> np.ndarray:
        """Z' w."""
        return np.asarray(self._core.transposed(self._of_rows(w, self._signs)))

    def quadratic(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Z' diag(w) Z v."""
        return np.asarray(self._core.quadratic(self._of_rows(w, 1.0), v))

    def curvature(self, w: np.ndarray, rows: int) -> np.ndarray:
        """About Z' diag(w) Z, from this many of its rows at equal distances."""
        weights = self._of_rows(w, 1.0)
        listed = np.flatnonzero(weights)
        chosen = listed[np.linspace(0, len(listed), min(rows, len(listed)), endpoint=False).astype(np.int64)]
        some = self._some(chosen.astype(np.int32))
        scaled = some * (len(listed) / max(len(chosen), 1) * weights[chosen])[:, None].astype(np.float32)
        return np.asarray(scaled.T @ some, np.float64)

    def _some(self, places: np.ndarray) -> np.ndarray:
        return np.asarray(self._core.some(places))


class LandmarksAndConstant(Landmarks):
    """The same with a last feature that is 1 for every row: an intercept beside the span of the landmarks."""

    def __init__(self, core: FullState32 | FullState64, factor: Factor) -> None:
        super().__init__(core, factor)
        self.count += 1
        self._weights: np.ndarray | None = None

    def product(self, v: np.ndarray) -> np.ndarray:
        return self._of_variables(np.asarray(self._core.product(v[:-1])) + v[-1], self._signs)

    def transposed(self, w: np.ndarray) -> np.ndarray:
        return self._sums(self._of_rows(w, self._signs))

    def quadratic(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        if w is not self._weights:  # products of one Newton step have the same weights
            of_rows = self._of_rows(w, 1.0)
            self._weights, self._rows_weights, self._column = w, of_rows, self._sums(of_rows)
        inner = np.asarray(self._core.quadratic(self._rows_weights, v[:-1]))
        return np.append(inner + v[-1] * self._column[:-1], self._column @ v)

    def _sums(self, of_rows: np.ndarray) -> np.ndarray:
        return np.append(np.asarray(self._core.transposed(of_rows)), of_rows.sum())

    def _some(self, places: np.ndarray) -> np.ndarray:
        return np.column_stack([super()._some(places), np.ones(len(places), np.float32)])
