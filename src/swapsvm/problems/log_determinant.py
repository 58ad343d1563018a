"""maximize g(a) = log det M(a), M(a) = sum_i a_i z_i z_i', over the simplex.

This is the dual of the least ellipsoid around points, and the D-optimal design of experiments z_i. The gradient is the
leverages w_i = z_i' M^-1 z_i; their mean under a is n, the dimension, so the gap is max w - n. A linear map of the
points only adds a constant to g: they are kept with orthonormal columns, where nothing is badly scaled.
"""

from __future__ import annotations

from copy import copy
from math import inf, log, log1p, nan
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular
from scipy.special import xlog1py

from ..arrays import ArrayLike

EPSILON = float(np.finfo(np.float64).eps)


class LogDeterminant:
    """log det sum_i a_i z_i z_i', the points z_i in rows.

    Parameters
    ----------
    rows : array of shape (m, n)
        The points; they must span all n dimensions.

    Examples
    --------
    The D-optimal design for a parabola on [-1, 1] measures at both ends and in the middle, equally often:

    >>> import numpy as np
    >>> from swapsvm import maximize
    >>> from swapsvm.problems import LogDeterminant
    >>> x = np.linspace(-1, 1, 21)
    >>> weights = maximize(LogDeterminant(np.stack([np.ones(21), x, x**2], axis=1)), tol=1e-9).weights
    >>> x[weights > 1e-6], weights[weights > 1e-6].round(4)
    (array([-1.,  0.,  1.]), array([0.3333, 0.3333, 0.3333]))
    """

    kind: ClassVar[str] = "log determinant"
    samples: ClassVar[bool] = False

    def __init__(self, rows: ArrayLike) -> None:
        try:
            rows = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"rows must be a dense matrix of numbers, one point in each row: {error}") from None
        if rows.ndim != 2 or not rows.size:
            raise ValueError(f"rows must be a matrix with one point in each row; its shape is {rows.shape}")
        if not np.isfinite(rows).all():
            raise ValueError("rows has entries that are not finite")
        m, n = rows.shape
        scale = np.abs(rows).max(axis=0)
        orthonormal, triangle = qr(rows / np.where(scale > 0, scale, 1.0), mode="economic")
        spread = np.linalg.svd(triangle, compute_uv=False)
        rank = int((spread > 4 * EPSILON * (m * n) ** 0.5 * spread[0]).sum())
        if rank < n:
            raise ValueError(f"rows span {rank} of {n} dimensions, and every determinant is 0: leave out columns")
        self.rows, self.size, self.dimension = orthonormal * m**0.5, m, n
        self.offset = 2.0 * float(np.log(np.abs(np.diag(triangle)) * scale / m**0.5).sum())

    def value(self, a: np.ndarray) -> float:
        """log det M(a)."""
        return Moments(self.rows, a).log_det + self.offset

    def gradient(self, a: np.ndarray) -> np.ndarray:
        """The leverages."""
        return Moments(self.rows, a).leverage

    def hessian(self, a: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """-(z_i' M^-1 z_j)^2."""
        return -(np.einsum("ki,ki->k", self.rows[i] @ Moments(self.rows, a).inverse, self.rows[j]) ** 2)

    def restricted(self, variables: np.ndarray) -> LogDeterminant:
        """The problem of some of the points; they do not have to span the space."""
        face = copy(self)
        face.rows, face.size = self.rows[variables], len(variables)
        return face

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random points, and n that span the space: each the farthest from the span of those before."""
        basis = np.zeros((0, self.dimension))
        left = np.einsum("ij,ij->i", self.rows, self.rows)  # squared distance from the span
        chosen = []
        for _ in range(self.dimension):
            chosen.append(int(np.argmax(left)))
            beyond = self.rows[chosen[-1]] - (basis @ self.rows[chosen[-1]]) @ basis
            basis = np.vstack([basis, beyond / np.linalg.norm(beyond)])
            left -= (self.rows @ basis[-1]) ** 2
        return np.union1d(chosen, rng.choice(self.size, size=min(count, self.size), replace=False))


class Moments:
    """M(a) by its inverse, its log determinant and the leverages, which follow a move in O(m n)."""

    def __init__(self, rows: np.ndarray, weights: np.ndarray) -> None:
        active = np.flatnonzero(weights)
        factor = cholesky(rows[active].T @ (weights[active, None] * rows[active]), lower=True)
        half = solve_triangular(factor, rows.T, lower=True)
        self.rows, self.dimension = rows, rows.shape[1]
        self.log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        self.inverse = np.ascontiguousarray(cho_solve((factor, True), np.eye(self.dimension)))
        self.leverage = np.einsum("ij,ij->j", half, half)

    def move(self, scale: float, points: list[int], added: list[float]) -> None:
        """M <- scale M + sum_k added_k z_k z_k': with U = M^-1 Z_k' the inverse loses U (added^-1 + Z_k U)^-1 U'.

        The log determinant is NaN if rounding has destroyed it.
        """
        self.inverse /= scale
        self.leverage /= scale
        columns = self.inverse @ self.rows[points].T
        products = self.rows @ columns
        change = np.array(added)[:, None]
        ratio = np.eye(len(points)) + change * products[points]
        middle = np.linalg.solve(ratio, np.diag(change[:, 0]))
        self.inverse -= columns @ middle @ columns.T
        self.leverage -= np.einsum("ij,ij->i", products @ middle, products)
        growth = float(np.linalg.det(ratio))
        self.log_det += self.dimension * log(scale) + (log(growth) if growth > 0 else nan)

    def toward(self, i: int) -> tuple[float, float]:
        """Best step and its gain (0 if there is none): det grows by (1 - t)^(n - 1) (1 + t (w - 1))."""
        n, w = self.dimension, float(self.leverage[i])
        if w <= n:
            return 0.0, 0.0
        step = (w - n) / (n * (w - 1.0))
        return step, float(xlog1py(n - 1, -step)) + log1p(step * (w - 1.0))

    def away(self, j: int) -> tuple[float, float]:
        """The same with -t; where w <= 1 it grows without bound."""
        n, w = self.dimension, float(self.leverage[j])
        if w >= n:
            return 0.0, 0.0
        if w <= 1.0:
            return inf, inf
        step = (n - w) / (n * (w - 1.0))
        return step, (n - 1) * log1p(step) + log1p(-step * (w - 1.0))

    def swap(self, i: int, j: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
        """The same for one or many j, with gains in [0, 1]: det grows by 1 + t (w_i - w_j) - t^2 (w_i w_j - w_ij^2)."""
        cross = self.rows[j] @ (self.inverse @ self.rows[i])
        rise = self.leverage[i] - self.leverage[j]
        fall = np.maximum(self.leverage[i] * self.leverage[j] - cross**2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = rise / (2.0 * fall)
        compared = np.minimum(step, 1.0)
        return step, np.log1p(compared * (rise - compared * fall))
