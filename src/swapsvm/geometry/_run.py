"""One run of the loop on a hull."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problems.hull import Hull
from ..solve import Run
from ..solvers import Solver, make_solver
from ..state.hull import HullState
from ..stopping import Progress, Stop

MOST_PASSES = 10_000  # ten or twenty do for blocks; Frank-Wolfe may want any number of them


@dataclass(frozen=True)
class Zero(Stop):
    """A length of at most ``length``, in the hull's unit, whose square is the value."""

    length: float

    def __call__(self, progress: Progress) -> str | None:
        return "zero" if abs(progress.value) <= self.length**2 else None


@dataclass(frozen=True)
class End:
    """Where a run ended: weights of vertices, and the point and the value in the hull's unit."""

    vertices: np.ndarray
    weights: np.ndarray
    point: np.ndarray
    value: float
    stop_reason: str
    iterations: int


def run_on(hull: Hull, solver: str | Solver, stop: Stop) -> End:
    """Maximize over the hull, from its first vertex."""
    state = HullState(hull, np.zeros(1, np.int64))
    run = Run(state, make_solver(solver), stop)
    run.begin(np.ones(1), 1, np.random.default_rng(0))
    result = run.finish()
    active = state.support
    return End(
        vertices=state.vertices[active],
        weights=state.weights[active],
        point=state.point,
        value=result.value,
        stop_reason=result.stop_reason,
        iterations=result.iterations,
    )


def rounding(terms: int) -> float:
    """A bound on the relative rounding of a sum of this many products of differences."""
    return (terms + 4) * float(np.finfo(np.float64).eps)


def reason_that_holds(reason: str, lower: float, upper: float, tol: float) -> str:
    """The reason, unless the bounds, computed afresh, are not as close as the run believed."""
    return "precision" if reason == "gap" and upper > (1 + tol) * lower else reason
