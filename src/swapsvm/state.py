"""The state of a run: weights, gradient and value, and the verbs that solvers are written in.

``toward()`` is the ascent vertex, ``away()`` the descent vertex among the active ones, ``search(ray)`` an exact line
search, ``move(m)`` a change of the weights. ``run`` is the loop. Two states exist: of a user's own concave g, in NumPy,
and of kernel quadratics, in the compiled core, with all of the gradient or with a sampled toward vertex.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.optimize import brentq

from . import _core
from .problems import Concave, LogDeterminant, Quadratic
from .problems.log_determinant import EPSILON, Moments
from .rays import KINDS, Away, Correction, Move, Ray, Search, Swap, Toward
from .trace import RAW, is_recorded

_DOMAIN = ". If g has a domain (a logarithm of sums, say), pass start=, a point inside of it"
Problem = Concave | LogDeterminant | Quadratic
LOOKS = 64  # most samples that are drawn between two looks at the stop rules
REFRESH = 64  # moves after which moments are computed from scratch: changes of low rank add up rounding
WINDOW = 256  # moves after which a state sees whether it still gets on; the core has the same number


class Chooser(Protocol):
    """A solver, as a state sees it."""

    compiled: ClassVar[str | None]

    def choose(self, state: State) -> Move | Correction: ...


@dataclass
class Ran:
    """What one call of ``run`` did."""

    moves: int = 0
    stalled: bool = False  # rounding leaves no ascent
    kinds: Counter[str] = field(default_factory=Counter)
    records: np.ndarray = field(default_factory=lambda: np.empty(0, RAW))


@dataclass(frozen=True)
class Limits:
    """When one call of ``run`` ends: after so many moves, or at this relative or absolute gap."""

    moves: int
    tol: float = 0.0
    eps: float = 0.0
    iteration: int = 0  # number of the last iteration so far


@dataclass(frozen=True)
class Sampling:
    """How to look for the toward vertex among a few random variables.

    Parameters
    ----------
    size : int, default=59
        Variables in a sample; 59 contain one of the best 5 % with probability 0.95.
    with_active : bool, default=True
        The active variables are candidates too, which costs nothing. False is [SWAP14].
    trusted : int, optional
        So many samples in a row without a violator end the run (``stop_reason`` ``"sample"``), as in [SWAP14]; the gap
        that is then reported is the certified one, which may be large. By default only a full pass ends it.
    """

    size: int = 59
    with_active: bool = True
    trusted: int | None = None

    def __post_init__(self) -> None:
        if int(self.size) != self.size or self.size < 1:
            raise ValueError(f"sampling={self.size!r} must be a positive integer, or None to look at every row")
        if self.trusted is not None and self.trusted < 1:
            raise ValueError(f"trusted={self.trusted!r} must be a positive number of samples, or None")


class State(ABC):
    """The verbs. Subclasses hold the numbers."""

    size: int
    weights: np.ndarray
    support: np.ndarray
    value: float
    gap: float
    gap_floor: float  # what rounding leaves of a gap
    exhausted: bool  # many moves in a row did not raise the value: the rest of the gap is noise of the arithmetic
    scale: float  # what a relative gap is relative to
    evaluations: int
    clock: Callable[[], float] = staticmethod(time.perf_counter)
    deadline: float = np.inf  # by that clock: no move is begun after it, nor on any face
    single = False  # whether it computes in single precision
    radius = 1.0  # what the weights sum to

    @abstractmethod
    def toward(self) -> int:
        """The ascent vertex."""

    @abstractmethod
    def away(self) -> int:
        """The descent vertex among the active ones."""

    @abstractmethod
    def second_order_away(self, i: int) -> int:
        """The active vertex whose swap with i gains most."""

    @abstractmethod
    def swap_slope(self, i: int, j: int) -> float:
        """grad_i - grad_j."""

    @abstractmethod
    def search(self, ray: Ray) -> Search:
        """Exact line search along a ray."""

    @abstractmethod
    def move(self, move: Move | Correction) -> None:
        """Change the weights; gradient and value follow."""

    @abstractmethod
    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        """Put these weights in place of all others."""

    @abstractmethod
    def certify(self) -> None:
        """Recompute gradient, value and gap from scratch, in double."""

    @abstractmethod
    def snapshot(self) -> dict[str, np.ndarray]:
        """All that the next moves depend on, but kernel values."""

    @abstractmethod
    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """Back to a snapshot of the same problem, to the last bit."""

    @abstractmethod
    def face(self, variables: np.ndarray) -> State:
        """The state of the problem restricted to a face that contains the support, at the same weights."""

    def _placed(self, face: State, weights: np.ndarray) -> State:
        """The state of a face at these weights; before the start of a run there are none."""
        face.clock, face.deadline = self.clock, self.deadline
        if weights.any():
            face.set_weights(np.arange(face.size), weights)
        return face

    @abstractmethod
    def diagonal_range(self) -> tuple[float, float]:
        """Smallest and largest Q_ii; the slack vertex, whose is 0, is not counted."""

    @property
    def support_size(self) -> int:
        return len(self.support)

    @property
    def memory_pays(self) -> bool:
        """Whether kernel values are worth keeping between sweeps."""
        return False

    @property
    def largest_face(self) -> float:
        """How many variables a face may have for its kernel values to fit into the budget of memory."""
        return np.inf

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        """Weights of a run that does not solve the problem on its first variables."""
        return np.ones(len(variables))

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        """All variables so that the first ones, however many, are a sample of the data."""
        return rng.permutation(self.size)

    @abstractmethod
    def violators(self, count: int) -> np.ndarray:
        """The inactive variables with the steepest toward slope, at most so many."""

    def shrink(self) -> None:  # noqa: B027 - a state may have nothing to leave out
        """Leave out, until the next certificate, variables that are the last to enter, if that saves anything."""

    def watch(self, variables: np.ndarray) -> None:  # noqa: B027 - the same
        """Look only at these variables and the active ones until the next certificate, if that saves anything."""

    @property
    def patience(self) -> int:
        """How many certificates in a row may fail to halve the gap before the run is at the end of its arithmetic."""
        return 0

    def confirmed(self, stop_gap: float) -> bool:
        """Whether a gap that was reached may be certified now. A sampled state looks again first."""
        return True

    @property
    def trusts_samples(self) -> bool:
        """Whether the gap of a sample ends the run, whatever the certificate says."""
        return False

    def refined(self) -> State | None:
        """A more exact state of the problem, without weights yet, or None if there is none."""
        return None

    def run(self, solver: Chooser, limits: Limits) -> Ran:
        """The loop: the solver chooses, the state moves."""
        start, ran, records = time.perf_counter(), Ran(), []
        while ran.moves < limits.moves and self.gap > max(limits.eps, limits.tol * self.scale):
            if self.clock() >= self.deadline:
                break
            ran.stalled = self.exhausted or self.gap <= self.gap_floor
            if ran.stalled:
                break
            move = solver.choose(self)
            ran.stalled = move.empty
            if ran.stalled:
                break
            self.move(move)
            ran.moves += 1
            ran.kinds[move.kind] += 1
            iteration = limits.iteration + ran.moves
            if is_recorded(iteration):
                seconds = time.perf_counter() - start
                records.append(
                    (
                        iteration,
                        self.support_size,
                        self.evaluations,
                        KINDS.index(move.kind),
                        seconds,
                        self.value,
                        self.gap,
                    )
                )
        ran.records = np.array(records, RAW)
        return ran


def open_state(problem: Problem, *, sampling: int | Sampling | None = None, seed: int = 0) -> State:
    """The state of a problem, without weights yet."""
    if isinstance(problem, Quadratic):
        return KernelState(problem, sampling=sampling, seed=seed)
    if sampling is not None:
        raise ValueError(
            f"sampling={sampling!r} needs a kernel problem; a general concave g gives its whole gradient at once"
        )
    return LogDeterminantState(problem) if isinstance(problem, LogDeterminant) else ConcaveState(problem)


class GradientState(State):
    """What follows from weights and a gradient in NumPy; ``_evaluate`` brings the gradient up to date."""

    gradient: np.ndarray
    _moves: int
    _best_value: float
    _best_gap: float
    _window_gap: float

    @abstractmethod
    def _evaluate(self) -> None:
        """Gradient, value, gap and its floor at the present weights."""

    @property
    def support(self) -> np.ndarray:  # type: ignore[override]
        return np.flatnonzero(self.weights)

    def toward(self) -> int:
        return int(np.argmax(self.gradient))

    def away(self) -> int:
        support = self.support
        return int(support[np.argmin(self.gradient[support])])

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
        self._watch()

    def _follow(self, move: Move) -> None:
        """Value and gradient after a move: from scratch, since nothing more is known of g."""
        self._evaluate()

    def _watch(self) -> None:
        """As the core does: see whether a window of moves still raised the value or lowered the gap."""
        self._moves += 1
        self._window_gap = min(self._window_gap, self.gap)
        if self._moves < WINDOW + 2 * self.support_size:
            return
        self.exhausted = self.value <= self._best_value and self._window_gap >= self._best_gap
        self._best_value, self._best_gap = max(self._best_value, self.value), min(self._best_gap, self._window_gap)
        self._moves, self._window_gap = 0, np.inf

    def _forget_progress(self) -> None:
        self.exhausted, self._moves = False, 0
        self._best_value, self._best_gap, self._window_gap = -np.inf, np.inf, np.inf

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.weights = np.zeros(self.size)
        self.weights[variables] = weights
        self.certify()

    def certify(self) -> None:
        self.weights = self.weights / self.weights.sum()
        self._evaluate()
        self._forget_progress()

    def snapshot(self) -> dict[str, np.ndarray]:
        watched = [self._moves, self.exhausted, self._best_value, self._best_gap, self._window_gap]
        return {"weights": self.weights.copy(), "watched": np.array(watched, dtype=np.float64)}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.weights = snapshot["weights"].copy()
        self._evaluate()
        moves, exhausted, self._best_value, self._best_gap, self._window_gap = snapshot["watched"].tolist()
        self._moves, self.exhausted = int(moves), bool(exhausted)

    def violators(self, count: int) -> np.ndarray:
        found = np.flatnonzero((self.weights == 0) & (self.gradient > self.weights @ self.gradient))
        return found[np.argsort(-self.gradient[found], kind="stable")[:count]]


class ConcaveState(GradientState):
    """The state of a user's own g."""

    def __init__(self, problem: Concave | LogDeterminant) -> None:
        self.problem: Any = problem
        self.size = problem.size
        self.weights = np.zeros(problem.size)
        self.evaluations = 0
        self._forget_progress()

    @property
    def scale(self) -> float:  # type: ignore[override]
        """Relative to |g|, but never to less than 1: a general g may well be zero at its maximum."""
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

    def diagonal_range(self) -> tuple[float, float]:
        if self.problem.hessian is None:
            raise ValueError("the diagonal of a general concave g is known only if it offers hessian entries")
        every = np.arange(self.size)
        diagonal = -self._hessian(every, every) / 2
        return float(diagonal.min()), float(diagonal.max())

    def slope(self, direction: np.ndarray, step: float) -> float:
        """Derivative of g along a direction at a trial point; may be infinite or NaN outside of g's domain."""
        self.evaluations += 1
        trial = np.maximum(self.weights + step * direction, 0.0)
        try:
            with np.errstate(all="ignore"):
                return float(np.asarray(self.problem.gradient(trial), dtype=np.float64) @ direction)
        except (np.linalg.LinAlgError, ArithmeticError):  # a singular matrix, say, at the edge of the domain
            return np.nan

    def value_at(self, direction: np.ndarray, step: float) -> float:
        """g at a trial point; the same."""
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


def _in_double(found: Any, name: str) -> np.ndarray:
    """What a user's function gave, as an array of its own. A certificate of single precision would be none."""
    array = np.array(found)
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        raise ValueError(
            f"{name}(a) is of type {array.dtype}, and a certificate needs double precision: compute in float64 "
            '(JAX: jax.config.update("jax_enable_x64", True) before anything else)'
        )
    return array.astype(np.float64, copy=False)


def _line_search(state: ConcaveState, ray: Ray, direction: np.ndarray, longest: float) -> Search:
    """Maximize g(a + t d) over 0 <= t <= longest, knowing that the slope at 0 is positive.

    The slope falls along a ray because g is concave, so its root is bracketed. A trial point outside of the domain of g
    (slope not finite, or steeper than at 0 and yet lower: digits of a matrix that is all but singular) is too far.
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
        fall = first - slope_at(longest)
        gain = first**2 * longest / (2 * fall) if fall > 0 else np.inf  # of the unclipped step, by the secant
        return Search(ray, longest, gain, True)
    while slope_at(high) > 0:  # between a point inside of the domain and one outside
        low, high = high, (high + longest) / 2
        if not np.isfinite(slope_at(high)) or high - low <= 1e-15 * longest:
            high = low
            break
    step = high if slope_at(high) >= 0 else brentq(slope_at, low, high, xtol=1e-14 * longest, rtol=1e-13)
    _check_concave(state, direction, step, first, max(v for v in slope.values() if np.isfinite(v)))
    return Search(ray, step, _gain(state, direction, step, first), False)


def _gain(state: ConcaveState, direction: np.ndarray, step: float, first: float) -> float:
    gain = state.value_at(direction, step) - state.value
    # A difference of values has no digits left near the maximum; half of slope times step is exact for a quadratic.
    return gain if gain > 1e-8 * abs(state.value) else first * step / 2


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


class LogDeterminantState(ConcaveState):
    """The state of log det M(a): its line searches are closed forms, and a move is a change of M of rank one or two."""

    moments: Moments
    _unrefreshed: int  # moves since all was computed from scratch

    @property
    def scale(self) -> float:  # type: ignore[override]
        """n: the zero of g is that of the units of the points, and gap / n is a ratio of leverages."""
        return float(self.problem.dimension)

    def search(self, ray: Ray) -> Search:
        match ray:
            case Toward(i):
                step, gain = self.moments.toward(i)
            case Away(j):
                step, gain = self.moments.away(j)
            case Swap(i, j):
                step, gain = self.moments.swap(i, j)
        longest = ray.longest(self.weights)
        if not step > 0 or not longest < np.inf:
            return Search(ray, 0.0, 0.0, False)
        return Search(ray, float(min(step, longest)), float(gain), bool(step >= longest))

    def second_order_away(self, i: int) -> int:
        """By the gain itself."""
        j = self.support
        j = j[self.gradient[j] < self.gradient[i]]
        return int(j[np.argmax(self.moments.swap(i, j)[1])]) if len(j) else self.away()

    def snapshot(self) -> dict[str, np.ndarray]:
        held = self.moments
        numbers = np.array([held.log_det, self._unrefreshed])
        return {
            **super().snapshot(),
            "inverse": held.inverse.copy(),
            "leverage": held.leverage.copy(),
            "numbers": numbers,
        }

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        super().restore(snapshot)
        self.moments.inverse, self.moments.leverage = snapshot["inverse"].copy(), snapshot["leverage"].copy()
        self.moments.log_det, unrefreshed = snapshot["numbers"].tolist()
        self._unrefreshed = int(unrefreshed)
        self._read()

    def diagonal_range(self) -> tuple[float, float]:
        raise ValueError(
            "a log determinant is no enclosing ball, as solver='cvm' needs: use solver='fcfw', the same steps"
        )

    def _follow(self, move: Move) -> None:
        self._unrefreshed += 1
        if self._unrefreshed >= REFRESH or move.scale <= 0:
            self._evaluate()
        else:
            changes = [(move.i, move.add), (move.j, -move.sub)]
            self.moments.move(move.scale, [k for k, change in changes if change], [c for _, c in changes if c])
            self._evaluate() if isnan(self.moments.log_det) else self._read()

    def _evaluate(self) -> None:
        self._unrefreshed = 0
        try:
            self.moments = Moments(self.problem.rows, self.weights)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"the points of positive weight do not span all {self.problem.dimension} dimensions: "
                "start from weights of points that do"
            ) from None
        self._read()

    def _read(self) -> None:
        self.evaluations += 1
        self.value, self.gradient = self.moments.log_det + self.problem.offset, self.moments.leverage
        highest = float(self.gradient.max())
        self.gap = highest - float(self.weights @ self.gradient)
        self.gap_floor = 8 * EPSILON * highest


class KernelState(State):
    """The state of a kernel quadratic, in the compiled core."""

    def __init__(self, problem: Quadratic, *, sampling: int | Sampling | None = None, seed: int = 0) -> None:
        self.problem = problem
        self.sampling = sampling if sampling is None or isinstance(sampling, Sampling) else Sampling(sampling)
        self.seed = seed
        self.size = problem.size
        ridge = np.atleast_1d(np.asarray(problem.ridge, dtype=np.float64))
        half_linear = np.empty(0) if problem.linear is None else np.asarray(problem.linear, dtype=np.float64) / 2
        bits = "32" if problem.gram.single else "64"
        radius = (float(problem.radius or 0.0), problem.grows)
        arguments = (problem.gram.core, list(problem.segments), ridge, half_linear, float(problem.bias), radius)
        if self.sampling is None:
            self.core = getattr(_core, "FullState" + bits)(*arguments)
        else:
            chosen = (int(self.sampling.size), self.sampling.with_active, seed)
            self.core = getattr(_core, "SampledState" + bits)(*arguments, *chosen)
        self._patience, self._empty = 1, 0  # empty samples in a row before a full pass, and so far

    radius = property(lambda self: self.core.radius)
    weights = property(lambda self: np.asarray(self.core.weights) * self.core.radius)
    support = property(lambda self: np.asarray(self.core.support))
    support_size = property(lambda self: self.core.support_size)
    value = property(lambda self: self.core.value)
    gap = property(lambda self: self.core.gap)
    gap_floor = property(lambda self: self.core.gap_floor)
    exhausted = property(lambda self: self.core.exhausted)
    scale = property(lambda self: self.core.scale)
    evaluations = property(lambda self: self.problem.gram.evaluations)
    single = property(lambda self: self.problem.gram.single)

    @property
    def samplings(self) -> int:
        """How many samples were drawn."""
        return 0 if self.sampling is None else int(self.core.samplings)

    def toward(self) -> int:
        return int(self.core.toward)

    def away(self) -> int:
        return int(self.core.away)

    def swap_slope(self, i: int, j: int) -> float:
        return 2.0 * float(self.core.score(j) - self.core.score(i))

    def second_order_away(self, i: int) -> int:
        return int(self.core.second_order_away(i))

    def search(self, ray: Ray) -> Search:
        match ray:
            case Toward(i):
                found = self.core.search_toward(i)
            case Away(j):
                found = self.core.search_away(j)
            case Swap(i, j):
                found = self.core.search_swap(i, j)
        return Search(ray, *found)

    def move(self, move: Move | Correction) -> None:
        if isinstance(move, Correction):
            variables, weights = np.asarray(move.variables, np.int32), np.asarray(move.weights, np.float64)
            self.core.correct(variables, weights, move.scale, move.growth, move.fused)
        else:
            kind = KINDS.index(move.kind)
            self.core.move(kind, move.scale, move.i, move.add, move.j, move.sub, move.drop)

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.core.set_weights(np.asarray(variables, np.int32), np.asarray(weights, np.float64))

    def set_ridge(self, ridge: Any) -> None:
        """Another ridge at the same weights, which stay feasible; no kernel value is computed."""
        self.problem = replace(self.problem, ridge=ridge)
        self.core.set_ridge(np.atleast_1d(np.asarray(ridge, dtype=np.float64)))

    def certify(self) -> None:
        self.core.certify()

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**self.core.snapshot(), "looks": np.array([self._patience, self._empty])}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        core = dict(snapshot)
        self._patience, self._empty = core.pop("looks").tolist()
        self.core.restore(**core)

    def face(self, variables: np.ndarray) -> State:
        variables = np.asarray(variables, np.int32)
        return self._placed(
            KernelState(self.problem.restricted(variables, self.core.face(variables))), self.weights[variables]
        )

    def diagonal_range(self) -> tuple[float, float]:
        diagonal = self.problem.gram.diagonal()[self.problem.rows] + self.problem.bias + np.asarray(self.problem.ridge)
        of_rows = diagonal[self.problem.signs != 0]
        return float(of_rows.min()), float(of_rows.max())

    @property
    def patience(self) -> int:
        return 0 if self.sampling is None else 20  # a sample sees little of the gap: full passes bring it on slowly

    def confirmed(self, stop_gap: float) -> bool:
        if self.sampling is None:
            return True
        needed = self.sampling.trusted or self._patience
        for _ in range(LOOKS):
            self._empty += 1
            if self._empty >= needed:
                self._empty = 0
                self._patience = min(
                    2 * self._patience, LOOKS
                )  # should the full pass find a violator, the next is later
                return True
            self.core.look()
            if self.gap > stop_gap:
                self._empty = 0
                return False
        return False

    @property
    def trusts_samples(self) -> bool:
        return self.sampling is not None and self.sampling.trusted is not None

    @property
    def memory_pays(self) -> bool:
        return self.sampling is None and self.problem.gram.memory_pays

    @property
    def largest_face(self) -> float:
        gram = self.problem.gram
        budget = gram.cache_counts["budget"] / (2 if gram.memory_pays else 1)  # the other half is for lines
        return max(512.0, float(np.sqrt(budget / gram.dtype.itemsize)))

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        return self.problem.start_weights(variables)

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        return self.problem.sample_order(rng)

    def violators(self, count: int) -> np.ndarray:
        return np.asarray(self.core.violators(count))

    def shrink(self) -> None:
        self.core.shrink()

    def watch(self, variables: np.ndarray) -> None:
        """Until the next certificate, look only at these variables and the active ones."""
        self.core.watch(np.asarray(variables, np.int32))

    def refresh(self) -> None:
        """Look at every variable again; h is summed afresh."""
        self.core.refresh()

    def extreme(self, size: int) -> np.ndarray:
        """So many variables: the best toward vertices and the worst active ones."""
        return np.asarray(self.core.extreme(size))

    def solve_on(self, variables: np.ndarray, block: int, blocks: int, accuracy: float) -> Correction:
        """Weights that solve the problem on these variables to a part of their gap or value, by blocks of swaps."""
        capacity = min(self.largest_face, self.size)
        listed = np.asarray(variables, np.int32)
        found, weights, scale, growth = self.core.solve_on(listed, int(capacity), block, blocks, accuracy)
        return Correction(found, weights, scale, growth, fused=True)

    def refined(self) -> State | None:
        if not self.problem.gram.refinable:
            return None
        return KernelState(self.problem.in_double(), sampling=self.sampling, seed=self.seed)

    def run(self, solver: Chooser, limits: Limits) -> Ran:
        if solver.compiled is None:
            return super().run(solver, limits)
        step: Any = getattr(_core.StepKind, solver.compiled)
        moves, stalled, kinds, records = self.core.run(step, limits.moves, limits.tol, limits.eps, limits.iteration)
        return Ran(
            moves,
            stalled,
            Counter({kind: n for kind, n in zip(KINDS, kinds, strict=True) if n}),
            np.frombuffer(records, RAW),
        )
