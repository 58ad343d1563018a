"""[SWAP14] Alg. 4, SWAP: move weight from the worst active vertex to the best one, unless a toward step gains more.

The gains compared are those of the best steps in [0, 1]; a swap is clipped at the weight of the active vertex after the
choice. By slope alone a swap would always win. In Alg. 5, SWAP-2o, the active vertex that gives weight is the one whose
swap gains most, by the formula without any bound on the step.

differs from [SWAP14]: its bound of T/2 + |I_0|/2 swap-drops in T steps overlooks that a swap-drop can bring in a vertex
as well; tests/test_theorems.py has a counterexample and the bound that holds.
"""

from __future__ import annotations

from ..rays import Move, SwapRay, Toward
from ..state import State
from ._base import Solver


class Swap(Solver):
    """The better of a swap and a toward step."""

    name = "swap"
    compiled = "swap"

    def choose(self, state: State) -> Move:
        i = state.toward()
        swap = state.search(SwapRay(i, self.descent_vertex(state, i)))
        toward = state.search(Toward(i))
        return swap.move() if swap.gain >= toward.gain else toward.move()

    def descent_vertex(self, state: State, i: int) -> int:
        """The active vertex that gives weight."""
        return state.away()


class SecondOrderSwap(Swap):
    """SWAP with a second-order choice of the away vertex."""

    name = "swap2"
    compiled = "swap2"

    def descent_vertex(self, state: State, i: int) -> int:
        return state.second_order_away(i)
