"""``maximize``: one run of a solver on a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .result import Result, warn_not_converged
from .run import Run
from .solvers import Solver, make_solver
from .state import Problem, Sampling, open_state
from .stopping import Progress, Stop, make_stop

Callback = Callable[[Progress], object]


def maximize(
    problem: Problem,
    solver: str | Solver = "swap2",
    *,
    tol: float = 1e-2,
    eps: float = 0.0,
    max_iter: int = -1,
    max_time: float | None = None,
    stop: Stop | Callable[[Progress], str | None] | None = None,
    start: np.ndarray | None = None,
    start_size: int = 20,
    sampling: int | Sampling | None = None,
    random_state: int | np.random.Generator | None = 0,
    callback: Callback | None = None,
) -> Result:
    """Maximize a concave function over the unit simplex.

    Parameters
    ----------
    problem : Concave, LogDeterminant or Quadratic
    solver : {"fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified", "fcfw", "cvm", "block"}
    tol, eps : float
        Relative and absolute gap at which to stop; either is enough.
    max_iter : int
        Maximum number of iterations; -1 for no limit.
    max_time : float, optional
        Limit in seconds, including the certifying pass: moves end in time for it.
    stop : Stop or callable, optional
        A further rule, combined with the others: a function of the progress that returns a reason to end, or None.
    start : array, optional
        Weights to start from; by default a solution on the face of ``start_size`` random vertices.
    start_size : int
        Number of random vertices of the start, both classes among them ([SWAP14]: 20).
    sampling : int or Sampling, optional
        Look for the toward vertex among this many random variables and the active ones; a full pass ends the run.
    random_state : int, Generator or None
        Seed of the start and the samples.
    callback : callable, optional
        Called with a ``Progress`` after each block of moves; returning False ends the run.

    Returns
    -------
    Result

    Warns
    -----
    ConvergenceWarning
        If the run ends for any reason but the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import maximize
    >>> from swapsvm.problems import Concave
    >>> b = np.array([0.2, 0.5, 0.3])
    >>> g = Concave(value=lambda a: -((a - b) ** 2).sum(), gradient=lambda a: -2 * (a - b), size=3)
    >>> maximize(g, solver="swap", tol=1e-9).weights.round(4)
    array([0.2, 0.5, 0.3])
    """
    rules = make_stop(tol, eps, max_iter, max_time)
    rng = np.random.default_rng(random_state)
    state = open_state(problem, sampling=sampling, seed=int(rng.integers(2**63)))
    observers = [_Called(callback)] if callback else []
    run = Run(state, make_solver(solver), rules | stop if stop else rules, observers=observers)
    run.begin(start, start_size, rng)
    result = run.finish()
    if not result.converged:
        warn_not_converged(result)
    return result


@dataclass(frozen=True)
class _Called:
    """Calls a user's function; its return value False ends the run."""

    function: Callback
    next_gap: ClassVar[float] = 0.0

    def look(self, run: Run) -> bool:
        return self.function(run.progress()) is not False
