"""Features of the variables of a kernel quadratic that come from landmark rows: the smooth part of its matrix.

With F the landmarks, K the kernel values with signs and bias, and L L' = K_FF:

    Z = K_:F L^-T,   K = Z Z' + R,   r = diag(R) >= 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from scipy.linalg import cholesky, cython_blas, eigvalsh, solve_triangular
from scipy.sparse.linalg import ArpackError, eigsh

from .. import _core
from .._core import Features, FullState32, FullState64, StopToken
from ..passes import ShardedRows, Stack, is_sharded, verbs
from ..passes.sharded import Places, Work
from ..problems import Quadratic
from .blas import one_blas_thread

Verb = Callable[..., np.ndarray]

FEATURE_BYTES = 4
LOOKED_AT = 5  # place of the eigenvalue
PART = 8192  # rows of Z at a time, where they are copied
JITTER = 1e-5  # least that is added to K_FF, as a part of its mean diagonal: single precision resolves no more


def cholesky_factor(values: np.ndarray) -> np.ndarray:
    """L of L L' = values, after as much has been added to the diagonal as rounding of the values calls for."""
    diagonal = np.diagonal(values).copy()
    jitter = JITTER * (float(np.abs(diagonal).mean()) or 1.0)
    with one_blas_thread():
        while True:
            np.fill_diagonal(values, diagonal + jitter)
            try:
                return np.asarray(cholesky(values, lower=True, check_finite=False))
            except np.linalg.LinAlgError:
                jitter *= 10


class Factor:
    """L of L L' = K_FF for some landmark rows F."""

    def __init__(self, problem: Quadratic, landmarks: np.ndarray) -> None:
        self.problem, self.landmarks = problem, np.asarray(landmarks, np.int32)
        values = np.asarray(problem.gram.block(self.landmarks, self.landmarks), np.float64) + problem.bias
        self.values = cholesky_factor(values)

    def left_out(self, rows: np.ndarray, counts: Sequence[int]) -> list[tuple[float, float]]:
        """For numbers of landmarks: the mean of r over some rows, and the fifth eigenvalue of R - diag(r) on them."""
        problem, some = self.problem, np.asarray(rows, np.int32)
        matrix = np.asarray(problem.gram.block(some, some), np.float64) + problem.bias
        found, done, z = [], 0, self._features(some)
        with one_blas_thread():
            for count in counts:
                matrix -= z[done:count].T @ z[done:count]
                r, done = np.diagonal(matrix).copy(), count
                found.append((max(float(r.mean()), 0.0), eigenvalue(matrix - np.diag(r), LOOKED_AT)))
        return found

    def residual(self, rows: np.ndarray) -> np.ndarray:
        """r of some rows."""
        diagonal = self.problem.gram.diagonal()[rows] + self.problem.bias
        return np.asarray(np.maximum(diagonal - (self._features(rows) ** 2).sum(axis=0), 0.0))

    def solved(self, v: np.ndarray, transposed: bool = False) -> np.ndarray:
        """L^-1 v, or L^-T v."""
        return np.asarray(
            solve_triangular(self.values, v, lower=True, trans="T" if transposed else "N", check_finite=False)
        )

    def _features(self, rows: np.ndarray) -> np.ndarray:
        """Z' of some rows, in double."""
        values = self.problem.gram.block(self.landmarks, np.asarray(rows, np.int32)).astype(np.float64)
        values += self.problem.bias
        with one_blas_thread():
            return np.asarray(solve_triangular(self.values, values, lower=True, overwrite_b=True, check_finite=False))


def eigenvalue(matrix: np.ndarray, place: int) -> float:
    """The eigenvalue of a symmetric matrix at this place, the largest first; one below 0 counts as 0."""
    start = np.random.default_rng(0).standard_normal(len(matrix))
    try:
        found = eigsh(matrix, k=place, which="LA", v0=start, tol=0.01, return_eigenvectors=False)
    except ArpackError:  # for example of a matrix of zeros
        found = eigvalsh(matrix)[-place:]
    return max(float(np.min(found)), 0.0)


def features_of(core: FullState32 | FullState64, factor: Factor, rows: np.ndarray) -> Features:
    """Z of these rows."""
    solve, single = cython_blas.__pyx_capi__["strsm"], np.ascontiguousarray(factor.values, np.float32)
    with one_blas_thread():
        return _core.features(core, rows, factor.landmarks, single, float(factor.problem.bias), solve)


class ComputedFeatures:
    """The same where Z does not fit into the budget: passes compute the kernel values of the landmarks again.

    Z v = K_:F (L^-T v), and Z'w = L^-1 (K_F: w).
    """

    def __init__(self, core: FullState32 | FullState64, factor: Factor, rows: np.ndarray) -> None:
        self._state, self._factor, self._rows = core, factor, rows
        self._columns = _core.kernel_columns(core, rows, factor.landmarks, float(factor.problem.bias))
        step = max(1024, int(factor.problem.gram.core.cache_budget // (FEATURE_BYTES * len(factor.landmarks))))
        parts = [features_of(core, factor, rows[first : first + step]).residual for first in range(0, len(rows), step)]
        self.residual = np.concatenate(parts)

    def product(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self._columns.product(self._factor.solved(v, transposed=True)))

    def transposed(self, w: np.ndarray) -> np.ndarray:
        return self._factor.solved(np.asarray(self._columns.transposed(w)))

    def quadratic(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        inner = self._factor.solved(v, transposed=True)
        return self._factor.solved(np.asarray(self._columns.quadratic(w, inner)))

    def some(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(
            features_of(self._state, self._factor, self._rows[rows]).some(np.arange(len(rows), dtype=np.int32))
        )


class PassFeatures:
    """The same where the rows themselves lie elsewhere: each product is a pass over them.

    K_:F is kept there if there is room.
    """

    def __init__(self, factor: Factor, X: ShardedRows, rows: np.ndarray, token: Callable[[], StopToken | None]) -> None:
        self._factor, self._X, self._rows, self._token = factor, X, rows, token
        self._single = np.ascontiguousarray(factor.values, np.float32)
        self._bias, self._how = float(factor.problem.bias), factor.problem.gram.arithmetic
        together = max(1024, int(factor.problem.gram.core.cache_budget // (FEATURE_BYTES * len(factor.landmarks))))
        columns = Work(verbs.column_numbers, self._how, X[factor.landmarks], (self._bias,))
        self._kept = X.keep_columns(columns, rows)
        self.residual = self._of_rows(self._from_rows(verbs.residuals, (self._single, self._bias, together)))

    def product(self, v: np.ndarray) -> np.ndarray:
        inner = self._factor.solved(v, transposed=True)
        return self._of_rows(self._from_columns(verbs.column_products, (inner, self._bias)))

    def transposed(self, w: np.ndarray) -> np.ndarray:
        return self._factor.solved(self._sum(self._from_columns(verbs.column_sums, (self._bias,), w)))

    def quadratic(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        inner = self._factor.solved(v, transposed=True)
        return self._factor.solved(self._sum(self._from_columns(verbs.quadratic_sums, (inner, self._bias), w)))

    def some(self, rows: np.ndarray) -> np.ndarray:
        stack = Stack(self._X[self._factor.landmarks], self._X[self._rows[rows]], self._how, self._token())
        return np.asarray(stack.features(self._single, self._bias).some(np.arange(len(rows), dtype=np.int32)))

    def _from_columns(self, verb: Verb, shared: tuple[object, ...], *by_row: np.ndarray) -> Iterator[Places]:
        if self._kept is None:
            return self._from_rows(verb, shared, *by_row)
        return self._kept.each(verb, shared, by_row, self._token())

    def _from_rows(self, verb: Verb, shared: tuple[object, ...], *by_row: np.ndarray) -> Iterator[Places]:
        work = Work(verb, self._how, self._X[self._factor.landmarks], shared)
        return self._X.each(work, self._rows, by_row, self._token())

    def _of_rows(self, found: Iterator[Places]) -> np.ndarray:
        out = np.empty(len(self._rows))
        for places, numbers in found:
            out[places] = numbers
        return out

    @staticmethod
    def _sum(found: Iterator[Places]) -> np.ndarray:
        return np.asarray(sum(numbers for _, numbers in found))


class Passes(Protocol):
    """Z of some rows, to be multiplied with."""

    @property
    def residual(self) -> np.ndarray: ...

    def product(self, v: np.ndarray) -> np.ndarray: ...

    def transposed(self, w: np.ndarray) -> np.ndarray: ...

    def quadratic(self, w: np.ndarray, v: np.ndarray) -> np.ndarray: ...

    def some(self, rows: np.ndarray) -> np.ndarray: ...


class VariableFeatures:
    """Z and r of a problem, in its variables. Two variables of one row share its features, with their signs."""

    wide = False  # whether there are too many columns for a factor of Z' diag(w) Z
    _part = PART

    def __init__(self, problem: Quadratic, count: int) -> None:
        own = problem.signs != 0  # the slack vertex has no kernel values
        listed = problem.rows[own]
        present = np.bincount(listed) > 0
        self.rows, self._place = np.flatnonzero(present).astype(np.int32), (np.cumsum(present) - 1)[listed]
        self.count, self.size = count, problem.size
        self._own, self._signs = np.flatnonzero(own), problem.signs[own]

    def _open(self, passes: Passes) -> None:
        self._core = passes
        self.residual = self._of_variables(np.asarray(passes.residual), 1.0)

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
        scales = np.sqrt(len(listed) / max(len(chosen), 1) * weights).astype(np.float32)
        matrix = np.zeros((self.count, self.count))
        for first in range(0, len(chosen), self._part):
            part = chosen[first : first + self._part]
            scaled = scales[part, None] * self._some(part.astype(np.int32))
            matrix += scaled.T @ scaled  # of one array with itself: half the work
        return matrix

    def squares(self, w: np.ndarray) -> np.ndarray:
        """The diagonal of Z' diag(w) Z, of features that are ``wide``."""
        raise TypeError("features that are not wide have no such sums")

    def _some(self, places: np.ndarray) -> np.ndarray:
        return np.asarray(self._core.some(places))


class Landmarks(VariableFeatures):
    """The features that come from landmarks."""

    def __init__(self, core: FullState32 | FullState64, factor: Factor) -> None:
        super().__init__(factor.problem, len(factor.landmarks))
        self.landmarks, self.factor = factor.landmarks, factor.values
        self._open(self._passes(core, factor))

    def _passes(self, core: FullState32 | FullState64, factor: Factor) -> Passes:
        gram = factor.problem.gram
        if is_sharded(gram.X):
            self._part = int(np.clip(gram.core.cache_budget // (4 * FEATURE_BYTES * self.count), 256, PART))
            return PassFeatures(factor, gram.X, self.rows, lambda: core.token)
        stored = len(self.rows) * self.count * FEATURE_BYTES <= gram.core.cache_budget
        return features_of(core, factor, self.rows) if stored else ComputedFeatures(core, factor, self.rows)


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
