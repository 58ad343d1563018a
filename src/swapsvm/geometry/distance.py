"""Nearest points of two polytopes: the point nearest to the origin in their Minkowski difference.

Its vertices are the p_i - q_j, and the oracle separates: min_ij (p_i - q_j)'w = min_i p_i'w - max_j q_j'w. Divided by
|w| that is the width of the empty slab between the hulls across w, a lower bound of their distance; |w| itself is the
upper bound. As for the norm point, |w| <= (1 + tol) times the lower bound is a relative gap of 2 tol / (1 + tol).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import MatrixLike
from ..problems.hull import DifferenceHull
from ..solvers import Solver
from ..stopping import make_stop
from ._base import Certified, check_tolerances, checked_points, warn_unfinished
from ._run import MOST_PASSES, End, Zero, reason_that_holds, rounding, run_on


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
        A distance of at most ``zero_tol`` times the size of the points cannot be told from 0: the hulls intersect as
        far as can be said (``stop_reason`` ``"zero"``, no normal), and ``p`` and ``q`` are a point that both have.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2"}
        ``"fw"`` is Gilbert's algorithm; ``"block"`` adds 64 pairs of points at a time and solves on those that it has.
    max_iter : int
        Most steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Most seconds.

    Returns
    -------
    PolytopeDistance

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The bounds, and the hyperplane if there is one, hold all the same.

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
    result = _result(hull, run_on(hull, solver, stop), tol, zero_tol)
    warn_unfinished(result, "polytope_distance")
    return result


def _result(hull: DifferenceHull, end: End, tol: float, zero_tol: float) -> PolytopeDistance:
    i, j = hull.pairs(end.vertices)
    weights = np.bincount(i, end.weights, hull.p.count), np.bincount(j, end.weights, hull.q.count)
    upper = hull.unit * float(np.linalg.norm(end.point))
    normal, middle, width = _slab(hull, end.point)
    lower = min(max(width - rounding(len(normal)) * hull.unit, 0.0), upper)
    return PolytopeDistance(
        p=hull.p.mean(weights[0]),
        q=hull.q.mean(weights[1]),
        distance=upper,
        normal=normal if lower > 0 else None,
        offset=middle if lower > 0 else None,
        weights=weights,
        coreset=(np.unique(i), np.unique(j)),
        lower_bound=lower,
        upper_bound=upper,
        stop_reason="zero" if upper <= zero_tol * hull.unit else reason_that_holds(end.stop_reason, lower, upper, tol),
        iterations=end.iterations,
    )


def _slab(hull: DifferenceHull, w: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Normal, middle and width of the slab across w that has P above it and Q below."""
    length = float(np.linalg.norm(w))
    normal = w / length if length > 0 else w
    p, q = hull.p.along(normal).min(), hull.q.along(normal).max()
    width = float((hull.p.first - hull.q.first) @ normal + p - q)
    return normal, float(hull.q.first @ normal + q + width / 2), width
