"""[SWAP14] Alg. 1, Frank-Wolfe: toward the best vertex, every time. Gap O(1/k); no vertex is ever dropped.

Alg. 3, modified Frank-Wolfe: toward the best vertex, or away from the worst active one, as Wolfe does.
"""

from __future__ import annotations

from ..rays import Away, Move, Toward
from ..state import State
from ._base import Solver


class FrankWolfe(Solver):
    """Toward steps with exact line search."""

    name = "fw"
    compiled = "fw"

    def choose(self, state: State) -> Move:
        return state.search(Toward(state.toward())).move()


class ModifiedFrankWolfe(Solver):
    """The steeper of the toward and the away direction: toward if f - h_i >= h_j - f."""

    name = "mfw"
    compiled = "mfw"

    def choose(self, state: State) -> Move:
        i, j = state.toward(), state.away()
        slope_toward = state.gap
        slope_away = state.swap_slope(i, j) - slope_toward
        away = state.search(Away(j))
        if slope_toward >= slope_away or away.step == 0:
            return state.search(Toward(i)).move()
        return away.move()
