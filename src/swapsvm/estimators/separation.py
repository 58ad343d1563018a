"""The hard margin (C = inf): nearest points of two hulls, and the proof that there is none to be found.

Without a ridge, f = a'Qa is the squared norm of sum_i a_i y_i (phi(x_i), 1). For every w and b of |w|^2 + b^2 = 1 the
margin min_i y_i (w'phi(x_i) + b) is at most the mean of its values under the weights a, hence at most sqrt(f). So every
iterate bounds every margin, and weights of f = 0 are a point that the hulls of both classes have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problems import L2SVC
from ..solve import Result
from ..stopping import Progress, Stop
from .subproblems import Subproblem

LEAST_MARGIN = 1e-6  # as a part of the largest |(phi(x), 1)|; f, its square, is known to 1e-15 of the largest Q_ii


class NotSeparableError(ValueError):
    """No hyperplane separates two classes with a margin that double precision can tell from 0.

    Attributes
    ----------
    classes : tuple
        The labels of the two.
    margin : float
        No hyperplane (w, b) of |w|^2 + b^2 = 1 has a larger margin.
    rows, weights : array
        The certificate: rows of the data and the weights, of sum 1, under which ``sum_i a_i y_i (phi(x_i), 1)`` is as
        short as ``margin``. At 0 they are a point that the hulls of both classes have.
    """

    def __init__(self, message: str, classes: tuple[Any, ...], margin: float, rows: np.ndarray, weights: np.ndarray):
        super().__init__(message, classes, margin, rows, weights)
        self.classes, self.margin, self.rows, self.weights = classes, margin, rows, weights

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Inseparable(Stop):
    """Ends a run once it has proved that no margin is above ``margin``."""

    margin: float

    @classmethod
    def of(cls, problem: L2SVC) -> Inseparable:
        """For the least margin that is told from 0."""
        return cls(LEAST_MARGIN * _size(problem))

    def __call__(self, progress: Progress) -> str | None:
        return "not separable" if -progress.value <= self.margin**2 else None


def check_separable(sub: Subproblem, problem: L2SVC, result: Result) -> None:
    """Refuse weights that prove the classes inseparable, or that the arithmetic leaves undecided."""
    size, f = _size(problem), -result.value
    undecided = result.stop_reason == "precision" and result.gap >= 2 * f  # the least h is f - gap/2: not above 0
    if not (f <= (LEAST_MARGIN * size) ** 2 or undecided):
        return
    margin = float(np.sqrt(max(f, 0.0) + 1e-15 * size**2))
    active = np.flatnonzero(result.weights)
    message = (
        f"C=inf needs separable classes: no hyperplane separates {sub.name} with a margin above {margin:.2g}, where "
        f"the largest |(phi(x), 1)| is {size:.3g}. {len(active)} rows prove it: see the attributes rows and weights of "
        "this error. Centre and scale the data, use a finite C, or another kernel"
    )
    raise NotSeparableError(message, sub.labels, margin, problem.rows[active], result.weights[active])


def _size(problem: L2SVC) -> float:
    """The largest |(phi(x), 1)|."""
    return float(np.sqrt(problem.gram.diagonal()[problem.rows].max() + problem.bias))
