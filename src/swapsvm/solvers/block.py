"""The block engine: corrective steps on large working sets, each solved by blocks of swaps.

[SWAP14] moves one vertex at a time, one kernel column each. Here a step takes the whole support and the steepest
violators as a face A, keeps the kernel values of A in memory, and solves the problem on A by blocks: a block of about a
thousand vertices, half best toward and half worst away, is swapped at cache speed (SWAP-2o on a small dense matrix),
then h on A follows in one pass. When A is solved to a tenth of the gap, one fused sweep over the data brings all of h
up to date; no kernel value of the sweep is stored. Close to the solution, rows far from entering are left out of the
sweeps until the certificate, which looks at every row.
"""

from __future__ import annotations

import numpy as np

from ..geometry import Correction
from ..state import KernelState, State
from ._base import Solver
from .fully_corrective import solve_face

FIRST = 4096  # random rows of the first working set
GROWTH = 0.5  # violators taken, as a part of the support, but at least
LEAST = 1024
BLOCK = 1024
BLOCKS = 100  # on one working set, so that an ill-conditioned one does not outlast the limits of the run
ACCURACY = 0.1  # of a working set, as a part of the gap, and of a block, as a part of its violation


class Block(Solver):
    """Corrective steps on working sets, solved by blocks of swaps."""

    name = "block"

    def __init__(self) -> None:
        self._kept = np.empty(0, np.int32)

    def check(self, state: State) -> None:
        if isinstance(state, KernelState) and state.sampling is not None:
            raise ValueError("solver='block' looks at every row in each sweep: use sampling=None, or another solver")

    def choose(self, state: State) -> Correction:
        eps = ACCURACY * min(state.gap, state.scale)
        variables = self.working_set(state)
        if len(variables) > state.largest_face:
            return self.single_block(state)
        face = state.face(variables)
        weights = solve_by_blocks(face, eps) if isinstance(face, KernelState) else solve_face(face, eps=eps)
        # Scale 0: h is summed afresh. Increments would carry the rounding of the first, large weights to the end.
        return Correction(variables, weights, scale=0.0, fused=True)

    def working_set(self, state: State) -> np.ndarray:
        """The support and the steepest violators; at first random rows, which tell more than those of a poor start."""
        support = state.support
        if len(support) < 256 and state.gap > state.scale:
            random = np.random.default_rng(len(support)).choice(state.size, min(FIRST, state.size), replace=False)
            return np.union1d(np.union1d(support, random), state.toward())
        if state.gap < 0.5 * state.scale:
            state.shrink()
        return np.union1d(support, state.violators(max(LEAST, int(GROWTH * len(support)))))

    def single_block(self, state: State) -> Correction:
        """A block of the whole problem, for supports whose kernel values do not fit into memory."""
        assert isinstance(state, KernelState)
        correction, self._kept = state.plan_block(2 * BLOCK, ACCURACY, self._kept)
        return correction


def solve_by_blocks(face: KernelState, eps: float) -> np.ndarray:
    """Weights that solve the face to that gap, or as far as so many blocks or its arithmetic go."""
    kept = np.empty(0, np.int32)
    for _ in range(BLOCKS):
        if face.gap <= eps or face.exhausted:
            break
        correction, kept = face.plan_block(BLOCK, ACCURACY, kept)
        face.move(correction)
    return face.weights
