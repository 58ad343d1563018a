"""[SWAP14] Alg. 2, fully corrective Frank-Wolfe: add the best vertex to the face, solve the problem on that face.

differs from [SWAP14]: the face solved is I_{k+1}, with the new vertex; the paper prints I_k.

The Core Vector Machine ([SWAP14], "Adaptations to SVMs") takes these steps on a minimum enclosing ball, which maximizes
sum_i a_i Q_ii - a'Qa. With a constant diagonal the first term is a constant: the ball and the quadratic have the same
solution, and the point farthest from the centre, |z_i - c|^2 = Q_ii - 2 h_i + f, is the toward vertex. With any other
diagonal they are different problems.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rays import Correction
from ..state import Effort, Need, State
from ._base import Solver
from .swap import SecondOrderSwap

BLOCK, BLOCKS = 64, 1000  # a new vertex moves the weight of few others: small blocks (64 beat 128, 256, 512 and all)


class FullyCorrective(Solver):
    """Corrective steps. The face is solved from the present weights to a hundredth of the gap by SWAP-2o."""

    name = "fcfw"
    accuracy = 0.01

    def choose(self, state: State) -> Correction:
        variables = np.union1d(state.support, state.toward())
        effort = Effort(BLOCK, BLOCKS, self.accuracy, self.accuracy, SecondOrderSwap(), eps=self.accuracy * state.gap)
        return replace(state.solve_on(variables, effort), fused=False)  # columns are cached


class CoreVector(FullyCorrective):
    """Fully corrective steps on a problem that is an enclosing ball."""

    name = "cvm"
    requires = ((Need.CONSTANT_DIAGONAL, "use solver='fcfw', which takes the same steps on any problem"),)
