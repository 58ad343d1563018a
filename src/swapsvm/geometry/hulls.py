"""Each one run of the loop on a hull: the smallest ball, the point nearest to the origin, the distance of polytopes.

The ball maximizes sum_i a_i |x_i - c|^2 over the simplex, c = sum_i a_i x_i. That value is a lower bound of the squared
radius, and the gap of the simplex problem is max_i |x_i - c|^2 minus it. So a radius of at most (1 + tol) times the
lower bound is a relative gap of (1 + tol)^2 - 1.

The norm point minimizes |w| over a hull. Every w gives the lower bound min_i z_i'w / |w|, and every w of the hull the
upper bound |w|. The gap of g = -|w|^2 is 2 (|w|^2 - min_i z_i'w), so |w| <= (1 + tol) times the lower bound is a
relative gap of 2 tol / (1 + tol).

The distance of two polytopes is the norm of their Minkowski difference. Its vertices are the p_i - q_j, and the oracle
separates: min_ij (p_i - q_j)'w = min_i p_i'w - max_j q_j'w. Divided by |w| that is the width of the empty slab between
the hulls across w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import MatrixLike
from ..problems.hull import BallHull, DifferenceHull, Hull, PointHull
from ..result import Result
from ..run import Run
from ..solvers import Solver, make_solver
from ..state.hull import HullState
from ..stopping import Progress, Stop, make_stop
from ._base import Certified, check_tolerances, checked_points, warn_unfinished

MOST_PASSES = 10_000  # blocks take ten or twenty; Frank-Wolfe may take any number


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EnclosingBall(Certified):
    """A ball that encloses all points. The bounds are bounds of the smallest radius.

    Attributes
    ----------
    center : array
        ``weights @ X``.
    radius : float
        Distance of the farthest point from the center: the upper bound.
    """

    center: np.ndarray
    radius: float


def min_enclosing_ball(
    X: MatrixLike,
    *,
    tol: float = 1e-6,
    solver: str | Solver = "block",
    max_iter: int = MOST_PASSES,
    max_time: float | None = None,
) -> EnclosingBall:
    """A ball around all points whose radius is at most ``1 + tol`` times the smallest possible, with certified bounds.

    For a given ``tol`` the number of passes over the points does not depend on how many there are, nor does the size of
    the coreset.

    Parameters
    ----------
    X : array of shape (n_points, n_dimensions)
        Points as rows. float32 stays float32, a memory-mapped array stays where it is: rows are read in pieces.
    tol : float
        Stop when the radius is at most ``1 + tol`` times its lower bound.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified"}
        ``"fcfw"`` is the algorithm of Badoiu and Clarkson, one more point a step; ``"block"`` adds 64 at a time.
    max_iter : int
        Maximum number of steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Limit in seconds.

    Returns
    -------
    EnclosingBall

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The ball still encloses all points, and the bounds hold.

    Examples
    --------
    >>> from swapsvm.geometry import min_enclosing_ball
    >>> ball = min_enclosing_ball([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [0.0, 2.0]])
    >>> ball.center.round(6), round(ball.radius, 6), ball.coreset
    (array([1., 1.]), 1.414214, array([1, 3]))
    """
    points = checked_points(X, "X")
    check_tolerances(tol=tol)
    hull = BallHull(points)
    state, end = run_on(hull, solver, make_stop(tol * (2 + tol), 0.0, max_iter, max_time))
    weights = np.bincount(state.vertices, state.weights, len(points))
    center = hull.points.first + hull.unit * state.point
    radius = hull.points.radius(center) * (1 + rounding(len(center)))
    # sqrt(sum_i a_i |z_i|^2 - |sum_i a_i z_i|^2), less what rounding may have added: |z_i| is at most the diameter
    error = rounding(len(center) + state.support_size) * 4 * float(hull.half_squares.max())
    lower = min(hull.unit * float(np.sqrt(max(end.value - error, 0.0))), radius)
    result = EnclosingBall(
        center=center,
        radius=radius,
        weights=weights,
        coreset=np.flatnonzero(weights),
        lower_bound=lower,
        upper_bound=radius,
        stop_reason=reason_that_holds(end.stop_reason, lower, radius, tol),
        iterations=end.iterations,
    )
    warn_unfinished(result, "min_enclosing_ball")
    return result


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NormPoint(Certified):
    """The point of a hull nearest to the origin. The bounds are bounds of its norm.

    Attributes
    ----------
    point : array
        ``weights @ Z``; its norm is the upper bound.
    """

    point: np.ndarray


def min_norm_point(
    Z: MatrixLike,
    *,
    tol: float = 1e-6,
    zero_tol: float = 1e-9,
    solver: str | Solver = "block",
    max_iter: int = MOST_PASSES,
    max_time: float | None = None,
) -> NormPoint:
    """The point of the convex hull of some points that is nearest to the origin.

    Parameters
    ----------
    Z : array of shape (n_points, n_dimensions)
        Points as rows. float32 stays float32, a memory-mapped array stays where it is: rows are read in pieces.
    tol : float
        Stop when the norm is at most ``1 + tol`` times its lower bound.
    zero_tol : float
        A norm of at most ``zero_tol`` times the size of the points cannot be distinguished from 0: the run
        stops (``stop_reason`` ``"zero"``), since no relative accuracy exists if the origin is in the hull.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified"}
        ``"fw"`` is Gilbert's algorithm and the swaps of ``"swap"`` are those of Mitchell, Demyanov and Malozemov;
        ``"block"`` adds 64 points at a time and solves on those that it has.
    max_iter : int
        Maximum number of steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Limit in seconds.

    Returns
    -------
    NormPoint

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The bounds still hold.

    Examples
    --------
    >>> from swapsvm.geometry import min_norm_point
    >>> found = min_norm_point([[0.0, 2.0], [2.0, 0.0], [3.0, 3.0]])
    >>> found.point, found.coreset, found.stop_reason
    (array([1., 1.]), array([0, 1]), 'gap')
    """
    points = checked_points(Z, "Z")
    check_tolerances(tol=tol, zero_tol=zero_tol)
    hull = PointHull(points)
    stop = make_stop(2 * tol / (1 + tol), 0.0, max_iter, max_time) | Zero(zero_tol)
    state, end = run_on(hull, solver, stop)
    weights = np.bincount(state.vertices, state.weights, len(points))
    normal = _direction(state.point)
    lowest = float(hull.points.first @ normal + hull.points.along(normal).min())
    lower, upper = _bounds(state, lowest)
    result = NormPoint(
        point=hull.unit * state.point,
        weights=weights,
        coreset=np.flatnonzero(weights),
        lower_bound=lower,
        upper_bound=upper,
        stop_reason="zero" if upper <= zero_tol * hull.unit else reason_that_holds(end.stop_reason, lower, upper, tol),
        iterations=end.iterations,
    )
    warn_unfinished(result, "min_norm_point")
    return result


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PolytopeDistance(Certified):
    """Nearest points of two hulls. The bounds are bounds of their distance.

    ``weights`` and ``coreset`` are pairs: those of the points of P, and of Q.

    Attributes
    ----------
    p, q : array
        ``weights[0] @ P`` and ``weights[1] @ Q``.
    distance : float
        ``|p - q|``, the upper bound.
    normal : array or None
        A unit vector with ``P @ normal >= offset >= Q @ normal``: the hyperplane in the middle of an empty slab as wide
        as the lower bound. None if that is 0, that is, if no hyperplane is proved to separate the points.
    offset : float or None
    """

    p: np.ndarray
    q: np.ndarray
    distance: float
    normal: np.ndarray | None
    offset: float | None

    @property
    def separated(self) -> bool:
        """Whether the hyperplane is proved to separate the hulls, with a margin of half the lower bound."""
        return self.normal is not None


def polytope_distance(
    P: MatrixLike,
    Q: MatrixLike,
    *,
    tol: float = 1e-6,
    zero_tol: float = 1e-9,
    solver: str | Solver = "block",
    max_iter: int = MOST_PASSES,
    max_time: float | None = None,
) -> PolytopeDistance:
    """Nearest points of the convex hulls of two sets of points, and a hyperplane between them.

    Parameters
    ----------
    P, Q : arrays of shape (n_points, n_dimensions)
        Points as rows. float32 stays float32, a memory-mapped array stays where it is: rows are read in pieces.
    tol : float
        Stop when the distance is at most ``1 + tol`` times its lower bound.
    zero_tol : float
        A distance of at most ``zero_tol`` times the size of the points cannot be distinguished from 0: the hulls
        are taken to intersect (``stop_reason`` ``"zero"``, no normal), and ``p`` and ``q`` are a common point.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified"}
        ``"fw"`` is Gilbert's algorithm; ``"block"`` adds 64 pairs of points at a time and solves on those that it has.
    max_iter : int
        Maximum number of steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Limit in seconds.

    Returns
    -------
    PolytopeDistance

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The bounds, and the hyperplane if there is one, still hold.

    Examples
    --------
    >>> from swapsvm.geometry import polytope_distance
    >>> found = polytope_distance([[2.0, 0.0], [3.0, 1.0], [2.0, 2.0]], [[0.0, 1.0], [-1.0, 0.0]])
    >>> found.distance, found.normal, found.offset
    (2.0, array([1., 0.]), 1.0)
    """
    rows_p, rows_q = checked_points(P, "P"), checked_points(Q, "Q")
    if rows_p.shape[1] != rows_q.shape[1]:
        raise ValueError(f"P has points of dimension {rows_p.shape[1]}, Q of {rows_q.shape[1]}: they must be equal")
    check_tolerances(tol=tol, zero_tol=zero_tol)
    hull = DifferenceHull(rows_p, rows_q)
    stop = make_stop(2 * tol / (1 + tol), 0.0, max_iter, max_time) | Zero(zero_tol)
    state, end = run_on(hull, solver, stop)
    i, j = hull.pairs(state.vertices)
    weights = np.bincount(i, state.weights, hull.p.count), np.bincount(j, state.weights, hull.q.count)
    normal = _direction(state.point)
    lowest, highest = hull.p.along(normal).min(), hull.q.along(normal).max()
    width = float((hull.p.first - hull.q.first) @ normal + lowest - highest)  # of the slab with P above it and Q below
    lower, upper = _bounds(state, width)
    result = PolytopeDistance(
        p=hull.p.mean(weights[0]),
        q=hull.q.mean(weights[1]),
        distance=upper,
        normal=normal if lower > 0 else None,
        offset=float(hull.q.first @ normal + highest + width / 2) if lower > 0 else None,
        weights=weights,
        coreset=(np.flatnonzero(weights[0]), np.flatnonzero(weights[1])),
        lower_bound=lower,
        upper_bound=upper,
        stop_reason="zero" if upper <= zero_tol * hull.unit else reason_that_holds(end.stop_reason, lower, upper, tol),
        iterations=end.iterations,
    )
    warn_unfinished(result, "polytope_distance")
    return result


@dataclass(frozen=True)
class Zero(Stop):
    """A length of at most ``length``, in the hull's unit, whose square is the value."""

    length: float

    def __call__(self, progress: Progress) -> str | None:
        return "zero" if abs(progress.value) <= self.length**2 else None


def run_on(hull: Hull, solver: str | Solver, stop: Stop) -> tuple[HullState, Result]:
    """Maximize over the hull, from its first vertex."""
    state = HullState(hull, np.zeros(1, np.int64))
    run = Run(state, make_solver(solver), stop)
    run.begin(np.ones(1), 1, np.random.default_rng(0))
    return state, run.finish()


def rounding(terms: int) -> float:
    """A bound on the relative rounding of a sum of this many products of differences."""
    return (terms + 4) * float(np.finfo(np.float64).eps)


def reason_that_holds(reason: str, lower: float, upper: float, tol: float) -> str:
    """The reason, unless the recomputed bounds are not as close as the run claimed."""
    return "precision" if reason == "gap" and upper > (1 + tol) * lower else reason


def _direction(w: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(w))
    return w / length if length > 0 else w


def _bounds(state: HullState, lowest: float) -> tuple[float, float]:
    """min_i z_i'w / |w|, less what rounding may have added, and |w|, in the unit of the points."""
    w, unit = state.point, state.problem.unit
    upper = unit * float(np.linalg.norm(w))
    return min(max(lowest - rounding(len(w)) * unit, 0.0), upper), upper
