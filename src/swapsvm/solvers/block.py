"""The block engine: corrective steps on large working sets, each solved by blocks of swaps.

[SWAP14] moves one vertex at a time, one kernel column each. Here a step takes the whole support and the violators as a
working set, keeps its kernel values in memory, and solves the problem on it by blocks: about a thousand vertices, half
best toward and half worst away, are swapped at cache speed (SWAP-2o on a small dense matrix), then h on the set follows
in one pass. When the set is solved to a tenth of its gap, one fused sweep over the data brings all of h up to date; no
kernel value of the sweep is stored. The first sets are random samples of the rows, each twice the one before: the
steepest violators of a poor point are outliers, a sample is what the data are like. Close to the solution, rows far
from entering are left out of the sweeps until the certificate, which looks at every row.

A problem of a few hundred variables gets a few blocks, which is all that an easy one needs, and then the direct step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rays import Correction
from ..state import KernelState, State
from ._base import Solver
from .direct import direct_step, is_small
from .fully_corrective import solve_face

SAMPLE = 512  # random rows of the first working set
BLOCK = 1024
BLOCKS = 100  # on one working set, so that an ill-conditioned one does not outlast the limits of the run
FEW, STEPS = 2, 5  # blocks of a step on a problem that the direct step can solve, and steps before that
ACCURACY = 0.1  # of a working set, as a part of its gap, and of a block, as a part of its violation


class Block(Solver):
    """Corrective steps on working sets, solved by blocks of swaps."""

    name = "block"
    solves_start = False  # the first sample replaces it

    def __init__(self) -> None:
        self._order = np.empty(0, np.int64)  # random order of the variables
        self.stage = 0  # how many of them have been looked at, and, of few, steps on all of them

    def check(self, state: State) -> None:
        self.stage, self._order = 0, np.empty(0, np.int64)  # a new run
        if isinstance(state, KernelState) and state.sampling is not None:
            raise ValueError("solver='block' looks at every row in each sweep: use sampling=None, or another solver")

    def resume(self, state: State) -> None:
        self.stage = state.size  # the support is a better sample than a random one, whatever the gap

    def choose(self, state: State) -> Correction:
        if not isinstance(state, KernelState):
            variables = np.sort(self.working_set(state))
            return Correction(variables, solve_face(state.face(variables), eps=ACCURACY * min(state.gap, state.scale)))
        if self.stage == state.size + STEPS:
            step = direct_step(state)
            if step is not None:
                return step
            self.stage += 1  # never again in this run
        variables = self.working_set(state)
        direct_soon = 0 <= self.stage - state.size < STEPS and is_small(state)
        if len(variables) > state.largest_face and not direct_soon:
            if self.stage < state.size:  # parts of the support bring h on only where it is known
                self.stage = state.size
                state.refresh()
            return state.solve_on(state.extreme(int(state.largest_face)), BLOCK, BLOCKS, ACCURACY)
        correction = state.solve_on(variables, BLOCK, FEW if direct_soon else BLOCKS, ACCURACY)
        self.stage += direct_soon
        if self.stage < state.size:
            self.stage = min(2 * self.stage, state.size)
            state.watch(np.concatenate([variables, self.sample(state)]))
        # Scale 0: h is summed afresh. Increments would carry the rounding of the first, large weights to the end.
        return replace(correction, scale=0.0)

    def working_set(self, state: State) -> np.ndarray:
        """The support and the violators; at first a random sample of the rows."""
        if self.stage == 0:
            sampled = state.gap > state.scale and not is_small(state)
            self.stage = min(SAMPLE, state.size) if sampled else state.size
            if self.stage < state.size:
                return np.union1d(state.support, self.sample(state))
        elif state.gap < 0.5 * state.scale and self.stage >= state.size:
            state.shrink()
        return np.concatenate([state.support, state.violators(state.size)])

    def sample(self, state: State) -> np.ndarray:
        """Random variables, the more the further the run has come; each sample contains the one before."""
        if not len(self._order):
            self._order = state.sample_order(np.random.default_rng(0))
        return self._order[: self.stage]
