"""[SWAP14] Alg. 1, Frank-Wolfe: toward the best vertex, every time. Gap O(1/k); no vertex is ever dropped."""

from __future__ import annotations

from typing import ClassVar

from ..rays import Move, Toward
from ..state import State
from ._base import Solver


class FrankWolfe(Solver):
    """Toward steps with exact line search."""

    name = "fw"
    compiled: ClassVar[str | None] = "fw"

    def choose(self, state: State) -> Move:
        return state.search(Toward(state.toward())).move()
