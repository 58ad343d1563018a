"""[SWAP14] Alg. 2, fully corrective Frank-Wolfe: add the best vertex to the face, solve the problem on that face.

differs from [SWAP14]: the face solved is I_{k+1}, with the new vertex; the paper prints I_k.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rays import Correction
from ..state import Effort, State
from ._base import Solver
from .second_order_swap import SecondOrderSwap

BLOCK, BLOCKS = 64, 1000  # a new vertex moves the weight of few others: small blocks (64 beat 128, 256, 512 and all)


class FullyCorrective(Solver):
    """Corrective steps. The face is solved from the present weights to a hundredth of the gap by SWAP-2o."""

    name = "fcfw"
    accuracy = 0.01

    def choose(self, state: State) -> Correction:
        variables = np.union1d(state.support, state.toward())
        effort = Effort(BLOCK, BLOCKS, self.accuracy, SecondOrderSwap(), eps=self.accuracy * state.gap)
        return replace(state.solve_on(variables, effort), fused=False)  # columns are cached
