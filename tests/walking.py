"""One move at a time: the effect of a solver on a state, from the weights before and after."""

from dataclasses import dataclass

import numpy as np

from swapsvm.problems import Concave
from swapsvm.solvers import make_solver
from swapsvm.state import Limits, open_state


@dataclass(frozen=True)
class Step:
    """A move from ``before`` to ``after``, with the value and the gap of the state there."""

    kind: str
    before: np.ndarray
    after: np.ndarray
    value: float
    gap: float

    @property
    def i(self):
        """The vertex that gains weight."""
        return -1 if self.kind == "away" else int(np.argmax(self.after - self.before))

    @property
    def j(self):
        """The vertex that gives weight."""
        return -1 if self.kind in ("toward", "corrective") else int(np.argmin(self.after - self.before))

    @property
    def length(self):
        """The step along the ray of this kind; of a corrective step, the new weight of vertex i."""
        if self.kind == "corrective":
            return float(self.after[self.i])
        if self.kind == "away":
            return float((self.before[self.j] - self.after[self.j]) / (1.0 - self.before[self.j]))
        change = self.after[self.i] - self.before[self.i]
        return float(change / (1.0 - self.before[self.i]) if self.kind == "toward" else change)


def as_concave(Q, c=None):
    """The same quadratic, given as a user's own g."""
    c = np.zeros(len(Q)) if c is None else c
    return Concave(
        value=lambda a: float(-a @ Q @ a + c @ a),
        gradient=lambda a: -2.0 * (Q @ a) + c,
        size=len(Q),
        hessian=lambda a, i, j: -2.0 * Q[i, j],
    )


def started(problem, start):
    """A state of the problem at these weights."""
    state = open_state(problem)
    variables = np.flatnonzero(start)
    state.set_weights(variables, start[variables])
    return state


def vertex(size, i=0):
    """All weight on one variable."""
    weights = np.zeros(size)
    weights[i] = 1.0
    return weights


def walk(state, solver, moves, eps=0.0):
    """The steps of ``state.run``, one at a time, until the gap is ``eps`` or rounding leaves no ascent."""
    chooser = make_solver(solver).chooser()
    for _ in range(moves):
        before = state.weights.copy()
        ran = state.run(chooser, Limits(moves=1, eps=eps))
        if not ran.moves:
            return
        (kind,) = ran.kinds
        yield Step(kind, before, state.weights.copy(), state.value, state.gap)
