"""Pairwise Frank-Wolfe: weight moves from the worst active vertex to the best one, every time.

S. Lacoste-Julien and M. Jaggi: On the global linear convergence of Frank-Wolfe optimization variants. NIPS 2015, Alg. 2

The direction e_i - e_j is the sum of those of a toward and of an away step, and the step is at most a_j. It is a swap
of [SWAP14] Alg. 4 without the alternative of a toward step, and on minimum norm problems the algorithm of Mitchell,
Demyanov and Malozemov.
"""

from __future__ import annotations

from ..rays import Move, SwapRay
from ..state import State
from ._base import Solver


class Pairwise(Solver):
    """A swap of the toward and the away vertex, with exact line search."""

    name = "pairwise"
    compiled = "pairwise"

    def choose(self, state: State) -> Move:
        return state.search(SwapRay(state.toward(), state.away())).move()
