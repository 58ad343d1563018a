"""Pairs of classes that fit into memory, solved by the core in one call: no Python between start and certificate.

It does what a run does with the same problem, with the same bits (core/whole.hpp). A problem that somebody watches, or
that needs more than one step, gets a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._core import PathSolutions, StopToken, WholeOptions, solve_pairs, solve_paths
from ..certificates import MARGIN
from ..gram import Gram
from ..kernels import Function
from ..problems import L2SVC
from ..solvers.block import WHOLE_ACCURACY
from ..stopping import Stop
from .results import Results
from .subproblems import Sides, Subproblem

SMALL = 128  # rows: such a problem is solved to the limit of double precision in milliseconds


def solve_whole(gram: Gram, plan: Sequence[Subproblem], rules: Stop, token: StopToken) -> Results:
    """Those problems of a plan that could be solved in one step."""
    largest, numbers = gram.largest_whole, [-1] * len(plan)
    fitting = [(place, own) for place, sub in enumerate(plan) if sub.rows <= largest and (own := sub.sides)]
    if not fitting or isinstance(gram.kernel, Function):  # which must be called by one thread only
        return Results(numbers)
    options = WholeOptions(rules.tol, rules.eps, MARGIN, WHOLE_ACCURACY, SMALL)
    sides = [own for _, own in fitting]
    found = solve_pairs(gram.core, sides, _ridge(plan[0].C, plan[0].weights), L2SVC.BIAS, options, token)
    for number, ((place, _), solved) in enumerate(zip(fitting, found.solved.tolist(), strict=True)):
        if solved:
            numbers[place] = number
    return Results(numbers, found, gram.memory_pays)


def follow_whole(
    gram: Gram,
    problems: Sequence[Sides],
    weights: Sequence[np.ndarray | None],
    Cs: Sequence[float],
    tol: float,
    token: StopToken,
    noted: Callable[[], None] | None = None,
) -> list[PathSolutions]:
    """For each problem, with its weights of all rows, the solutions along C, as far as one step was enough for each.

    ``noted`` is called after each of them.
    """
    options = WholeOptions(tol, 0.0, MARGIN, WHOLE_ACCURACY, 0)
    ridges, numbered = [_ridge(1.0, own) for own in weights], [(sides, k) for k, sides in enumerate(problems)]
    return solve_paths(gram.core, numbered, ridges, np.array(Cs, np.float64), L2SVC.BIAS, options, token, noted)


def _ridge(C: float, weights: np.ndarray | None) -> np.ndarray:
    """As in ``L2SVC.of``: one number, or one for each row of the data. All problems of a plan have the same."""
    if weights is None:
        return np.array([1.0 / C])
    with np.errstate(divide="ignore"):  # rows of weight 0 are in no group
        return np.asarray(1.0 / (C * weights))
