"""The first point of a run."""

from __future__ import annotations

import numpy as np

from .solvers import SecondOrderSwap, Solver
from .state import State

ACCURACY = 1e-6  # relative gap on the first face


def first_point(state: State, solver: Solver, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random variables and their weights: the solution on their face, for solvers that begin with one."""
    if int(size) != size or size < 1:
        raise ValueError(f"start_size={size!r} must be a positive integer")
    variables = state.start_variables(int(size), rng)
    if not solver.solves_start:
        return variables, state.start_weights(variables)
    return variables, state.face(variables).solve(SecondOrderSwap(), tol=ACCURACY)


def given_point(start: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All variables and the weights that a user gave."""
    weights = np.asarray(start, dtype=np.float64)
    if weights.shape != (size,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"start must be {size} finite weights, none negative and not all zero")
    return np.arange(size), weights
