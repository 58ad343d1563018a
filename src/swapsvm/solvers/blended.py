"""Blended pairwise conditional gradients: swaps between active vertices, and toward steps where these promise more.

K. Tsuji, K. Tanaka and S. Pokutta: Pairwise conditional gradients without swap steps and sparser kernel herding.
ICML 2022, Alg. 2.

With s the best and j the worst active vertex, the swap slope grad_s - grad_j is compared with the slope of a toward
step, grad_i - a'grad. A swap never brings in a vertex, so that none is dropped for another one ("swap step" in the
literature on pairwise steps), and all vertices come from toward steps.
"""

from __future__ import annotations

from ..rays import Move, SwapRay, Toward
from ..state import State
from ._base import Solver


class BlendedPairwise(Solver):
    """A swap of two active vertices if its slope is at least that of a toward step, else the toward step."""

    name = "blended"
    compiled = "blended"

    def choose(self, state: State) -> Move:
        inside, j = state.active_toward(), state.away()
        if state.swap_slope(inside, j) < state.toward_slope:
            return state.search(Toward(state.toward())).move()
        return state.search(SwapRay(inside, j)).move()
