"""The smallest ball around some points: max over the simplex of sum_i a_i |x_i - c|^2, c = sum_i a_i x_i.

That value is a lower bound of the squared radius, and the gap of the simplex problem is max_i |x_i - c|^2 minus it. So
a radius of at most (1 + tol) times the lower bound is a relative gap of (1 + tol)^2 - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import MatrixLike
from ..problems.hull import BallHull
from ..solvers import Solver
from ..stopping import make_stop
from ._base import Certified, check_tolerances, checked_points, warn_unfinished
from ._run import MOST_PASSES, End, reason_that_holds, rounding, run_on


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
    """A ball around all points whose radius is at most ``1 + tol`` times the smallest possible, with the proof.

    For a given ``tol`` the number of passes over the points does not depend on how many there are, nor does the size of
    the coreset.

    Parameters
    ----------
    X : array of shape (n_points, n_dimensions)
        Points as rows. float32 stays float32, a memory-mapped array stays where it is: rows are read in pieces.
    tol : float
        Stop when the radius is at most ``1 + tol`` times its lower bound.
    solver : {"block", "fcfw", "fw", "mfw", "swap", "swap2"}
        ``"fcfw"`` is the algorithm of Badoiu and Clarkson, one more point a step; ``"block"`` adds 64 at a time.
    max_iter : int
        Most steps, each a pass over the points; -1 for no limit.
    max_time : float, optional
        Most seconds.

    Returns
    -------
    EnclosingBall

    Warns
    -----
    ConvergenceWarning
        If a limit ends the run. The ball encloses all points and the bounds hold all the same.

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
    end = run_on(hull, solver, make_stop(tol * (2 + tol), 0.0, max_iter, max_time))
    center = hull.points.first + hull.unit * end.point
    radius = hull.points.radius(center) * (1 + rounding(len(center)))
    lower = min(_lower_bound(hull, end), radius)
    result = EnclosingBall(
        center=center,
        radius=radius,
        weights=np.bincount(end.vertices, end.weights, len(points)),
        coreset=np.sort(end.vertices),
        lower_bound=lower,
        upper_bound=radius,
        stop_reason=reason_that_holds(end.stop_reason, lower, radius, tol),
        iterations=end.iterations,
    )
    warn_unfinished(result, "min_enclosing_ball")
    return result


def _lower_bound(hull: BallHull, end: End) -> float:
    """sqrt(sum_i a_i |z_i|^2 - |sum_i a_i z_i|^2), less what rounding may have added: |z_i| is at most the diameter."""
    error = rounding(len(end.point) + len(end.weights)) * 4 * float(hull.half_squares.max())
    return hull.unit * float(np.sqrt(max(end.value - error, 0.0)))
