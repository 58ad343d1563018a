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

Blocks that do little give way: to Cholesky factors on a small set, to surrogate steps on a large one, and to double
precision where single precision is exhausted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core import Measure
from ..rays import Correction
from ..state import Chooser, Effort, Landmarks, Need, State
from ._base import Solver
from .direct import direct_step, is_small, step_on
from .linear import DescentSteps, linear_steps
from .policy import expected_support, landmarks_instead, suitable_landmarks
from .surrogate import SurrogateSteps
from .swap import SecondOrderSwap

SAMPLE = 512  # random rows of the first working set
PROBE, MOST_PROBED = 1024, 8192  # random rows, at least and at most, that tell how many support vectors there will be
PART_PROBED = 32  # of the rows, in between
BLOCK = 1024
LARGEST_DIRECT = 2048  # variables of a set that is solved by Cholesky factors where blocks are slow
BLOCKS = 100  # on one working set, so that an ill-conditioned one does not outlast the limits of the run
FEW, STEPS = 2, 5  # blocks of a step on a problem that the direct step can solve, and steps before that
ACCURACY = 0.03  # of a working set, as a part of its gap
WHOLE_ACCURACY = 0.8  # part of the gap of the run to which a problem is solved at once
ROUGH = 0.1  # of a set that holds a part of the support, and of a block, as a part of its violation
GROWN = 1.3  # times the expected support, at which the choice between blocks and surrogate steps is made again
INFINITE = int(np.float32(np.inf).view(np.int32))  # its bits
SLOW, STALLED, IN_A_ROW = 0.2, 0.7, 2  # parts of the gap that steps on the whole support leave, and how many of them


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


class Falls:
    """How many steps in a row have left much of the gap, or nearly all of the smallest one."""

    def __init__(self, slow: int = 0, stalled: int = 0, last: int = INFINITE, best: int = INFINITE) -> None:
        """The gaps ``last`` and ``best`` as the integers that their bits are, in single precision."""
        self.slow, self.stalled = slow, stalled
        self._last, self._best = np.array([last, best], np.int32).view(np.float32).tolist()

    @property
    def history(self) -> tuple[int, ...]:
        return (self.slow, self.stalled, *np.array([self._last, self._best], np.float32).view(np.int32).tolist())

    def note(self, gap: float) -> None:
        """The gap before the next step, rounded as it is kept."""
        gap = float(np.float32(gap))
        self.slow = self.slow + 1 if gap > SLOW * self._last else 0
        self.stalled = self.stalled + 1 if gap > STALLED * self._best else 0
        self._last, self._best = gap, min(gap, self._best)


class WorkingSets:
    """The moves of one run.

    ``stage`` counts the variables looked at and, of a small problem, steps on all of them. ``before`` and ``now`` are
    the numbers of support vectors on the last two samples, each twice the one before. Blocks were chosen for the number
    of support vectors that was ``expected``: 0 if nothing was chosen yet, more than there are variables for good.
    """

    compiled = None

    def __init__(self, stage: int = 0, before: int = 0, now: int = 0, expected: int = 0, *falls: int) -> None:
        self.stage = stage
        self._order = np.empty(0, np.int64)  # random order of the variables
        self._large: SurrogateSteps | DescentSteps | None = None  # steps that move all weights at once
        self._expected = expected
        self._supports = (before, now)
        self._falls = Falls(*falls)

    @property
    def history(self) -> tuple[int, ...]:
        return (self.stage, *self._supports, self._expected if self._large is None else 0, *self._falls.history)

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
        if self.stage == state.size and not direct_soon and (other := self._instead(state, variables)):
            return other
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
            self._large, self._expected = None, state.size + 1
        if not self._expected and self._large is None and (steps := linear_steps(state, afresh=self.stage == 0)):
            self._large, self.stage = steps, state.size
        if self._large is not None or not self._is_large(state):
            return
        if 2 * SAMPLE <= self.stage < state.size:
            self._supports = (self._supports[1], state.support_size)
        signs = state.size // state.rows  # a regression has two variables for each row
        if self.stage < 2 * signs * np.clip(state.rows // PART_PROBED, PROBE, MOST_PROBED):
            return
        self._considered(state)

    def _considered(self, state: State) -> SurrogateSteps | None:
        """Surrogate steps if they are cheaper from here on, in a problem of many rows.

        Blocks are chosen for an expected support. If there is more of it, the choice is made again.
        """
        if self._large is not None or not self._is_large(state):
            return None
        if self._expected and self.stage >= state.size and state.gap < ROUGH * state.scale:
            return None
        support = self._expected_support(state)
        if support <= GROWN * self._expected:
            return None
        self._expected = int(min(support, state.size))
        return self._opened(state, suitable_landmarks(state, support))

    def _opened(self, state: State, landmarks: Landmarks | None) -> SurrogateSteps | None:
        if landmarks is None:
            return None
        self._large = steps = SurrogateSteps(landmarks, afresh=self.stage < state.size)
        self.stage = state.size
        return steps

    def _instead(self, state: State, variables: np.ndarray) -> Correction | None:
        """Another step where those on the whole support do little.

        Where the gap no longer falls in single precision, rounding is left: the run goes on in double after an empty
        step. Where it falls slowly, the problem is ill-conditioned, or smooth directions are left: swaps are the wrong
        tool for both.
        """
        self._falls.note(state.gap / state.scale if state.scale > 0 else np.inf)
        if self._falls.stalled >= IN_A_ROW and state.single and state.refinable:
            return Correction(np.empty(0, np.int64), np.empty(0), empty=True)
        if self._falls.slow and len(variables) <= LARGEST_DIRECT:
            return step_on(state, variables)
        if self._falls.slow >= IN_A_ROW and self._is_large(state) and self._expected <= state.size:
            self._expected = state.size + 1
            if steps := self._opened(state, landmarks_instead(state)):
                return steps.choose(state)
        return None

    @staticmethod
    def _is_large(state: State) -> bool:
        """Whether surrogate steps are possible, and there are enough rows for them."""
        return state.smooth and state.rows > 2 * PROBE

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
