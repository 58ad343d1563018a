"""The block engine: corrective steps on large working sets, each solved by blocks of swaps.

[SWAP14] moves one vertex at a time, one kernel column each. Here a step takes the whole support and the violators as a
working set, keeps its kernel values in memory, and solves the problem on it by blocks: about a thousand vertices, half
best toward and half worst away, are swapped at cache speed (SWAP-2o on a small dense matrix), then h on the set follows
in one pass. When the set is solved to a small part of its gap, one fused sweep over the data updates h everywhere; no
kernel value of the sweep is stored. The first sets are random samples of the rows, each twice the one before: the
steepest violators of a poor point are outliers, a sample represents the data. Close to the solution, rows far
from entering are left out of the sweeps until the certificate, which looks at every row.

A problem whose kernel values all fit into memory is solved in one step (core/whole_matrix.hpp). If that does not reach
the gap, one of a few hundred variables gets a few blocks, which suffice if it is easy, and then the direct step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core import Measure
from ..rays import Correction
from ..state import Chooser, Effort, Need, State
from ._base import Solver
from .direct import direct_step, is_small
from .linear import DescentSteps, linear_steps
from .policy import expected_support, suitable_landmarks
from .surrogate import SurrogateSteps
from .swap import SecondOrderSwap

SAMPLE = 512  # random rows of the first working set
PROBE, MOST_PROBED = 1024, 8192  # random rows, at least and at most, that tell how many support vectors there will be
PART_PROBED = 32  # of the rows, in between
BLOCK = 1024
BLOCKS = 100  # on one working set, so that an ill-conditioned one does not outlast the limits of the run
FEW, STEPS = 2, 5  # blocks of a step on a problem that the direct step can solve, and steps before that
ACCURACY = 0.03  # of a working set, as a part of its gap
WHOLE_ACCURACY = 0.8  # part of the gap of the run to which a problem is solved at once
ROUGH = 0.1  # of a set that holds a part of the support, and of a block, as a part of its violation


class Block(Solver):
    """Corrective steps on working sets, solved by blocks of swaps."""

    name = "block"
    stops_at = Measure.primal
    solves_start = False  # the first sample replaces it
    takes_whole = True
    requires = ((Need.EVERY_ROW, "use sampling=None, or another solver"),)

    def start_variables(self, state: State, count: int, rng: np.random.Generator) -> np.ndarray:
        return state.first_variables() if state.whole else super().start_variables(state, count, rng)

    def chooser(self, history: tuple[int, ...] = ()) -> Chooser:
        return WorkingSets(*history)

    def resumed(self, size: int) -> Chooser:
        return self.chooser((size,))  # the support is better than a random sample

    def choose(self, state: State) -> Correction:
        """The first move of a run."""
        return WorkingSets().choose(state)


class WorkingSets:
    """The moves of one run.

    ``stage`` counts the variables looked at and, of a small problem, steps on all of them. ``before`` and ``now`` are
    the numbers of support vectors on the last two samples, each twice the one before. A run that has ``settled`` for
    blocks takes no other steps.
    """

    compiled = None

    def __init__(self, stage: int = 0, before: int = 0, now: int = 0, settled: int = 0) -> None:
        self.stage = stage
        self._order = np.empty(0, np.int64)  # random order of the variables
        self._large: SurrogateSteps | DescentSteps | None = None  # steps that move all weights at once
        self._decided = bool(settled)  # whether such steps were considered
        self._supports = (before, now)

    @property
    def history(self) -> tuple[int, ...]:
        return (self.stage, *self._supports, int(self._decided and self._large is None))

    def choose(self, state: State) -> Correction:
        if self.stage == 0 and state.whole and state.scale > 0:
            self.stage = state.size
            return state.solve_whole(WHOLE_ACCURACY * state.aim / state.scale)
        self._decide(state)
        if self._large is not None:
            return self._large.choose(state)
        if self.stage == state.size + STEPS:
            step = direct_step(state)
            if step is not None:
                return step
            self.stage += 1  # do not try it again in this run
        variables = self._working_set(state)
        direct_soon = 0 <= self.stage - state.size < STEPS and is_small(state)
        if len(variables) > state.largest_face and not direct_soon:
            if SAMPLE < self.stage < state.size and (steps := self._considered(state)):  # a larger sample does not fit
                return steps.choose(state)
            if self.stage < state.size:  # parts of the support update h only where it is known
                self.stage = state.size
                state.refresh()
            return state.solve_on(state.extreme(int(state.largest_face)), self._effort(state, BLOCKS, ROUGH))
        correction = state.solve_on(variables, self._effort(state, FEW if direct_soon else BLOCKS, ACCURACY))
        self.stage += direct_soon
        if self.stage < state.size:
            self.stage = min(2 * self.stage, state.size)
            state.restrict(np.concatenate([variables, self._sample(state)]))
        # Increments of h would carry the rounding of the first, large weights to the end.
        return replace(correction, afresh=True)

    def _decide(self, state: State) -> None:
        """Go over to surrogate steps once samples, or the support of a warm start, show that they suit the problem.

        A linear kernel has steps of its own from the start. Return to blocks where these steps stall.
        """
        if self._large is not None and self._large.stalls(state):
            self._large = None
        if not self._decided and (steps := linear_steps(state, afresh=self.stage == 0)):
            self._large, self._decided, self.stage = steps, True, state.size
        if self._decided or not state.smooth or state.rows <= 2 * PROBE:
            return
        if 2 * SAMPLE <= self.stage < state.size:
            self._supports = (self._supports[1], state.support_size)
        signs = state.size // state.rows  # a regression has two variables for each row
        if self.stage < 2 * signs * np.clip(state.rows // PART_PROBED, PROBE, MOST_PROBED):
            return
        self._considered(state)

    def _considered(self, state: State) -> SurrogateSteps | None:
        """Surrogate steps if they are cheaper from here on; decided once, and only for problems of many rows."""
        if self._decided or not state.smooth or state.rows <= 2 * PROBE:
            return None
        self._decided = True
        landmarks = suitable_landmarks(state, self._expected_support(state))
        if landmarks is not None:
            self._large = steps = SurrogateSteps(landmarks, afresh=self.stage < state.size)
            self.stage = state.size
            return steps
        return None

    def _expected_support(self, state: State) -> float:
        """The number of support vectors on all variables; the last sample was half of the stage."""
        if self.stage >= state.size:
            return float(state.support_size)
        against = np.union1d(state.support, state.violators(state.size))  # of the present sample, half of it fresh
        violators = len(against) * state.size / self.stage
        return expected_support(state.support_size, self._supports, violators, self.stage // 2, state.size)

    def _effort(self, state: State, blocks: int, accuracy: float) -> Effort:
        return Effort(BLOCK, blocks, accuracy, ROUGH, SecondOrderSwap(), eps=accuracy * min(state.gap, state.scale))

    def _working_set(self, state: State) -> np.ndarray:
        """The support and the violators; at first a random sample of the rows."""
        if self.stage == 0:
            sampled = state.simplex_gap > state.scale and not is_small(state)
            self.stage = min(SAMPLE, state.size) if sampled else state.size
            if self.stage < state.size:
                return np.union1d(state.support, self._sample(state))
        elif state.simplex_gap < 0.5 * state.scale and self.stage >= state.size:
            state.shrink()
        return np.concatenate([state.support, state.violators(state.size)])

    def _sample(self, state: State) -> np.ndarray:
        """Random variables, more of them at each stage; each sample contains the one before."""
        if not len(self._order):
            self._order = state.sample_order(np.random.default_rng(0))
        return self._order[: self.stage]
