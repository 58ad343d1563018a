"""The state of a run: weights, gradient and value, and the verbs that solvers are written in.

``toward()`` is the ascent vertex, ``away()`` the descent vertex among the active ones, ``search(ray)`` an exact line
search, ``move(m)`` a change of the weights. ``run`` is the loop.

::

    State ── KernelState                       kernel quadratics, compiled
       └──── GradientState ── ConcaveState     a user's own g
                  │                └────────── LogDeterminantState
                  └────────── HullState        a hull whose vertices an oracle lists
"""

from __future__ import annotations

from collections.abc import Callable

from ..problems import Concave, LogDeterminant, Quadratic
from ._base import Chooser, Effort, Limits, Need, Products, State
from .blas import one_blas_thread
from .concave import ConcaveState
from .kernel import KernelState
from .landmarks import FEATURE_BYTES, Factor, Landmarks, LandmarksAndConstant, VariableFeatures
from .linear import MOST_FACTORED, Descent
from .log_determinant import LogDeterminantState
from .sampling import Sampling

__all__ = [
    "FEATURE_BYTES",
    "MOST_FACTORED",
    "Chooser",
    "Descent",
    "Effort",
    "Factor",
    "KernelState",
    "Landmarks",
    "LandmarksAndConstant",
    "Limits",
    "Need",
    "Problem",
    "Products",
    "Sampling",
    "State",
    "VariableFeatures",
    "one_blas_thread",
    "open_state",
]

Problem = Concave | LogDeterminant | Quadratic
STATES: dict[str, Callable[..., State]] = {
    Quadratic.kind: KernelState,
    Concave.kind: ConcaveState,
    LogDeterminant.kind: LogDeterminantState,
}


def open_state(problem: Problem, *, sampling: int | Sampling | None = None, seed: int = 0) -> State:
    """The state of a problem, without weights yet."""
    if sampling is None:
        return STATES[problem.kind](problem)
    if not problem.samples:
        raise ValueError(
            f"sampling={sampling!r} needs a kernel problem; a general concave g gives its whole gradient at once"
        )
    return STATES[problem.kind](problem, sampling=sampling, seed=seed)
