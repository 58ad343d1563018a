"""The point of a hull that is nearest to the origin: min |sum_i a_i z_i| over the simplex.

Every w gives the lower bound min_i z_i'w / |w|, and every w of the hull the upper bound |w|. The gap of g = -|w|^2 is
2 (|w|^2 - min_i z_i'w), so |w| <= (1 + tol) times the lower bound is a relative gap of 2 tol / (1 + tol).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import MatrixLike
from ..problems.hull import PointHull
from ..solvers import Solver
from ..stopping import make_stop
from ._base import Certified, check_tolerances, checked_points, warn_unfinished
from ._run import MOST_PASSES, Zero, reason_that_holds, rounding, run_on


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
        A norm of at most ``zero_tol`` times the size of the points cannot be told from 0: the run stops
        (``stop_reason`` ``"zero"``), since no relative accuracy is to be had if the origin is in the hull.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2"}
        ``"fw"`` is Gilbert's algorithm and the swaps of ``"swap"`` are those of Mitchell, Demyanov and Malozemov;
        ``"block"`` adds 64 points at a time and solves on those that it has.
    max_iter : int
        Most steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Most seconds.

    Returns
    -------
    NormPoint

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The bounds hold all the same.

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
    end = run_on(hull, solver, stop)
    upper = hull.unit * float(np.linalg.norm(end.point))
    lower = min(_lowest_along(hull, end.point), upper)
    result = NormPoint(
        point=hull.unit * end.point,
        weights=np.bincount(end.vertices, end.weights, len(points)),
        coreset=np.sort(end.vertices),
        lower_bound=lower,
        upper_bound=upper,
        stop_reason="zero" if upper <= zero_tol * hull.unit else reason_that_holds(end.stop_reason, lower, upper, tol),
        iterations=end.iterations,
    )
    warn_unfinished(result, "min_norm_point")
    return result


def _lowest_along(hull: PointHull, w: np.ndarray) -> float:
    """max(0, min_i z_i'w / |w|), less what rounding may have added."""
    length = float(np.linalg.norm(w))
    if length == 0:
        return 0.0
    normal = w / length
    lowest = float(hull.points.first @ normal + hull.points.along(normal).min())
    return max(0.0, lowest - rounding(len(w)) * hull.unit)
