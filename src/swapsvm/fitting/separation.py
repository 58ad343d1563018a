"""The hard margin (C = inf): nearest points of two hulls, and the proof that two classes cannot be separated.

Without a ridge, f = a'Qa is the squared norm of sum_i a_i y_i (phi(x_i), 1). For every w and b of |w|^2 + b^2 = 1 the
margin min_i y_i (w'phi(x_i) + b) is at most the mean of its values under the weights a, hence at most sqrt(f). So every
iterate bounds every margin, and weights with f = 0 are a common point of the hulls of both classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problems import Quadratic
from ..result import Result
from ..stopping import Progress, Stop

LEAST_MARGIN = 1e-6  # relative to the largest |(phi(x), 1)|; f, its square, is known to 1e-15 of the largest Q_ii


class NotSeparableError(ValueError):
    """No hyperplane separates two classes with a margin that double precision can distinguish from 0.

    Attributes
    ----------
    classes : tuple
        The two class labels.
    margin : float
        No hyperplane (w, b) of |w|^2 + b^2 = 1 has a larger margin.
    rows, weights : array
        The certificate: rows of the data and weights that sum to 1, for which ``sum_i a_i y_i (phi(x_i), 1)`` is as
        short as ``margin``. If that is 0, they are a common point of the hulls of both classes.
    """

    def __init__(self, message: str, classes: tuple[object, ...], margin: float, rows: np.ndarray, weights: np.ndarray):
        super().__init__(message, classes, margin, rows, weights)
        self.classes, self.margin, self.rows, self.weights = classes, margin, rows, weights

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Inseparable(Stop):
    """Ends a run once it has proved that no margin is above ``margin``."""

    margin: float

    @classmethod
    def of(cls, problem: Quadratic) -> Inseparable:
        """With the least margin that can be distinguished from 0."""
        return cls(LEAST_MARGIN * _size(problem))

    def __call__(self, progress: Progress) -> str | None:
        return "not separable" if -progress.value <= self.margin**2 else None


def check_separable(name: str, classes: tuple[object, ...], problem: Quadratic, result: Result) -> None:
    """Raise ``NotSeparableError`` if the weights prove the classes inseparable, or if rounding leaves that open."""
    size, f = _size(problem), -result.value
    undecided = result.stop_reason == "precision" and result.simplex_gap >= 2 * f  # the least h is f - gap/2 <= 0
    if not (f <= (LEAST_MARGIN * size) ** 2 or undecided):
        return
    margin = float(np.sqrt(max(f, 0.0) + 1e-15 * size**2))
    active = np.flatnonzero(result.weights)
    message = (
        f"C=inf needs separable classes: no hyperplane separates {name} with a margin above {margin:.2g}, where "
        f"the largest |(phi(x), 1)| is {size:.3g}. {len(active)} rows prove it: see the attributes rows and weights of "
        "this error. Centre and scale the data, use a finite C, or another kernel"
    )
    raise NotSeparableError(message, classes, margin, problem.rows[active], result.weights[active])


def _size(problem: Quadratic) -> float:
    """The largest |(phi(x), 1)|."""
    return float(np.sqrt(problem.gram.diagonal()[problem.rows].max() + problem.bias))
