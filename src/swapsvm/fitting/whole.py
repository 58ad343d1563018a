"""Pairs of classes that fit into memory, solved by the core in one call: no Python between start and certificate.

It does what a run does with the same problem, with the same bits (core/whole.hpp). A problem that somebody watches, or
that needs more than one step, gets a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from .._core import PairSolution, PathSolutions, StopToken, WholeOptions, solve_paths
from ..certificates import MARGIN
from ..gram import Gram
from ..kernels import Function
from ..problems import L2SVC
from ..result import Result
from ..solvers.block import WHOLE_ACCURACY
from ..stopping import Stop, relative
from ..trace import RAW, Trace
from .subproblems import Sides, Subproblem

SMALL = 128  # rows: such a problem is solved to the limit of double precision in milliseconds

Planned = TypeVar("Planned", bound=Subproblem)


def solve_whole(gram: Gram, plan: Sequence[Planned], rules: Stop, token: StopToken) -> dict[Planned, Result]:
    """The results of those problems of a plan that could be solved in one step."""
    largest = gram.largest_whole
    fitting = [(sub, sides) for sub in plan if sub.rows <= largest and (sides := sub.sides)]
    if not fitting or isinstance(gram.kernel, Function):  # which must be called by one thread only
        return {}
    fitting.sort(key=lambda found: -found[0].rows)  # so that no thread is left with a large one at the end
    options = WholeOptions(rules.tol, rules.eps, MARGIN, WHOLE_ACCURACY, SMALL)
    pairs = [(sides, 0) for _, sides in fitting]  # all with the same ridge
    paths = solve_paths(gram.core, pairs, [_ridge(plan[0].C, plan[0].weights)], np.ones(1), L2SVC.BIAS, options, token)
    found, pays = zip((sub for sub, _ in fitting), paths, strict=True), gram.memory_pays
    return {sub: _result(points[0], Trace(pays)) for sub, points in found if points}


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


def _result(solution: PairSolution, trace: Trace) -> Result:
    records = np.frombuffer(solution.records, RAW)
    trace.append(records)
    trace.kinds["corrective"] = len(records)
    primal, dual = L2SVC.bounds_of(solution.value, solution.primal_gap, solution.rounding)
    return Result(
        weights=solution.weights,
        value=solution.value,
        gap=solution.gap,
        relative_gap=relative(solution.gap, solution.scale),
        stop_reason="gap",
        iterations=len(records),
        evaluations=solution.evaluations,
        samplings=0,
        certificate_seconds=solution.certificate_seconds,
        trace=trace,
        simplex_gap=solution.simplex_gap,
        primal_gap=solution.primal_gap,
        primal_value=primal,
        dual_value=dual,
        scale=solution.scale,
        level=solution.level,
    )
