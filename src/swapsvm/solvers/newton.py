"""min over u of |u|^2 / 2 + sum_i c_i max(0, q_i - z_i'u)^2 / 2, by Newton steps with conjugate gradients.

Its dual is the maximum of q'b - b'(Z Z' + diag(1/c)) b / 2 over b >= 0, at b = c max(0, q - Z u). With g = u - Z'b, the
gradient at u, and H = I + sum over active i of c_i z_i z_i', the primal value at w = Z'b exceeds that at u by about
g'Hg / 2. That error ends the steps. The difference of the two values at u, g'g / 2, would be too lenient, by up to the
condition of H.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from ..state import VariableFeatures

STEPS, PRODUCTS = 30, 50  # most Newton steps of a solution, and most products of one step
ROWS, FEWEST_ROWS = 8, 2048  # rows of the first preconditioner for each of its columns, and at least
REDUCTION = 1e-3  # of the error by one Newton step
ENOUGH = 0.25  # a step that would go below the accuracy asked for ends at this part of it
LEAST_DECREASE, SHORTEST = 1e-4, 1e-6  # of a line search: part of what the slope promises, and step
STALE = 12  # products of one step after which the preconditioner is computed again, from twice as many rows


class Preconditioner:
    """About H, from some of the rows of Z, and its inverse; in single precision, which halves what a product reads."""

    def __init__(self, z: VariableFeatures, weights: np.ndarray, rows: int) -> None:
        matrix = z.curvature(weights, rows)
        matrix[np.diag_indices_from(matrix)] += 1.0
        self._matrix = matrix.astype(np.float32)
        factor, _ = lapack.dpotrf(matrix, lower=True)
        inverse, _ = lapack.dpotri(factor, lower=True)
        self._inverse = (np.tril(inverse) + np.tril(inverse, -1).T).astype(np.float32)

    def solve(self, v: np.ndarray) -> np.ndarray:
        """H^-1 v."""
        return np.asarray(self._inverse @ v.astype(np.float32), np.float64)

    def error(self, gradient: np.ndarray) -> float:
        """g'Hg / 2."""
        single = gradient.astype(np.float32)
        return 0.5 * float(single @ (self._matrix @ single))


class DiagonalPreconditioner:
    """The diagonal of H, for features that are wide. The error is exact, and costs a pass."""

    def __init__(self, z: VariableFeatures, weights: np.ndarray) -> None:
        self._z, self._weights, self._diagonal = z, weights, 1.0 + z.squares(weights)

    def solve(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(v / self._diagonal)

    def error(self, gradient: np.ndarray) -> float:
        return 0.5 * float(gradient @ (gradient + self._z.quadratic(self._weights, gradient)))


class SmoothProblem:
    """The problem and its present u. ``passes`` counts passes over Z."""

    def __init__(self, z: VariableFeatures, u: np.ndarray | None = None) -> None:
        self.z, self.u, self.passes = z, np.zeros(z.count) if u is None else u, 0
        self._preconditioner: Preconditioner | DiagonalPreconditioner | None = None
        self._rows = max(ROWS * z.count, FEWEST_ROWS)  # of the preconditioner

    def solve(self, c: np.ndarray, q: np.ndarray, accuracy: float, stopped: Callable[[], bool]) -> np.ndarray:
        """b at a u whose error is ``accuracy`` or less, a part of the value; from the last u on."""
        value, slack = self._evaluate(c, q, self.u)
        for _ in range(STEPS):
            gradient, weights = self.u - self._transposed(c * slack), np.where(slack > 0, c, 0.0)
            error = self._near(weights).error(gradient)
            if error <= accuracy * value or stopped():
                break
            step = self.newton_step(gradient, weights, ENOUGH * accuracy * value, stopped)
            promised, length = -float(gradient @ step), 1.0
            tried = self._evaluate(c, q, self.u + step)
            while tried[0] > value - LEAST_DECREASE * length * promised and length > SHORTEST:
                length /= 2
                tried = self._evaluate(c, q, self.u + length * step)
            if not tried[0] < value:
                break  # the rest is rounding
            self.u = self.u + length * step
            value, slack = tried
        return c * slack

    def _evaluate(self, c: np.ndarray, q: np.ndarray, u: np.ndarray) -> tuple[float, np.ndarray]:
        self.passes += 1
        slack = np.maximum(q - self.z.product(u), 0.0)
        return 0.5 * float(u @ u + (c * slack) @ slack), slack

    def _transposed(self, w: np.ndarray) -> np.ndarray:
        self.passes += 1
        return self.z.transposed(w)

    def newton_step(
        self, gradient: np.ndarray, weights: np.ndarray, enough: float, stopped: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        """-H^-1 gradient, by conjugate gradients, as far as an error that is enough, or a part of the present one."""
        near = self._near(weights)
        error = max(enough, REDUCTION * near.error(gradient))
        step, residual = np.zeros_like(gradient), -gradient
        direction, last, products = np.zeros_like(gradient), 1.0, 0
        while products < PRODUCTS and (not products or (near.error(residual) > error and not stopped())):
            preconditioned = near.solve(residual)
            size = float(residual @ preconditioned)
            direction = preconditioned + (size / last if products else 0.0) * direction
            product = direction + self.z.quadratic(weights, direction)
            curvature = float(direction @ product)
            if not curvature > 0:  # the rest is 0, or leaves the range of a double
                break
            length = size / curvature
            step += length * direction
            residual -= length * product
            last, products = size, products + 1
        self.passes += products
        if products > STALE:
            self._preconditioner, self._rows = None, 2 * self._rows
        return step

    def _near(self, weights: np.ndarray) -> Preconditioner | DiagonalPreconditioner:
        """The present preconditioner, or a new one at these weights."""
        if self.z.wide:
            self._preconditioner = DiagonalPreconditioner(self.z, weights)
        elif self._preconditioner is None:
            self._preconditioner = Preconditioner(self.z, weights, self._rows)
        return self._preconditioner
