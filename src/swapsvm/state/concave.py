"""What states in NumPy share, and the state of a user's own concave g.

Its gradients are computed from scratch, its line searches find the root of the slope.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.optimize import brentq

from .._core import PROGRESS_WINDOW
from ..arrays import ArrayLike
from ..problems import Concave, LogDeterminant
from ..problems.log_determinant import EPSILON
from ..rays import Correction, Move, Ray, Search
from ._base import Need, State, variation

_DOMAIN = ". If g has a domain, such as that of a logarithm, pass start=, a point inside"

PROGRESS = ("_moves", "exhausted", "_best_value", "_best_gap", "_window_gap")  # of a snapshot


class GradientState(State):
    """All that follows from weights and a gradient in NumPy; ``_evaluate`` updates the gradient."""

    gradient: np.ndarray

    @abstractmethod
    def _evaluate(self) -> None:
        """Gradient, value, gap and its floor at the present weights."""

    @property
    def support(self) -> np.ndarray:  # type: ignore[override]  # follows from the weights
        return np.flatnonzero(self.weights)

    def toward(self) -> int:
        return int(np.argmax(self.gradient))

    def away(self) -> int:
        support = self.support
        return int(support[np.argmin(self.gradient[support])])

    def active_toward(self) -> int:
        support = self.support
        return int(support[np.argmax(self.gradient[support])])

    def swap_slope(self, i: int, j: int) -> float:
        return float(self.gradient[i] - self.gradient[j])

    def move(self, move: Move | Correction) -> None:
        self.weights = self.weights * move.scale
        if isinstance(move, Correction):
            self.weights[move.variables] = move.weights
            self._evaluate()
        else:
            if move.add:
                self.weights[move.i] += move.add
            if move.sub:
                self.weights[move.j] = 0.0 if move.drop else max(self.weights[move.j] - move.sub, 0.0)
            self._follow(move)
        self._check_progress()

    def _follow(self, move: Move) -> None:
        """Update value and gradient after a move; by default from scratch."""
        self._evaluate()

    def _forget_progress(self) -> None:
        self.exhausted, self._moves = False, 0
        self._best_value, self._best_gap, self._window_gap = -np.inf, np.inf, np.inf

    def _check_progress(self) -> None:
        """As in the core: has the last window of moves raised the value or lowered the gap?"""
        self._moves += 1
        self._window_gap = min(self._window_gap, self.gap)
        if self._moves < PROGRESS_WINDOW + 2 * self.support_size:
            return
        self.exhausted = self.value <= self._best_value and self._window_gap >= self._best_gap
        self._best_value, self._best_gap = max(self._best_value, self.value), min(self._best_gap, self._window_gap)
        self._moves, self._window_gap = 0, np.inf

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.weights = np.zeros(self.size)
        self.weights[variables] = weights
        self.certify()

    def certify(self) -> None:
        self.weights = self.weights / self.weights.sum()
        self._evaluate()
        self._forget_progress()

    def snapshot(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights.copy(), **{name: np.array(getattr(self, name)) for name in PROGRESS}}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.weights = snapshot["weights"].copy()
        self._evaluate()
        for name in PROGRESS:
            setattr(self, name, snapshot[name].item())

    def violators(self, count: int) -> np.ndarray:
        found = np.flatnonzero((self.weights == 0) & (self.gradient > self.weights @ self.gradient))
        return found[np.argsort(-self.gradient[found], kind="stable")[:count]]


class ConcaveState(GradientState):
    """The state of a user's own g."""

    def __init__(self, problem: Concave | LogDeterminant) -> None:
        self.problem = problem
        self.size = problem.size
        self.weights = np.zeros(problem.size)
        self.evaluations = 0
        self._forget_progress()

    @property
    def scale(self) -> float:  # type: ignore[override]  # follows from the value
        """|g|, but at least 1: a general g may be zero at its maximum."""
        return max(1.0, abs(self.value))

    def second_order_away(self, i: int) -> int:
        """[SWAP14] Alg. 5: argmax of (grad_i - grad_j)^2 / -(H_ii - 2 H_ij + H_jj) over active j."""
        if self.problem.hessian is None:
            return self.away()
        j = self.support
        j = j[(self.gradient[j] < self.gradient[i]) & (j != i)]
        if not len(j):
            return self.away()
        i_s = np.full(len(j), i)
        h_ii, h_ij, h_jj = (self._hessian(*pair) for pair in ((i_s, i_s), (i_s, j), (j, j)))
        curvature = -(h_ii - 2 * h_ij + h_jj)
        rise = self.gradient[i] - self.gradient[j]
        gains = np.divide(rise**2, curvature, out=np.full(len(j), np.inf), where=curvature > 0)
        return int(j[np.argmax(gains)])

    def search(self, ray: Ray) -> Search:
        """Root of the slope on the feasible interval; see ``_line_search``."""
        longest, direction = ray.longest(self.weights), ray.direction(self.weights)
        if not float(self.gradient @ direction) > 0 or not longest < np.inf:
            return Search(ray, 0.0, 0.0, False)
        return _line_search(self, ray, direction, longest)

    def face(self, variables: np.ndarray) -> State:
        return self._placed(type(self)(self.problem.restricted(variables)), self.weights[variables])

    def lacks(self, need: Need) -> str:
        if need is Need.EVERY_ROW:
            return ""
        if self.problem.hessian is None:
            return "the diagonal of a general concave g is unknown without its hessian"
        every = np.arange(self.size)
        return variation(-self._hessian(every, every) / 2)

    def slope(self, direction: np.ndarray, step: float) -> float:
        """Derivative of g along a direction at a trial point; infinite or NaN outside the domain of g."""
        self.evaluations += 1
        trial = np.maximum(self.weights + step * direction, 0.0)
        try:
            with np.errstate(all="ignore"):
                return float(np.asarray(self.problem.gradient(trial), dtype=np.float64) @ direction)
        except (np.linalg.LinAlgError, ArithmeticError):  # such as a singular matrix at the edge of the domain
            return np.nan

    def value_at(self, direction: np.ndarray, step: float) -> float:
        """g at a trial point, infinite or NaN outside its domain."""
        try:
            with np.errstate(all="ignore"):
                return float(self.problem.value(np.maximum(self.weights + step * direction, 0.0)))
        except (np.linalg.LinAlgError, ArithmeticError):
            return np.nan

    def _hessian(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        assert self.problem.hessian is not None
        entries = np.asarray(self.problem.hessian(self.weights, i, j), dtype=np.float64)
        if entries.shape != i.shape or not np.isfinite(entries).all():
            raise ValueError(f"hessian(a, i, j) must return {len(i)} finite entries; got shape {entries.shape}")
        return entries

    def _evaluate(self) -> None:
        self.evaluations += 1
        gradient = _in_double(self.problem.gradient(self.weights), "gradient")
        if gradient.shape != (self.size,):
            raise ValueError(f"gradient(a) must have shape {(self.size,)}; got {gradient.shape}")
        if not np.isfinite(gradient).all():
            bad = int(np.flatnonzero(~np.isfinite(gradient))[0])
            raise ValueError(
                f"gradient(a) is {gradient[bad]} at index {bad}: it must be finite at every feasible point reached"
                f"{_DOMAIN}"
            )
        value = _in_double(self.problem.value(self.weights), "value")
        if value.shape:
            raise ValueError(f"value(a) must be a number; got shape {value.shape}")
        if not np.isfinite(value):
            raise ValueError(f"value(a) is {value}: it must be finite at every feasible point reached{_DOMAIN}")
        self.gradient, self.value = gradient, float(value)
        self.gap = float(gradient.max() - self.weights @ gradient)
        self.gap_floor = 8 * EPSILON * max(float(np.abs(gradient).max()), abs(self.value))


def _in_double(found: ArrayLike, name: str) -> np.ndarray:
    """A copy of what a user's function returned; single precision is refused, since it certifies nothing."""
    array = np.array(found)
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        raise ValueError(
            f"{name}(a) is of type {array.dtype}, and a certificate needs double precision: compute in float64 "
            '(JAX: jax.config.update("jax_enable_x64", True) before anything else)'
        )
    return array.astype(np.float64, copy=False)


def _line_search(state: ConcaveState, ray: Ray, direction: np.ndarray, longest: float) -> Search:
    """Maximize g(a + t d) over 0 <= t <= longest, knowing that the slope at 0 is positive.

    The slope falls along a ray because g is concave, so its root is bracketed. A trial point outside the domain of g is
    too far: its slope is not finite, or it is steeper than at 0 and yet lower, as with a nearly singular matrix.
    """
    first = float(state.gradient @ direction)
    steepest = first * (1 + 1e-6) + 1e-9 * max(1.0, float(np.abs(state.gradient).max()))
    slope = {0.0: first}

    def slope_at(t: float) -> float:
        if t not in slope:
            found = state.slope(direction, t)
            lost = found > steepest and not state.value_at(direction, t) >= state.value
            slope[t] = np.nan if lost else found
        return slope[t]

    low, high = 0.0, longest
    for _ in range(200):
        if np.isfinite(slope_at(high)):
            break
        high = (low + high) / 2
    if slope_at(high) >= 0 and high == longest:
        _check_concave(state, direction, longest, first, max(slope.values()))
        return Search(ray, longest, _gain_beyond(state, direction, longest, first, slope_at(longest)), True)
    while slope_at(high) > 0:  # between a point inside the domain and one outside
        low, high = high, (high + longest) / 2
        if not np.isfinite(slope_at(high)) or high - low <= 1e-15 * longest:
            high = low
            break
    step = high if slope_at(high) >= 0 else brentq(slope_at, low, high, xtol=1e-14 * longest, rtol=1e-13)
    _check_concave(state, direction, step, first, max(v for v in slope.values() if np.isfinite(v)))
    return Search(ray, step, _gain_at(state, direction, step, first, 0.0), False)


def _gain_at(state: ConcaveState, direction: np.ndarray, step: float, first: float, last: float) -> float:
    """What a step gains whose slopes at both ends are known."""
    gain = state.value_at(direction, step) - state.value
    if gain > 1e-8 * abs(state.value):
        return gain
    return (first + last) * step / 2  # near the maximum the difference of values cancels; exact for a quadratic


def _gain_beyond(state: ConcaveState, direction: np.ndarray, longest: float, first: float, last: float) -> float:
    """What the best step in [0, 1] gains where the feasible ones end earlier, at a positive slope: by the secant."""
    if longest >= 1.0:
        return _gain_at(state, direction, longest, first, last)
    curvature = (first - last) / longest
    step = min(first / curvature, 1.0) if curvature > 0 else 1.0
    return step * (first - step * curvature / 2)


def _check_concave(state: ConcaveState, direction: np.ndarray, step: float, first: float, steepest: float) -> None:
    value = state.value_at(direction, step)
    if value < state.value - 1e-8 * max(1.0, abs(state.value)):
        raise ValueError(
            f"g falls from {state.value:.6g} to {value:.6g} along an ascent line search: "
            "it is not concave, or its gradient is not that of its value"
        )
    if steepest > first * (1 + 1e-6) + 1e-9 * max(1.0, float(np.abs(state.gradient).max())):
        raise ValueError(
            f"the slope of g grows from {first:.6g} to {steepest:.6g} along a line search: g is not concave"
        )
