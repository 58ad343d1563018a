"""The ellipsoid of least volume around points.

Its dual maximizes log det sum_i a_i z_i z_i' over the simplex, z = (1, x). At weights a with mean c, covariance S and
largest squared Mahalanobis distance r = max_i (x_i - c)' S^-1 (x_i - c) the ellipsoid (x - c)' S^-1 (x - c) <= r holds
all points, and none that does has less than (d / r)^(d/2) of its volume: r = d at the optimum. Proof: det S at the
optimal weights is no smaller, and the optimal ellipsoid is that of d times its S.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import exp, expm1, inf, log, log1p, pi

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from ..arrays import MatrixLike
from ..parameters import check_number
from ..problems import LogDeterminant
from ..problems.log_determinant import EPSILON
from ..result import Result
from ..run import Run
from ..solvers import Solver, make_solver
from ..state import open_state
from ..stopping import make_stop
from ._base import Certified, checked_points, warn_unfinished

START = 20  # random points of the first problem, in addition to some that span the space
_FLAT = "X has {}, and no least ellipsoid: leave out constant and dependent columns, or project onto the principal axes"
LARGEST = 700.0  # logarithm of a volume: exp(709) is the largest double


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Ellipsoid(Certified):
    """The ellipsoid (x - center)' matrix (x - center) <= 1, which contains all points.

    Attributes
    ----------
    center : array of shape (d,)
    matrix : array of shape (d, d)
        Symmetric and positive definite; the farthest point is on the boundary.
    volume : float
        Of this ellipsoid: ``upper_bound``. No ellipsoid around the points has less than ``lower_bound``.
    """

    center: np.ndarray
    matrix: np.ndarray
    volume: float


def min_enclosing_ellipsoid(
    X: MatrixLike,
    *,
    tol: float = 1e-6,
    solver: str | Solver = "block",
    max_iter: int = -1,
    max_time: float | None = None,
) -> Ellipsoid:
    """The ellipsoid of least volume around points.

    Parameters
    ----------
    X : array of shape (m, d)
        Points as rows. They must not lie in a plane, where the least volume is 0.
    tol : float
        The volume is certified to be at most (1 + tol) times the least one.
    solver : {"fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified", "fcfw", "block"}
        ``"block"`` solves the problem of few points, adds those outside, and repeats: a handful of passes over X.
    max_iter : int
        Maximum number of iterations; -1 for no limit.
    max_time : float, optional
        Limit in seconds, not including the certifying pass.

    Returns
    -------
    Ellipsoid

    Warns
    -----
    ConvergenceWarning
        If the volume is not as close to the least one as ``tol`` requires. The ellipsoid still contains all points.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm.geometry import min_enclosing_ellipsoid
    >>> square = np.array([[-2, -1], [-2, 1], [2, -1], [2, 1]])
    >>> found = min_enclosing_ellipsoid(square)
    >>> found.matrix.round(6)
    array([[0.125, 0.   ],
           [0.   , 0.5  ]])
    >>> round(found.volume / np.pi, 6), found.stop_reason
    (4.0, 'gap')
    """
    began = time.perf_counter()
    check_number("tol", tol, lambda number: 0 <= number < inf, "a finite number, 0 or more")
    points = checked_points(X, "X").astype(np.float64, copy=False)
    box = Box.around(points)
    _refuse_extremes(box.half)
    unit = box.inside(points)
    _refuse_flat(unit, np.abs(points).max(axis=0) / box.half)
    d = unit.shape[1]
    # r <= d (1 + tol)^(2/d), and the gap of the dual is r - d; a little less, since the certificate has rounding
    stop = make_stop(0.0, d * expm1(2 * log1p(0.99 * tol) / d), max_iter, _seconds_for_run(max_time, began))
    run = Run(open_state(LogDeterminant(np.column_stack([np.ones(len(unit)), unit]))), make_solver(solver), stop)
    run.begin(None, START, np.random.default_rng(0))
    result = _certified(points, box, run.finish(), tol)
    warn_unfinished(result, "min_enclosing_ellipsoid")
    return result


def _seconds_for_run(max_time: float | None, began: float) -> float | None:
    """The rest of a limit. The bounds at the end take about as long as the checks before the run."""
    if max_time is None or not max_time > 0:
        return max_time
    return max(max_time - 2 * (time.perf_counter() - began), 1e-9)


@dataclass(frozen=True)
class Box:
    """The bounding box. The ellipsoid does not depend on units and origin of the coordinates; rounding does."""

    middle: np.ndarray
    half: np.ndarray

    @classmethod
    def around(cls, points: np.ndarray) -> Box:
        """Of these points; a side of no length is taken as 1."""
        low, high = points.min(axis=0) / 2, points.max(axis=0) / 2
        return cls(low + high, np.where(high > low, high - low, 1.0))

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Coordinates from -1 to 1."""
        return (points - self.middle) / self.half


def _refuse_flat(unit: np.ndarray, largest: np.ndarray) -> None:
    """Refuse points that lie in a plane up to rounding: they have no ellipsoid, or no matrix for it."""
    spread = np.linalg.svd(np.linalg.qr(unit - unit.mean(axis=0), mode="r"), compute_uv=False)
    m, d = unit.shape
    digits = 4 * EPSILON * float(np.linalg.norm(np.maximum(largest, 1.0))) * m**0.5
    rank = int((spread > max(digits, (4 * d * EPSILON) ** 0.5 * spread[0])).sum())
    if rank < d:
        raise ValueError(_FLAT.format(f"{m} points that span {rank} of {d} dimensions, up to rounding"))


def _refuse_extremes(half: np.ndarray) -> None:
    extreme = np.flatnonzero((half < 1e-150) | (half > 1e150))
    if len(extreme):
        side = 2 * half[extreme[0]]
        raise ValueError(f"column {extreme[0]} of X extends over {side:.0e}: scale it, squares overflow or vanish")


def _certified(points: np.ndarray, box: Box, found: Result, tol: float) -> Ellipsoid:
    """The ellipsoid of these weights in the coordinates of the points, and the bounds."""
    center, triangle = _mean_and_factor(points, box, found.weights)
    matrix = _holding(points, center, triangle, box.half)
    d = len(center)
    axes = np.linalg.eigvalsh(box.half[:, None] * matrix * box.half)
    rounding = 8 * d * EPSILON * axes[-1] / axes[0] if axes[0] > 0 else inf  # of the logarithm of a determinant
    if not rounding < 1:
        raise ValueError(_FLAT.format("points that are too flat for a matrix in double precision"))
    upper = -float(np.log(axes).sum()) / 2
    lower = min(d * log(d) / 2 + float(np.log(np.abs(np.diag(triangle))).sum()) - rounding, upper)
    unit_ball = d / 2 * log(pi) - float(gammaln(d / 2 + 1)) + float(np.log(box.half).sum())
    if abs(unit_ball + upper) > LARGEST:
        raise ValueError(f"the volume, 1e{(unit_ball + upper) / log(10):+.0f}, is beyond double precision: scale X")
    volume = exp(unit_ball + upper)
    return Ellipsoid(
        center=center,
        matrix=matrix,
        volume=volume,
        weights=found.weights,
        coreset=np.flatnonzero(found.weights),
        lower_bound=exp(unit_ball + lower),
        upper_bound=volume,
        stop_reason="precision" if found.converged and upper - lower > log1p(tol) else found.stop_reason,
        iterations=found.iterations,
    )


def _mean_and_factor(points: np.ndarray, box: Box, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and the triangle R with R'R = S in the coordinates of the box."""
    support = np.flatnonzero(weights)
    active, unit = weights[support], box.inside(points[support])
    mean = active @ unit
    triangle = np.asarray(np.linalg.qr(np.sqrt(active)[:, None] * (unit - mean), mode="r"))
    return box.middle + box.half * mean, triangle


def _holding(points: np.ndarray, center: np.ndarray, triangle: np.ndarray, half: np.ndarray) -> np.ndarray:
    """S^-1 divided by what (x - center)' S^-1 (x - center) is at most, with the error of its rounding."""
    inverse = solve_triangular(triangle, np.eye(len(center)))
    matrix = inverse @ inverse.T / half / half[:, None]
    apart = points - center
    distance = np.einsum("ij,ij->i", apart @ matrix, apart)
    magnitude = np.einsum("ij,ij->i", np.abs(apart) @ np.abs(matrix), np.abs(apart))
    return matrix / float((distance + 4 * len(center) * EPSILON * magnitude).max())
