"""One problem of an SVM over few vectors: the loss counts all rows, w is a combination of the vectors in F.

    P(w, b) = 1/2 |w|^2 + 1/2 b^2 + 1/2 sum_i c_i excess_i(w'phi(x_i) + b)^2,  w = sum_{j in F} coef_j phi(x_j).

With L L' = K_FF the features z_i = L^-1 k(F, x_i) make |w| the length of a vector u of |F| numbers, and P a smooth,
strongly convex function of (u, b) that Newton's method minimizes in about ten steps of O(rows |F|^2).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from ..fitting.pursuit import products
from ..gram import Gram
from ..problems import Coefficients
from .losses import Loss

MOST_STEPS = 100
ACCURACY = 1e-9  # relative, of the minimum over the vectors: far below what leaving vectors out costs
DEPENDENT = 1e-10  # part of the largest k(x, x) below which a pivot of K_FF counts as zero


@dataclass(frozen=True, eq=False)
class Minimum:
    """The decision function, P there, and how Newton's method ended."""

    function: Coefficients
    value: float
    steps: int
    stop_reason: str


def minimize(gram: Gram, loss: Loss, vectors: np.ndarray, end: float = np.inf) -> Minimum:
    """The best coefficients of the listed rows as vectors; at the time ``end``, those so far.

    Vectors that others span are left out.
    """
    vectors, factor = independent(gram, vectors)
    features = np.ones((len(loss.rows), len(vectors) + 1))  # the last one is that of the bias
    features[:, :-1] = solve_triangular(factor, gram.block(loss.rows, vectors).T, lower=True).T
    point, steps, reason = _newton(features, loss, end)
    coefficients = solve_triangular(factor, point[:-1], lower=True, trans="T")
    function = Coefficients(vectors, coefficients, float(point[-1]))
    return Minimum(function, objective(gram, loss, function), steps, reason)


def objective(gram: Gram, loss: Loss, function: Coefficients) -> float:
    """P, from scratch."""
    rows, coef, intercept = function.rows, function.coef, function.intercept
    length = coef @ products(gram, rows, rows, coef) + intercept**2
    decisions = products(gram, loss.rows, rows, coef) + intercept
    return float(length + loss.value(decisions)) / 2 + loss.fixed


def independent(gram: Gram, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors that span the same and are independent to about ten digits, and L of their K_FF = L L'."""
    if not len(vectors):
        return vectors, np.empty((0, 0))
    values = gram.block(vectors, vectors)
    least = DEPENDENT * float(np.diagonal(values).max())
    factor, order, rank, _ = dpstrf(values, tol=max(least, np.finfo(float).tiny), lower=True)
    if rank == 0:  # no vector has a length; the coefficient of the first will be 0
        return vectors[:1], np.ones((1, 1))
    return vectors[order[:rank] - 1], np.tril(factor[:rank, :rank])


def _newton(features: np.ndarray, loss: Loss, end: float) -> tuple[np.ndarray, int, str]:
    """P is 1/2 |u|^2 + 1/2 sum_i c_i excess_i(z_i'u)^2 and so P - min P <= 1/2 |gradient|^2."""
    point, decisions = np.zeros(features.shape[1]), np.zeros(len(features))
    value = _value(point, decisions, loss)
    for step in range(MOST_STEPS):
        excess = loss.excess(decisions)
        active, costs = np.flatnonzero(excess), loss.costs(excess)
        gradient = point - features[active].T @ (costs * excess)[active]
        if gradient @ gradient <= 2 * ACCURACY * value:
            return point, step, "gap"
        if time.perf_counter() > end:
            return point, step, "max_time"
        direction = -_solve_newton(features[active], costs[active], gradient)
        along = features @ direction
        length = _step(point, decisions, direction, along, loss)
        if length == 0.0:
            return point, step, "precision"
        point, decisions = point + length * direction, decisions + length * along
        value = _value(point, decisions, loss)
    return point, MOST_STEPS, "max_iter"


def _solve_newton(features: np.ndarray, costs: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """(I + Z'cZ)^-1 gradient over the rows that cost something: all eigenvalues are 1 or more."""
    scaled = features * np.sqrt(costs)[:, None]
    hessian = scaled.T @ scaled
    hessian[np.diag_indices_from(hessian)] += 1.0
    return np.asarray(cho_solve(cho_factor(hessian, overwrite_a=True), gradient))


def _step(point: np.ndarray, decisions: np.ndarray, direction: np.ndarray, along: np.ndarray, loss: Loss) -> float:
    """1, or the first half of it that lowers P by a part of what its slope promises; 0 if rounding leaves none."""
    value, excess = _value(point, decisions, loss), loss.excess(decisions)
    slope = point @ direction - (loss.costs(excess) * excess) @ along
    for halvings in range(50):
        length = 0.5**halvings
        if _value(point + length * direction, decisions + length * along, loss) < value + 1e-4 * length * slope:
            return length
    return 0.0


def _value(point: np.ndarray, decisions: np.ndarray, loss: Loss) -> float:
    return float(point @ point + loss.value(decisions)) / 2
