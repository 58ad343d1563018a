"""The steps of a linear kernel, which need no kernel values.

K = Z Z' holds exactly with the rows of the data as features, so w = Z'b is known, and all products cost one pass over
the data. Two kinds of steps move all weights at once:

few features    the surrogate step, whose surrogate is then the problem itself: Newton's method on w (newton.py)
many features   epochs of dual coordinate steps (core/descent.hpp), then Newton's method if they stall

The second kind suits text, where rows have little in common. Rows of few features have much in common: coordinate
steps take hundreds of epochs there, and Newton's method a few passes.
"""

from __future__ import annotations

import numpy as np

from ..rays import Correction
from ..state import MOST_FACTORED, Descent, State
from .surrogate import SurrogateSteps, relative_gap

FEWEST_ROWS = 512  # smaller problems are solved by blocks and the direct step
ROWS_PER_COLUMN = 4  # at least, for Newton's method from the start
PART = 0.2  # of the relative gap that a step of epochs aims at, as seen on the way
FALL, PATIENCE = 0.7, 6  # steps of epochs that together must lower the gap to this part
EPOCHS = 8  # at most in one step: a step that is stopped has no effect


def linear_steps(state: State, afresh: bool) -> SurrogateSteps | DescentSteps | None:
    """Steps for a state whose kernel is linear, if it has enough rows; ``afresh`` begins at b = 0."""
    columns, rows = state.linear_columns, state.rows
    if not columns or rows <= FEWEST_ROWS:
        return None
    few = columns <= min(MOST_FACTORED, rows / ROWS_PER_COLUMN)
    return newton_steps(state, afresh) if few else DescentSteps(state.descent(), afresh)


def newton_steps(state: State, afresh: bool) -> SurrogateSteps:
    """Surrogate steps on the rows themselves, from u = w on."""
    features = state.own_features()
    u = None if afresh else features.transposed(state.in_svm_units()[0])
    return SurrogateSteps(features, afresh, u=u, kind="linear")


class DescentSteps:
    """Epochs of dual coordinate steps, each step from the point of the state; then Newton's method."""

    def __init__(self, descent: Descent, afresh: bool) -> None:
        """``afresh``: the first step is made from b = 0, not from the point of the state."""
        self._descent, self._afresh = descent, afresh
        self._reached, self._steps = np.inf, 0  # a gap, and steps since
        self._newton: SurrogateSteps | None = None

    def stalls(self, state: State) -> bool:
        """Whether the last steps did little, Newton's among them."""
        return self._newton is not None and self._newton.stalls(state)

    def choose(self, state: State) -> Correction:
        """The next step."""
        gap = 1.0 if self._afresh else relative_gap(state)
        if self._newton is None and self._slows_down(gap):
            self._newton = newton_steps(state, afresh=False)
        return self._newton.choose(state) if self._newton else self._descend(state, gap)

    def _slows_down(self, gap: float) -> bool:
        if gap < FALL * self._reached:
            self._reached, self._steps = gap, 0
        self._steps += 1
        return self._steps > PATIENCE

    def _descend(self, state: State, gap: float) -> Correction:
        b = np.zeros(state.size) if self._afresh else state.in_svm_units()[0]
        weights, products = self._descent.descend(b, PART * gap, EPOCHS)
        self._afresh = False
        return Correction(state.variables, state.without_opposites(weights), products=products, kind="linear")
