"""What all results have in common, and the checks of points."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ..arrays import MatrixLike
from ..parameters import check_number
from ..stopping import ConvergenceWarning

OneOrTwo: TypeAlias = np.ndarray | tuple[np.ndarray, np.ndarray]  # of one set of points, or of two

ADVICE = {
    "max_iter": "raise max_iter or tol",
    "max_time": "raise max_time or tol",
    "precision": "double precision resolves no better: raise tol",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Certified:
    """A solution between two bounds, both computed in double from the weights.

    Attributes
    ----------
    weights : array
        One nonnegative number per point, of sum 1.
    coreset : array of int
        The points of positive weight, ascending. The problem on them alone has the same answer, up to the gap.
    lower_bound, upper_bound : float
        The optimum lies between them.
    gap : float
        ``upper_bound - lower_bound``.
    stop_reason : str
        ``"gap"``: the bounds are as close as ``tol`` requires; else ``"max_iter"``, ``"max_time"``, ``"precision"``
        (the arithmetic resolves no better) or ``"zero"`` (a distance that cannot be distinguished from 0).
    iterations : int
        Steps made.
    """

    weights: OneOrTwo
    coreset: OneOrTwo
    lower_bound: float
    upper_bound: float
    stop_reason: str
    iterations: int

    @property
    def gap(self) -> float:
        """upper_bound - lower_bound."""
        return self.upper_bound - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """gap / lower_bound: an upper bound on the relative error."""
        return self.gap / self.lower_bound if self.lower_bound > 0 else (float("inf") if self.gap > 0 else 0.0)

    @property
    def converged(self) -> bool:
        """Whether the bounds are as close as was asked for."""
        return self.stop_reason in ("gap", "zero")

    def __repr__(self) -> str:
        common = {field.name for field in fields(Certified)}
        own = [field.name for field in fields(self) if field.name not in common]
        names = [*own, "weights", "coreset", "lower_bound", "upper_bound", "gap", "stop_reason", "iterations"]
        width = max(map(len, names))
        return "\n".join(f"{name:>{width}}: {_short(getattr(self, name))}" for name in names)


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, tuple):
        return ", ".join(map(_short, value))
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=8, precision=6, max_line_width=10**6)
    return str(value)


def checked_points(X: MatrixLike, name: str) -> np.ndarray:
    """Points as the rows of a float32 or float64 matrix, not copied; other numbers become float64."""
    if sp.issparse(X):
        raise ValueError(f"{name} is a sparse matrix: points are the rows of a dense one, use {name}.toarray()")
    try:
        points = np.asarray(X)
        points = points if points.dtype in (np.float32, np.float64) else points.astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of numbers, one point in each row: {error}") from None
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"{name} has shape {points.shape}: it must be a matrix with at least one point (row) and column"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(points.sum(dtype=np.float64))  # no temporary array for points that are finite
    if suspicious and not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"{name} contains NaN or infinity, first in row {row}")
    return points


def check_tolerances(**tolerances: float) -> None:
    """``ValueError`` unless each is a number from 0 to below 1."""
    for name, value in tolerances.items():
        check_number(name, value, lambda number: 0 <= number < 1, "a number, 0 or more and below 1")


def warn_unfinished(result: Certified, what: str) -> None:
    """Warn why a run ended before its bounds met, and how to get closer."""
    if not result.converged:
        message = (
            f"{what} stopped by {result.stop_reason!r} between the bounds {result.lower_bound:.6g} and "
            f"{result.upper_bound:.6g}, which hold; for closer ones "
            f"{ADVICE.get(result.stop_reason, 'let it run longer')}."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
