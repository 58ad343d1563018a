"""[SWAP14] Alg. 2, fully corrective Frank-Wolfe: add the best vertex to the face, solve the problem on that face.

differs from [SWAP14]: the face solved is I_{k+1}, with the new vertex; the paper prints I_k.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rays import Correction
from ..state import KernelState, Limits, State
from ._base import Solver
from .second_order_swap import SecondOrderSwap

BLOCK, BLOCKS = 64, 1000  # a new vertex moves the weight of few others: small blocks (64 beat 128, 256, 512 and all)
MOVES = 20_000  # on one face: an ill-conditioned one must not outlast the limits of the run; the next step goes on


class FullyCorrective(Solver):
    """Corrective steps. The face is solved from the present weights to a hundredth of the gap: by SWAP-2o, on kernel
    problems in blocks of it."""

    name = "fcfw"
    accuracy = 0.01

    def choose(self, state: State) -> Correction:
        variables = np.union1d(state.support, state.toward())
        if isinstance(state, KernelState):
            return replace(state.solve_on(variables, BLOCK, BLOCKS, self.accuracy), fused=False)  # columns are cached
        return Correction(variables, solve_face(state.face(variables), eps=self.accuracy * state.gap))


def solve_face(face: State, eps: float = 0.0, tol: float = 0.0) -> np.ndarray:
    """Weights that solve a small problem to that gap, or as far as double precision or ``MOVES`` go."""
    if not face.weights.any():
        face.set_weights(np.arange(face.size), np.full(face.size, face.radius / face.size))
    face.run(SecondOrderSwap(), Limits(moves=MOVES, tol=tol, eps=eps))
    return face.weights
