"""Blocks of swaps or surrogate steps: a cost model of both, from what a sample of the rows shows.

Blocks suit a support that is small, or local; surrogate steps suit one that is large and smooth. Costs are counted per
row, in operations of the loop that computes kernel values, so that the choice does not depend on the load of the
machine. Surrogate steps are conjugate gradients on what M landmarks leave out of K, R = K - Z Z'. With r the mean of
its diagonal and lambda its fifth eigenvalue without the diagonal (the first few are soon dealt with), they number about
1.45 ((lambda + ridge) / (r + ridge))^(1/3) (1 + r / ridge), a fit to many kinds of data; the last factor is at most
lambda / r, since the steps account for an R that is nearly r times the identity. On n of m rows, lambda is about n / m
of what it is on all.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ..state import FEATURE_BYTES, Factor, Landmarks, State

logger = logging.getLogger(__name__)

COUNTS = (128, 256, 512, 1024, 2048, 4096)  # of landmarks
FACTORED = 1024  # of them whose kernel matrix is always factored to look at; beyond the largest, it is extrapolated
LOOK = 0.05  # part of the operations of a sweep that a larger factor may take
MATRICES = 6  # times the square of the number of landmarks, in single precision: half of what their choice takes
LARGEST_PART, MOST = 8, 4  # landmarks are at most this part of the rows, and where blocks are slow
PROBED = 512  # rows, at least, that tell what landmarks leave out
POOL = 4  # rows for each landmark, of which those that random landmarks represent worst become landmarks too
SOLVED, MADE, PASSES = 0.5, 500, 300  # operations for a square of the number of landmarks, a landmark, one in each step
FACTORS = 11  # operations for its cube, whatever the number of rows: choice of the landmarks, preconditioner
AGAIN = 40  # kernel values that a step computes for each landmark where features do not fit into memory
COMPUTED = 0.55  # of the kernel values of a sweep; symmetry gives the others
SWAPS, SWEEPS = 115, 3  # operations of swaps for each pair of support vectors, and sweeps, of blocks whose set fits
PAIRED = 230  # the same operations of swaps where rows have two variables, which blocks move in pairs
HARDER = 0.47  # exponent at which they grow with the condition (K_ii + ridge) / ridge
KEPT = 1.5  # the same sweeps where kernel values are kept
GROWTH = 0.8  # exponent at which the support grows with the rows, where samples have not shown it
SLOWEST_GROWTH = 0.1  # that two samples can show: clean data have 0.5 or less, noisy data nearly 1
SURE = 2048  # rows of a sample whose exponent counts for half: small samples are memorized, and show a low one
FEWEST_STEPS, STEPS = 2.0, 1.45  # of surrogate steps: at least, and where the condition is 1 and r small
CHEAP = 0.4  # part of a sweep that more landmarks than expected to be best may cost: they often save a sweep
ALIKE = 1.1  # costs of which the one with more landmarks is taken, since their steps are surer
CLEARLY = 0.8  # of a known cost that an uncertain one must stay below: local structure can make surrogate steps slower


@dataclass(frozen=True)
class Outlook:
    """What is known of a problem before its large steps."""

    rows: int
    support: float  # expected number of support vectors
    work: float  # operations per kernel value
    ridge: float  # mean
    diagonal: float  # of K, mean
    largest_set: float  # variables whose kernel values fit into memory
    most_features: float  # numbers that fit into memory
    keeps: bool = False  # whether blocks keep kernel values between sweeps
    paired: bool = False  # whether each row has two variables, one for each sign
    blocks: bool = True  # whether blocks get on

    @classmethod
    def of(cls, state: State, support: float) -> Outlook:
        """``support``: the expected number of support vectors."""
        _, ridge = state.target_and_ridge()
        rows, features = len(state.distinct_rows), state.bytes / FEATURE_BYTES
        of_row, diagonal = float(np.mean(ridge)), state.mean_diagonal
        keeps, paired = state.memory_pays, state.size > 2 * rows
        return cls(rows, support, state.work, of_row, diagonal, state.largest_face, features, keeps, paired)

    def cost_of_blocks(self) -> float:
        """Per row. A support that does not fit is solved in parts, each of which undoes some of the others."""
        if not self.blocks:
            return np.inf
        parts = max(1.0, self.support / self.largest_set)
        each = (PAIRED if self.paired else SWAPS) * (1 + self.diagonal / self.ridge) ** HARDER
        swaps, sweeps = each * self.support / self.rows, (KEPT if self.keeps else SWEEPS) * self.work
        return self.support * (swaps + sweeps) * parts

    def cost_of_surrogate(self, count: int, steps: float) -> float:
        """Per row, with this many landmarks."""
        passes = PASSES if count * self.rows <= self.most_features else AGAIN * self.work
        features = (SOLVED * count + MADE) * count + FACTORS * count**3 / self.rows
        return features + steps * (passes * count + self._sweep)

    @property
    def _sweep(self) -> float:
        return COMPUTED * self.support * self.work

    def steps(self, mean: float, eigenvalue: float) -> float:
        """Number of surrogate steps if landmarks leave out this mean diagonal and fifth eigenvalue."""
        condition = (eigenvalue + self.ridge) / (mean + self.ridge)
        uneven = max(eigenvalue / mean - 1, 0.0) if mean > 0 else 0.0
        return max(FEWEST_STEPS, STEPS * float(np.cbrt(condition)) * (1 + min(mean / self.ridge, uneven)))

    def worthwhile_counts(self) -> list[int]:
        """Numbers of landmarks with which the fewest steps would be cheaper than blocks."""
        most, limit = self.rows // (LARGEST_PART if self.blocks else MOST), CLEARLY * self.cost_of_blocks()
        fitting = [count for count in COUNTS if count <= most and MATRICES * count**2 <= self.most_features]
        return [count for count in fitting if self.cost_of_surrogate(count, FEWEST_STEPS) < limit]

    def most_factored(self) -> int:
        """The largest number of landmarks whose factor costs little beside a sweep."""
        sweep = COMPUTED * self.support * self.rows * self.work
        return max(count for count in COUNTS if count <= FACTORED or count**3 / 3 <= LOOK * sweep)

    def best_count(self, left_out: dict[int, tuple[float, float]]) -> int:
        """The number of landmarks of the cheapest surrogate steps, or 0 if blocks are cheaper."""
        costs, factored = {0: CLEARLY * self.cost_of_blocks()}, self.most_factored()
        for count, left in left_out.items():
            extrapolated = 1.0 if count <= factored else 1 / CLEARLY
            costs[count] = extrapolated * self.cost_of_surrogate(count, self.steps(*left))
        best = min(costs, key=lambda count: costs[count])
        logger.info("costs by number of landmarks (0: blocks): %s", {n: f"{cost:.3g}" for n, cost in costs.items()})
        cheap = [count for count in left_out if self.cost_of_surrogate(count, 1) <= (1 + CHEAP) * self._sweep]
        alike = [count for count in left_out if costs[count] <= ALIKE * costs[best]]
        return max([best, *cheap, *alike]) if best else 0


def expected_support(now: float, supports: tuple[int, int], violators: float, sample: int, size: int) -> float:
    """The number of support vectors of all variables, from ``now`` on a sample.

    ``supports`` are those of the last two samples, each twice the one before; 0 where they are not known. Growth at
    their exponent is too low for small samples; all ``violators`` of the sample's solution, as extrapolated, are too
    many. The larger the sample, the more the exponent counts.
    """
    before, last = supports
    growth = np.clip(np.log2(last / before), SLOWEST_GROWTH, 1.0) if before else GROWTH
    grown = now * (size / sample) ** growth
    return float(grown * (max(violators, grown) / grown) ** (SURE / (sample + SURE)))


def suitable_landmarks(state: State, support: float) -> Landmarks | None:
    """Landmarks for surrogate steps, or None if blocks of swaps suit the expected support better."""
    return cheapest_landmarks(state, Outlook.of(state, support))


def landmarks_instead(state: State) -> Landmarks | None:
    """Landmarks for surrogate steps on the present support, where blocks do not get on."""
    return cheapest_landmarks(state, replace(Outlook.of(state, state.support_size), blocks=False))


def cheapest_landmarks(state: State, outlook: Outlook) -> Landmarks | None:
    """Those of the cheapest surrogate steps, or None if blocks are cheaper."""
    rows = np.random.default_rng(0).permutation(state.distinct_rows)
    counts = outlook.worthwhile_counts()
    if not counts:
        return None
    factored = min(counts[-1], outlook.most_factored())
    probed = rows[-max(PROBED, factored // 2) :]  # the noise of fewer rows would hide a small eigenvalue
    count = outlook.best_count(left_out(state.factor(rows[:factored]), counts, probed, outlook.rows))
    return state.landmarks(state.factor(spread(state, rows, count))) if count else None


def spread(state: State, rows: np.ndarray, count: int) -> np.ndarray:
    """Landmarks: half of them the first rows, the others drawn in proportion to what those leave out.

    Rows far from all landmarks, even if they are few, would shorten every step: what they share with each other is not
    in the surrogate.
    """
    first, pool = rows[: count // 2], rows[count // 2 : count // 2 + POOL * count]
    left = state.factor(first).residual(pool)
    chances = left + 1e-3 * left.mean() + np.finfo(np.float64).tiny
    more = np.random.default_rng(0).choice(pool, count - len(first), replace=False, p=chances / chances.sum())
    return np.concatenate([first, more])


def left_out(factor: Factor, counts: list[int], some: np.ndarray, rows: int) -> dict[int, tuple[float, float]]:
    """Mean diagonal and fifth eigenvalue of R on all rows, from some of them, for each number of landmarks."""
    seen = [count for count in counts if count <= len(factor.landmarks)]
    found = dict(zip(seen, factor.left_out(some, seen), strict=True))
    for count in counts[len(seen) :]:  # as the last two fall
        last, before = found[count // 2], found[count // 4]
        found[count] = (last[0] ** 2 / max(before[0], 1e-300), last[1] ** 2 / max(before[1], 1e-300))
    return {count: (mean, eigenvalue * rows / len(some)) for count, (mean, eigenvalue) in found.items()}
