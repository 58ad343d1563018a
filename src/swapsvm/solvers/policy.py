"""Blocks of swaps or surrogate steps: a cost model of both, from what a sample of the rows shows.

Blocks suit a support that is small, or local; surrogate steps suit one that is large and smooth. Costs are counted per
row, in operations of the loop that computes kernel values, so that the choice does not depend on the load of the
machine. The number of surrogate steps follows from what M landmarks leave out of K: with mu the first eigenvalue left
out, per row, and r the mean of the diagonal left out, it is about (m mu + ridge) / (r + ridge), the condition of what
the steps do not see.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from ..state import Factor, Landmarks, State

logger = logging.getLogger(__name__)

COUNTS = (128, 256, 512, 1024, 2048)  # of landmarks
FACTORED = 1024  # of them whose kernel matrix is factored to look at; beyond that, what they leave out is extrapolated
LARGEST_PART = 8  # landmarks are at most this part of the rows
PROBED = 512  # rows that tell what landmarks leave out
SOLVED, PASSES = 0.4, 300  # operations for a square of the number of landmarks, and for a landmark in each step
COMPUTED = 0.55  # of the kernel values of a sweep; symmetry gives the others
SWAPS, SWEEPS = 150, 4  # operations of swaps for each support vector, and sweeps, of blocks whose set fits into memory
FEWEST_STEPS = 2.0
FEATURE_BYTES = 4


@dataclass(frozen=True)
class Outlook:
    """What is known of a problem before its large steps."""

    rows: int
    support: float  # expected number of support vectors
    work: float  # operations per kernel value
    ridge: float  # mean
    largest_set: float  # variables whose kernel values fit into memory
    most_features: float  # numbers that fit into memory

    @classmethod
    def of(cls, state: State, share: float) -> Outlook:
        """``share``: of support vectors among random variables."""
        _, ridge = state.target_and_ridge()
        rows = len(state.distinct_rows)
        return cls(
            rows, share * state.size, state.work, float(np.mean(ridge)), state.largest_face, state.bytes / FEATURE_BYTES
        )

    def cost_of_blocks(self) -> float:
        """Per row. A support that does not fit is solved in parts, each of which undoes some of the others."""
        parts = max(1.0, self.support / self.largest_set)
        return self.support * (SWAPS + SWEEPS * self.work) * parts**2

    def cost_of_surrogate(self, count: int, steps: float) -> float:
        """Per row, with this many landmarks."""
        sweep = COMPUTED * self.support * self.work
        return SOLVED * count**2 + steps * (PASSES * count + sweep)

    def steps(self, count: int, left_out: float, decay: float) -> float:
        """Number of surrogate steps if the mean diagonal left out is r ~ count^-decay."""
        eigenvalue = self.rows * decay * left_out / count
        return max(FEWEST_STEPS, (eigenvalue + self.ridge) / (left_out + self.ridge))

    def best_count(self, left_out: dict[int, float]) -> int:
        """The number of landmarks of the cheapest surrogate steps, or 0 if blocks are cheaper."""
        costs = {0: self.cost_of_blocks()}
        for count, mean in left_out.items():
            decay = np.log2(max(left_out.get(count // 2, 2 * mean), mean) / mean) if mean > 0 else 0.0
            if count * self.rows <= self.most_features:
                costs[count] = self.cost_of_surrogate(count, self.steps(count, mean, float(decay)))
        best = min(costs, key=lambda count: costs[count])
        logger.info("costs by number of landmarks (0: blocks): %s", {n: f"{cost:.3g}" for n, cost in costs.items()})
        return best


def suitable_landmarks(state: State, share: float) -> Landmarks | None:
    """Landmarks for surrogate steps, or None if blocks of swaps suit the problem better.

    ``share``: of support vectors among random variables.
    """
    rows = np.random.default_rng(0).permutation(state.distinct_rows)
    counts = [count for count in COUNTS if count <= len(rows) // LARGEST_PART]
    outlook = Outlook.of(state, share)
    if not counts or outlook.cost_of_blocks() < outlook.cost_of_surrogate(counts[0], FEWEST_STEPS):
        return None
    factor = state.factor(rows[: min(counts[-1], FACTORED)])
    count = outlook.best_count(left_out(factor, counts, rows[-PROBED:]))
    if count > FACTORED:
        factor = state.factor(rows[:count])
    return state.landmarks(factor.first(count)) if count else None


def left_out(factor: Factor, counts: list[int], rows: np.ndarray) -> dict[int, float]:
    """The mean of r over some rows for each number of landmarks."""
    means = factor.residuals(rows)
    found = {count: float(means[count - 1]) for count in counts if count <= len(means)}
    for count in (count for count in counts if count > len(means)):  # as the last two fall
        found[count] = found[count // 2] ** 2 / max(found[count // 4], 1e-300)
    return found
