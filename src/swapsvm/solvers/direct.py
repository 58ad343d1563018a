"""The direct step: a quadratic of few variables, or of a small working set, solved by Cholesky factors in double.

    min x'Qx / 2 - p'x   over x >= 0, sum x = 1

On a face P of positive weights Q_PP x = p_P + lambda 1 with sum x = 1: two solves with one factor. Where the slack
vertex is in P, lambda is its score, 0. Block principal pivoting (Judice and Pires 1994, Kim and Park 2011) exchanges
all variables of the wrong sign at once: negative weights leave P, negative slopes enter it. Swaps zigzag where Q is
ill-conditioned; this takes 5 to 15 factors for any condition.

Q may be singular (no ridge, equal rows). So a proximal term sum_i d_i (x_i - z_i)^2 / 2 is added, d of the order of the
rounding of Q and z the last solution. It vanishes as z converges, which takes one or two rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..problems.quadratic import EPSILON, ROUNDING, Candidate, Program
from ..rays import Correction
from ..state import State, one_blas_thread
from .swap import SecondOrderSwap

LARGEST = 512  # rows: one factor takes 2 ms
FACTORS = 200  # most factors in one round of single exchanges, before a stronger proximal term is tried
ROUNDS = 8
PATIENCE = 4  # exchanges in a row that do not lower the number of wrong signs; then vertices change one at a time
STRONGER, STRONGEST = 1e3, 1e-4  # factor of the next proximal term, and the largest one as a part of Q_ii
REFINEMENTS = 4

Points = Iterator[tuple[np.ndarray, bool]]  # ever closer to the solution, and whether it is reached


@dataclass(frozen=True)
class Stationary:
    """The stationary point of a face, lambda there, the slopes, and which variables have the wrong sign."""

    x: np.ndarray
    multiplier: float
    slopes: np.ndarray
    wrong: np.ndarray
    exact: bool  # whether slopes on the face are 0, and the weights sum to 1, up to rounding


class Proximal:
    """The program with the term sum_i d_i (x_i - z_i)^2 / 2."""

    def __init__(self, program: Program, strength: float, center: np.ndarray) -> None:
        self.program, self.center = program, center
        self.term = strength * np.diagonal(program.Q)
        self.p = program.p + self.term * center
        self.passive = center > 0
        if program.grows:
            self.passive[program.slack] = True

    def exchange(self) -> Points:
        """Block principal pivoting, until the number of wrong signs no longer falls."""
        passive, fewest, patience = self.passive.copy(), len(self.p) + 1, PATIENCE
        while patience > 0:
            found = self._on_face(passive)
            if found is None:
                return
            count = int(found.wrong.sum())
            yield found.x, found.exact and not count
            if not count:
                return
            fewest, patience = (count, PATIENCE) if count < fewest else (fewest, patience - 1)
            passive ^= found.wrong
            if not passive.any():
                passive[np.argmax(self.p)] = True

    def descend(self) -> Points:
        """Lawson and Hanson: move toward the point of the face until a weight is 0; vertices enter one at a time.

        Dependent vertices drop out first: along them steps are short and the value does not change.
        """
        passive, x = self.passive.copy(), self.center
        for _ in range(FACTORS):
            found = self._on_face(passive)
            if found is None:
                return
            leaving = np.flatnonzero(found.wrong & passive)
            if len(leaving):
                steps = x[leaving] / (x[leaving] - found.x[leaving])
                x = np.maximum(x + steps.min() * (found.x - x), 0.0)
                passive[leaving[steps == steps.min()]] = False
                x[~passive] = 0.0
                yield x, False
                continue
            x = np.maximum(found.x, 0.0)
            yield x, found.exact and not found.wrong.any()
            if not found.wrong.any():
                return
            passive[np.argmin(np.where(found.wrong, found.slopes, np.inf))] = True

    def _on_face(self, passive: np.ndarray) -> Stationary | None:
        """None if Q is not positive definite on the face."""
        slack, rows = self.program.slack, np.flatnonzero(passive)
        free = slack < 0 or not passive[slack]  # else the slack makes lambda 0
        rows = rows[rows != slack]
        factor = self._factor(rows)
        if factor is None:
            return None
        ones, found = _solve(factor, np.ones(len(rows))), self._stationary(passive, np.zeros(len(passive)), 0.0)
        for _ in range(REFINEMENTS):  # the two parts of a step may nearly cancel
            step, x = _solve(factor, -found.slopes[rows]), found.x.copy()
            added = float((1.0 - x.sum() - step.sum()) / ones.sum()) if free else 0.0
            x[rows] += step + added * ones
            if not free and not self.program.grows:
                x[slack] = 1.0 - x[rows].sum()
            found = self._stationary(passive, x, found.multiplier + added)
            if found.exact:
                break
        return found if np.isfinite(found.slopes).all() else None

    def _stationary(self, passive: np.ndarray, x: np.ndarray, multiplier: float) -> Stationary:
        """Negative weights in P and negative slopes outside it are wrong if they exceed rounding."""
        slopes = self.program.Q @ x + self.term * x - self.p - multiplier
        rounding = ROUNDING * (self.program.size(x) + abs(multiplier))
        wrong = np.where(passive, x < -ROUNDING * np.abs(x).max(), slopes < -rounding)
        short = 0.0 if self.program.grows else abs(1.0 - float(x.sum()))
        exact = short <= ROUNDING * np.abs(x).sum() and (np.abs(slopes) <= rounding)[passive].all()
        return Stationary(x, multiplier, slopes, wrong, bool(exact))

    def _factor(self, rows: np.ndarray) -> np.ndarray | None:
        """L of Q + D = L L' on a face."""
        matrix = self.program.Q[np.ix_(rows, rows)]
        matrix[np.diag_indices_from(matrix)] += self.term[rows]
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0) if len(rows) else (matrix, 0)
        return None if failed else factor


def _solve(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    return dpotrs(factor, right, lower=1)[0] if len(right) else right


def solve_directly(program: Program, start: np.ndarray, late: Callable[[], bool] = lambda: False) -> Candidate:
    """The solution, or the best point found, which never has a larger gap or a lower value than the start.

    Rounds end when one does not halve the gap, or when it is ``late``. The proximal term gets stronger when a round
    fails.
    """
    best, strength = program.candidate(start), _least_strength(start)
    for _ in range(ROUNDS):
        before, proximal = best.gap, Proximal(program, strength, best.x)
        for points in (proximal.exchange(), proximal.descend()):
            best, finished = _nearest(program, best, points, late)
            if finished:
                break
        if finished and not 0 < best.gap <= before / 2:
            return replace(best, solved=True)
        strength = strength if finished else strength * STRONGER
        if strength > STRONGEST or late():
            break
    return best


def _nearest(program: Program, best: Candidate, points: Points, late: Callable[[], bool]) -> tuple[Candidate, bool]:
    """The point of the smallest gap among these and the best so far, and whether the last one is a solution."""
    finished, least = False, best.value - program.rounding(best.x)
    for x, is_solution in points:
        found, finished = program.candidate(x), is_solution
        if found.gap < best.gap and found.value >= least:
            best = found
        if late():
            break
    return best, finished


def is_small(state: State) -> bool:
    """Whether there are few enough rows. A regression has two variables for each row, rarely both with weight."""
    return state.rows <= LARGEST


def direct_step(state: State) -> Correction | None:
    """The correction to the solution of the whole problem.

    It is empty at the solution, up to rounding, and while kernel values are in single precision. It is None if no
    better point was found and yet this one is not proven to be the solution, as with an indefinite kernel.
    """
    nothing = Correction(np.empty(0, np.int64), np.empty(0), empty=True)
    if state.refinable:  # Q in single precision is not semidefinite
        return nothing
    program = state.program()
    if program is None:
        return None
    start = state.weights if program.grows else state.weights / state.radius
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # values out of range are an error of the run
        before, found = program.candidate(start), solve_directly(program, start, state.late)
    if not found.gap < before.gap:
        return nothing if found.solved else None
    weights, growth = found.x, 1.0
    if program.grows:  # the slack gets half of the weight
        weights[program.slack] = 0.0
        total = weights.sum()
        radius = 2 * total if total > 0 else state.radius
        weights[program.slack] = radius - total
        weights, growth = weights / radius, radius / state.radius
    return Correction(np.arange(state.size), weights, growth=growth, fused=True, afresh=True)


def step_on(state: State, variables: np.ndarray) -> Correction | None:
    """The correction to the solution on some variables, which contain the support; None if no better point was found.

    Kernel values in single precision serve as well: the gap of the whole problem shows how good the step is. Where
    pivoting fails, blocks go on: exchanges of single vertices would be too many.
    """
    listed = np.sort(variables)
    face = state.face(listed)
    program = face.program()
    if program is None or program.grows:
        return None
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        start = program.candidate(face.weights / face.radius)
        points = Proximal(program, _least_strength(start.x), start.x).exchange()
        found, _ = _nearest(program, start, points, state.is_stopped)
    return Correction(listed, found.x, fused=True, afresh=True) if found.gap < start.gap else None


def _least_strength(x: np.ndarray) -> float:
    """Of the proximal term: the rounding of Q."""
    return 2 * len(x) * EPSILON


def exact_weights(state: State) -> np.ndarray:
    """Weights that solve a small problem to the limit of double precision."""
    step = None if state.single else direct_step(state)
    if step is None:
        return state.face(np.arange(state.size)).solve(SecondOrderSwap())
    return state.weights if step.empty else step.weights * (step.growth * state.radius)
