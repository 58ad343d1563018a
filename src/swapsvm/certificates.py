"""What the certificates of a run have proven, and whether another one is worth its pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ._core import Measure
from .state import Products, State
from .stopping import Progress

# A certificate above the target reopens the run if it is below this part of the previous one: double precision would
# do better than single, and rows that were left out may have to be found in several rounds.
ENOUGH_IN_SINGLE, ENOUGH = 0.5, 0.9
MARGIN = 0.99  # a run aims a little below its target: the certificate, which is more exact, may come out above


@dataclass(frozen=True)
class Proven:
    """A certified point: its weights, the progress there, how far its value can be off, and both kinds of gaps.

    ``known_products`` are those of a problem that reads its model from them.
    """

    weights: np.ndarray
    progress: Progress
    rounding: float
    simplex_gap: float
    primal_gap: float
    level: float
    known_products: Products | None = None

    @classmethod
    def of(cls, state: State, progress: Progress) -> Proven:
        """The present point of a state."""
        gaps = state.simplex_gap, state.primal_gap, state.level
        return cls(state.weights, progress, state.value_rounding, *gaps, state.known_products)

    def is_at_least(self, other: Proven) -> bool:
        """Whether this point is as good as another one."""
        smaller = self.progress.relative_gap <= other.progress.relative_gap
        return smaller and self.progress.gap <= other.progress.gap


class Certificates:
    """The certificates of one run. ``gap`` is that of the last one that made progress, ``fruitless`` counts since."""

    def __init__(self, largest_value: float, stops_at: Measure) -> None:
        self.gap, self.fruitless = math.inf, 0
        self.last: Proven | None = None
        self.margin = MARGIN
        self._largest_value = largest_value  # proven bound on max g
        self._stops_at = stops_at

    def restart(self, gap: float = math.inf, fruitless: int = 0) -> None:
        """Count from these numbers on."""
        self.gap, self.fruitless = gap, fruitless

    def note(self, state: State, progress: Progress) -> None:
        """Keep a point if it is certified."""
        if not state.certified:
            return
        self._largest_value = min(self._largest_value, progress.value + min(progress.gap, state.simplex_gap))
        self.last = Proven.of(state, progress)

    def lower_margin(self, progress: Progress, rounding: float) -> bool:
        """Aim lower, to leave room for the rounding that a certificate adds; False if there is no room."""
        target = progress.target
        margin = MARGIN * (1 - 2 * rounding / target) if target > 0 else 0.0
        if not 0.1 < margin < self.margin or progress.gap - rounding > target:
            return False
        self.margin = margin
        return True

    def improve(self, gap: float, single: bool) -> bool:
        """Whether the gap is enough of an improvement for another round of moves."""
        improved = gap < (ENOUGH_IN_SINGLE if single else ENOUGH) * self.gap
        if improved:
            self.restart(gap)
        return improved

    def bounded(self, end: Proven, state: State) -> Proven:
        """A point with the best bounds on its gaps that are proven: max g is at most the largest value."""
        below = max(self._largest_value - end.progress.value, 0.0) + end.rounding
        primal = state.primal_gap_of(below, end.progress.scale)
        gap = primal if self._stops_at is Measure.primal and primal < math.inf else below
        return replace(
            end,
            progress=replace(end.progress, gap=min(end.progress.gap, gap)),
            simplex_gap=min(end.simplex_gap, below),
            primal_gap=min(end.primal_gap, primal),
        )
