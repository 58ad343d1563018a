"""The surrogate step: one sweep, all weights at once.

Swaps move local weight well and global weight badly. Where most rows are support vectors, a few smooth directions do
what hundreds of blocks of swaps would. With Z and r of some landmark rows (see ``Landmarks``), and at a point b >= 0
with known product K b,

    K ~ Z Z' + diag(r),   c = 1 / (r + ridge),   q = target - (K b - Z Z'b - r b),
    b+ = argmax over b >= 0 of  q'b - b'(Z Z' + diag(1/c)) b / 2      (newton.py)

The next point is the one of the smallest gap, primal minus dual, in the plane spanned by b+ - b and the last step, or
on the line to b+ if b >= 0 cuts that step short: a step up to 1 along the line is always feasible.
(At the largest dual value the primal value lags behind, which costs a fifth more steps.) The cost is the product K b+
and passes over Z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..rays import Correction
from ..state import State, VariableFeatures, one_blas_thread
from .newton import SmoothProblem

FALL, PATIENCE = 0.7, 4  # steps in a row that do not lower the gap to this part of the best one
ACCURACY = 0.02  # of the inner problem, as a part of the relative gap
NEWTON_STEPS, LEAST_FALL = 8, 0.98  # of a search: at most, and the part of the gap that one must reach to go on


def relative_gap(state: State) -> float:
    """At most 1; 1 also at b = 0, which has no value."""
    return min(state.gap / state.scale, 1.0) if state.scale > 0 else 1.0


def relative_gap_left(residual: np.ndarray, ridge: np.ndarray, state: State) -> float:
    """The relative gap to expect of the first step, at most 1.

    What landmarks leave out has no eigenvalue above the sum of its diagonal, and a step that ignores it loses the
    square of its part of the ridge. Where that is little, as in few dimensions, one step is enough for the run.
    """
    part = float(np.sum(residual / np.where(ridge > 0, ridge, np.inf)))
    return float(np.clip(part**2, state.aim / state.scale if state.scale > 0 else 1.0, 1.0))


@dataclass(frozen=True)
class Step:
    """A change of b, and K times it."""

    change: np.ndarray
    product: np.ndarray

    def __add__(self, other: Step) -> Step:
        return Step(self.change + other.change, self.product + other.product)

    def times(self, factor: float) -> Step:
        return Step(factor * self.change, factor * self.product)


@dataclass(frozen=True)
class Point:
    """A point b >= 0 of  max target'b - b'(K + diag(ridge)) b / 2,  with K b."""

    b: np.ndarray
    products: np.ndarray
    target: np.ndarray
    ridge: np.ndarray

    def after(self, step: Step) -> Point:
        return replace(self, b=self.b + step.change, products=self.products + step.product)

    def gap(self) -> float:
        """Primal minus dual: b'Kb + b'(ridge b) / 2 - target'b + slack'(slack / ridge) / 2."""
        slack, curved = np.maximum(self.target - self.products, 0.0), self.products + 0.5 * self.ridge * self.b
        return float(self.b @ (curved - self.target) + 0.5 * slack @ self.loss(slack))

    def gain(self, step: Step) -> float:
        """Of the dual value."""
        return float(step.change @ (-self.slope()[0] - 0.5 * (step.product + self.ridge * step.change)))

    def cut(self, step: Step) -> Step:
        """As much of a step as keeps b >= 0."""
        falling = step.change < 0
        return step.times(float(np.min(self.b[falling] / -step.change[falling], initial=1.0)))

    def slope(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the gap by b and by K b, as if these were independent of each other."""
        slack = np.maximum(self.target - self.products, 0.0)
        return self.products + self.ridge * self.b - self.target, self.b - self.loss(slack)

    def loss(self, slack: np.ndarray) -> np.ndarray:
        """slack / ridge; the slack vertex has none."""
        return np.divide(slack, self.ridge, out=np.zeros_like(slack), where=self.ridge > 0)


class SurrogateSteps:
    """The surrogate steps of one run, on some features."""

    def __init__(
        self, features: VariableFeatures, afresh: bool, *, u: np.ndarray | None = None, kind: str = "surrogate"
    ) -> None:
        """``afresh``: the first step is made from b = 0, not from the point of the state; ``u`` is the first u."""
        self._z, self._afresh, self._kind = features, afresh, kind
        self._inner = SmoothProblem(features, u)
        self._steps = 0
        self._last: Step | None = None
        self._best_gap, self._slow = np.inf, 0

    def stalls(self, state: State) -> bool:
        """Whether the last steps did little: what is left is local."""
        if not self._steps:
            return False
        gap = state.gap / state.scale
        self._slow = 0 if gap < FALL * self._best_gap else self._slow + 1
        self._best_gap = min(gap, self._best_gap)
        return self._slow >= PATIENCE

    def choose(self, state: State) -> Correction:
        """The next step."""
        with one_blas_thread():
            return self._choose(state)

    def _choose(self, state: State) -> Correction:
        target, ridge = state.target_and_ridge()
        b, products = state.in_svm_units() if not self._afresh else (np.zeros(state.size), np.zeros(state.size))
        own, from_zero = self._z.residual, self._afresh
        gap = relative_gap_left(own, ridge, state) if from_zero else relative_gap(state)
        q = target - (products - self._z.product(self._z.transposed(b)) - own * b)
        c = 1.0 / np.where(own + ridge > 0, own + ridge, np.inf)  # the slack vertex gets nothing
        found = self._inner.solve(c, q, ACCURACY * gap, state.is_stopped)
        toward = Step(found - b, state.product(found) - products)
        self._afresh = False
        step = self._best_step(toward, Point(b, products, target, ridge))
        self._steps += 1
        weights = state.without_opposites(np.maximum(b + step.change, 0.0))
        self._last = Step(weights - b, step.product)
        afresh = from_zero and np.array_equal(weights, step.change)
        return Correction(state.variables, weights, products=products + step.product, afresh=afresh, kind=self._kind)

    def _best_step(self, toward: Step, point: Point) -> Step:
        line = best_of([toward], point)
        if self._last is None:
            return line
        plane = best_of([toward, self._last], point)
        return plane if point.after(plane).gap() < point.after(line).gap() else line


def best_of(steps: list[Step], point: Point) -> Step:
    """The combination of steps with the smallest gap, cut where a weight becomes 0.

    The gap is convex and piecewise quadratic. Newton's method starts at the largest dual value, and that is the result
    where the dual value would fall: with contradicting labels the smallest gap can be at b = 0.
    """
    kernel = np.array([[one.change @ other.product for other in steps] for one in steps])
    ridge = np.array([[one.change @ (point.ridge * other.change) for other in steps] for one in steps])
    by_b, _ = point.slope()
    lengths = np.linalg.lstsq(kernel + ridge, np.array([-(one.change @ by_b) for one in steps]), rcond=1e-12)[0]
    largest = combined(steps, lengths)
    best, smallest = largest, np.inf
    for _ in range(NEWTON_STEPS):
        step = combined(steps, lengths)
        now = point.after(step)
        gap = now.gap()
        if gap < smallest:
            best = step
        if not gap < LEAST_FALL * smallest:
            break
        smallest = gap
        lengths = lengths - np.linalg.lstsq(*gap_derivatives(steps, now, 2 * kernel + ridge), rcond=1e-12)[0]
    found = point.cut(best)
    return found if point.gain(found) > 0 else point.cut(largest)


def gap_derivatives(steps: list[Step], now: Point, curved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Second and first derivatives of the gap by the lengths of steps; ``curved``: the second ones without slack."""
    by_b, by_product = now.slope()
    below = now.loss((now.products < now.target).astype(np.float64))
    second = curved + [[one.product @ (below * other.product) for other in steps] for one in steps]
    return second, np.array([one.change @ by_b + one.product @ by_product for one in steps])


def combined(steps: list[Step], lengths: np.ndarray) -> Step:
    return sum((s.times(t) for s, t in zip(steps[1:], lengths[1:], strict=True)), steps[0].times(lengths[0]))
