"""[SWAP14] Alg. 3, modified Frank-Wolfe: toward the best vertex, or away from the worst active one, as Wolfe does."""

from __future__ import annotations

from typing import ClassVar

from ..rays import Away, Move, Toward
from ..state import State
from ._base import Solver


class ModifiedFrankWolfe(Solver):
    """The steeper of the toward and the away direction: toward if f - h_i >= h_j - f."""

    name = "mfw"
    compiled: ClassVar[str | None] = "mfw"

    def choose(self, state: State) -> Move:
        i, j = state.toward(), state.away()
        slope_toward = state.gap
        slope_away = state.swap_slope(i, j) - slope_toward
        away = state.search(Away(j))
        if slope_toward >= slope_away or away.step == 0:
            return state.search(Toward(i)).move()
        return away.move()
