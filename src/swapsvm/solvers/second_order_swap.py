"""[SWAP14] Alg. 5, SWAP-2o: as SWAP, but the active vertex that gives weight is the one whose swap gains most."""

from __future__ import annotations

from typing import ClassVar

from ..state import State
from .swap import Swap


class SecondOrderSwap(Swap):
    """SWAP with a second-order choice of the away vertex."""

    name = "swap2"
    compiled: ClassVar[str | None] = "swap2"

    def descent_vertex(self, state: State, i: int) -> int:
        return state.second_order_away(i)
