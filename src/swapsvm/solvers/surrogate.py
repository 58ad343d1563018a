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

A step that is expected to be the last one goes at once to where the lengths of the step before it lead, and its product
is computed as the certificate needs it. If the gap there is too large, the product serves the search like any other.
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
ERROR = 1.5  # the gap after a step, as a multiple of what the fall of the gap in the step before it makes expect
SHORTEST = 0.05  # step along b+ - b that is worth repeating


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

    def relative_gap(self) -> float:
        """The gap as a part of the dual value."""
        dual = float(self.b @ (self.target - 0.5 * (self.products + self.ridge * self.b)))
        return self.gap() / dual if dual > 0 else np.inf

    def gain(self, step: Step) -> float:
        """Of the dual value."""
        return float(step.change @ (-self.slope()[0] - 0.5 * (step.product + self.ridge * step.change)))

    def cut(self, step: Step) -> Step:
        """As much of a step as keeps b >= 0."""
        return step.times(self.longest(step.change))

    def longest(self, change: np.ndarray) -> float:
        """How often a change of b keeps b >= 0, at most once."""
        falling = change < 0
        return float(np.min(self.b[falling] / -change[falling], initial=1.0))

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
        self._lengths = np.empty(0)  # of the last step, along b+ - b and the step before it
        self._gap_before = 1.0
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
        point = Point(b, products, target, ridge)
        step, exact = self._step(found - b, point, state)
        self._afresh = False
        self._steps += 1
        weights = state.without_opposites(np.maximum(b + step.change, 0.0))
        self._note(step, found - b, 1.0 if from_zero else gap)
        self._last = Step(weights - b, step.product)
        afresh = from_zero and np.array_equal(weights, step.change)
        moved = products + step.product
        return Correction(state.variables, weights, products=moved, afresh=afresh, kind=self._kind, exact=exact)

    def _step(self, ahead: np.ndarray, point: Point, state: State) -> tuple[Step, bool]:
        """The step to take, and whether its product is exact, because it was expected to be the last one."""
        change = self._expected(ahead, point, state) if self._is_last(state) else None
        if change is None:
            return self._best_step(Step(ahead, state.product(point.b + ahead) - point.products), point), False
        expected = Step(change, state.product(point.b + change, exact=True) - point.products)
        if point.after(expected).relative_gap() <= state.aim / state.scale:
            return expected, True
        if self._last is not None and len(self._lengths) > 1:  # what is left is along b+ - b, where a step is feasible
            expected = expected + self._last.times(-self._lengths[1])
        return self._best_step(expected.times(1 / self._lengths[0]), point), False

    def _is_last(self, state: State) -> bool:
        """Whether the gap is expected to be small enough after the next step."""
        if not len(self._lengths) or not state.single or state.linear_columns:
            return False
        gap = relative_gap(state)
        return ERROR * gap * gap / self._gap_before <= state.aim / state.scale

    def _expected(self, ahead: np.ndarray, point: Point, state: State) -> np.ndarray | None:
        """The change of b by a step of the lengths of the last one, or None if b >= 0 would cut it."""
        change = self._lengths[0] * ahead
        if self._last is not None and len(self._lengths) > 1:
            change = change + self._lengths[1] * self._last.change
        if self._lengths[0] < SHORTEST or point.longest(change) < 1:
            return None
        return state.without_opposites(np.maximum(point.b + change, 0.0)) - point.b

    def _note(self, step: Step, ahead: np.ndarray, gap: float) -> None:
        """Keep the lengths of a step, and the gap before it."""
        directions = [ahead] if self._last is None else [ahead, self._last.change]
        self._lengths = np.linalg.lstsq(np.column_stack(directions), step.change, rcond=1e-12)[0]
        self._gap_before = gap

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
