"""The verbs that solvers are written in, and the loop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from .._core import Measure, Stopped, StopToken, is_recorded
from ..problems.quadratic import Program
from ..rays import KINDS, Correction, Move, Ray, Search
from ..trace import RAW
from .landmarks import Factor, Landmarks, VariableFeatures
from .linear import Descent

Clock = Callable[[], float]
FACE_MOVES = 20_000  # on one face: an ill-conditioned one must not outlast the limits of the run


class Chooser(Protocol):
    """What chooses the moves of one run: a solver, or an object of its own where choices depend on earlier ones."""

    @property
    def compiled(self) -> str | None: ...

    @property
    def history(self) -> tuple[int, ...]:
        """What the next choices depend on beside the state, in counts that another process can go on from."""

    def choose(self, state: State) -> Move | Correction: ...


class Need(Enum):
    """What a solver may require of a state."""

    EVERY_ROW = "every row in each sweep"
    CONSTANT_DIAGONAL = "the constant diagonal of a minimum enclosing ball"


def variation(diagonal: np.ndarray) -> str:
    """The range of a diagonal in words; empty if it is constant."""
    low, high = float(diagonal.min()), float(diagonal.max())
    if not high - low > 1e-6 * max(abs(low), abs(high)):
        return ""
    constant = "it is constant for kernels such as 'rbf' and equal sample weights"
    return f"the diagonal k(x, x) + 1/(C w) ranges from {low:.6g} to {high:.6g} ({constant})"


@dataclass
class Ran:
    """What one call of ``run`` did."""

    moves: int = 0
    stalled: bool = False  # rounding leaves no ascent
    kinds: Counter[str] = field(default_factory=Counter)
    records: np.ndarray = field(default_factory=lambda: np.empty(0, RAW))


@dataclass(frozen=True)
class Limits:
    """When one call of ``run`` ends: after this many moves, or at this relative or absolute gap."""

    moves: int
    tol: float = 0.0
    eps: float = 0.0
    iteration: int = 0  # number of the last iteration so far
    aim: tuple[float, float] = (0.0, 0.0)  # the relative and the absolute gap of the whole run


class Products(NamedTuple):
    """K times the weights of a point, one number for each variable, none of them off by more than ``rounding``."""

    values: np.ndarray
    rounding: float


class Effort(NamedTuple):
    """How far the problem on a face is solved: to ``accuracy``, a part of its gap or value, in at most ``blocks``
    compiled blocks of ``block`` variables, each to ``block_accuracy``, a part of its violation; in a state without
    compiled blocks by ``swaps``, until the gap is ``eps``.
    """

    block: int
    blocks: int
    accuracy: float
    block_accuracy: float
    swaps: Chooser
    eps: float


class State(ABC):
    """The verbs. Subclasses hold the numbers."""

    size: int
    weights: np.ndarray
    support: np.ndarray
    value: float
    gap: float  # the one that the state is measured by
    gap_floor: float  # the part of a gap that may be rounding
    exhausted: bool  # many moves in a row did not raise the value: the rest of the gap is noise of the arithmetic
    scale: float  # what a relative gap is relative to
    evaluations: int
    certified = True  # whether value and gap are certified; a state may have to be asked to
    gap_rounding = 0.0  # the part of a certified gap that bounds its rounding
    value_rounding = 0.0  # how far a certified value can be off
    known_products: Products | None = None  # at a certified point, of a problem that reads its model from them
    certificate_seconds = 0.0  # estimated duration of a certificate
    single = False  # whether it computes in single precision
    refinable = False  # whether double precision would be more exact
    radius = 1.0  # what the weights sum to
    rows = np.inf  # of the data, if g is a quadratic form of their kernel values
    largest_face = np.inf  # variables of a face whose kernel values fit into the cache
    level = np.nan  # the offset nu of the primal that the gap belongs to
    largest_value = np.inf  # a proven bound on max g
    memory_pays = False  # whether kernel values are worth keeping between sweeps
    patience = 0  # certificates in a row that may fail to improve the gap before a run ends by "precision"
    samplings = 0  # samples drawn
    cache_hits = 0  # kernel values of samples that were taken from memory
    tolerance = 0.0  # absolute gap that a sampled run is content with until its next level
    work = np.inf  # operations per kernel value
    bytes = 0  # budget of memory for kernel values and features
    whole: bool = False  # whether the problem can be solved at once, with all kernel values in memory
    _aim = (0.0, 0.0)  # the relative and the absolute gap of the run
    smooth: bool = False  # whether surrogate steps can be made: see Quadratic.smooth
    linear_columns: int = 0  # features of a linear kernel with the bias, of a state that is smooth; else 0
    _clock: Clock = staticmethod(time.perf_counter)
    _deadline: float = np.inf
    _token: StopToken | None = None

    def limit(self, clock: Clock = time.perf_counter, deadline: float = np.inf, token: StopToken | None = None) -> None:
        """Begin no move after the deadline, here or on a face; ``token`` makes long computations raise ``Stopped``."""
        self._clock, self._deadline, self._token = clock, deadline, token

    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self._clock() >= self._deadline

    def lacks(self, need: Need) -> str:
        """Why the state does not offer what a solver requires; empty if it does."""
        return ""

    def measure(self, by: Measure) -> None:  # noqa: B027 - a general concave g has only the gap of the simplex
        """Answer with this gap from now on, if the problem has it."""

    @property
    def simplex_gap(self) -> float:
        """The gap of the simplex, max_i grad_i - grad'a."""
        return self.gap

    @property
    def primal_gap(self) -> float:
        """Primal minus dual of a certified point, in the unit of the gap; NaN if the problem has no primal."""
        return float("nan")

    def primal_gap_of(self, below: float, scale: float) -> float:
        """Primal minus dual that follows from a bound on max g - g at a point of this scale."""
        return below

    def bounds(self, value: float, gap: float, rounding: float) -> tuple[float, float]:
        """Primal and dual value of a problem whose primal minus dual is ``gap``; NaN if it has no primal."""
        return float("nan"), float("nan")

    @abstractmethod
    def toward(self) -> int:
        """The ascent vertex."""

    @abstractmethod
    def away(self) -> int:
        """The descent vertex among the active ones."""

    @abstractmethod
    def active_toward(self) -> int:
        """The ascent vertex among the active ones."""

    @property
    def toward_slope(self) -> float:
        """grad_i - grad'a of the toward vertex i."""
        return self.gap

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
        """Set these weights, and all others to 0."""

    @abstractmethod
    def certify(self) -> None:
        """Recompute gradient, value and gap from scratch, in double."""

    def prove(self) -> None:
        """Certify as well as possible without a pass over all rows."""
        self.certify()

    @abstractmethod
    def snapshot(self) -> dict[str, np.ndarray]:
        """All that the next moves depend on, except kernel values."""

    @abstractmethod
    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """Return to a snapshot of the same problem, to the last bit."""

    @abstractmethod
    def face(self, variables: np.ndarray) -> State:
        """The state of the problem restricted to a face that contains the support, at the same weights."""

    def _placed(self, face: State, weights: np.ndarray) -> State:
        """The state of a face at these weights; before the start of a run there are none."""
        face.limit(self._clock, self._deadline, self._token)
        if weights.any():
            face.set_weights(np.arange(face.size), weights)
        return face

    @property
    def support_size(self) -> int:
        """Number of active variables."""
        return len(self.support)

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random variables on whose face a run starts."""
        return np.sort(rng.choice(self.size, size=min(count, self.size), replace=False))

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        """Weights of a run that does not solve the problem on its first variables."""
        return np.ones(len(variables))

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        """All variables in an order whose beginnings, however long, are samples of the data."""
        return rng.permutation(self.size)

    @abstractmethod
    def violators(self, count: int) -> np.ndarray:
        """The inactive variables with the steepest toward slope, at most ``count``."""

    def extreme(self, size: int) -> np.ndarray:
        """This many variables: the best toward vertices and the worst active ones."""
        return np.concatenate([self.support, self.violators(size)])[:size]

    def shrink(self) -> None:  # noqa: B027 - a state may have nothing to leave out
        """Leave out, until the next certificate, variables that are the last to enter, if that saves anything."""

    def restrict(self, variables: np.ndarray) -> None:  # noqa: B027 - the same
        """Look only at these variables and the active ones until the next certificate, if that saves anything."""

    def refresh(self) -> None:  # noqa: B027 - the same
        """Look at every variable again."""

    def program(self) -> Program | None:
        """The problem as a dense quadratic program, if it is a quadratic."""
        return None

    @property
    def distinct_rows(self) -> np.ndarray:
        """The rows of the data that have variables, of a state that is ``smooth``."""
        raise TypeError("a state that is not smooth has no rows")

    @property
    def mean_diagonal(self) -> float:
        """The mean of the diagonal of K, of a state that is ``smooth``."""
        raise TypeError("a state that is not smooth has no kernel matrix")

    def factor(self, rows: np.ndarray) -> Factor:
        """The factor of these rows as landmarks, of a state that is ``smooth``."""
        raise TypeError("a state that is not smooth has no landmarks")

    def landmarks(self, factor: Factor) -> Landmarks:
        """Features of all variables."""
        raise TypeError("a state that is not smooth has no landmarks")

    def own_features(self) -> VariableFeatures:
        """The rows themselves as features, of a state that has ``linear_columns``."""
        raise TypeError("the kernel of the state is not linear")

    def descent(self) -> Descent:
        """Dual coordinate steps, of a state that has ``linear_columns``."""
        raise TypeError("the kernel of the state is not linear")

    def in_svm_units(self) -> tuple[np.ndarray, np.ndarray]:
        """b, which maximizes target'b - b'(K + ridge) b / 2 over b >= 0, and K b; of a state that is ``smooth``."""
        raise TypeError("a state that is not smooth has no such units")

    def target_and_ridge(self) -> tuple[np.ndarray, np.ndarray]:
        """The linear term and the ridge in these units."""
        raise TypeError("a state that is not smooth has no such units")

    def without_opposites(self, weights: np.ndarray) -> np.ndarray:
        """These weights less what two variables of one row, of opposite signs, have in common."""
        return weights

    def product(self, weights: np.ndarray, exact: bool = False) -> np.ndarray:
        """K times these weights, of a state that is ``smooth``; ``exact``: in double where there is weight."""
        raise TypeError("a state that is not smooth has no such products")

    def is_stopped(self) -> bool:
        """Whether the run has to end now."""
        return self.late() or (self._token is not None and self._token.stopped)

    @property
    def variables(self) -> np.ndarray:
        """All of them."""
        return np.arange(self.size)

    def solve_on(self, variables: np.ndarray, effort: Effort) -> Correction:
        """Weights that solve the problem on these variables, which contain the support."""
        variables = np.sort(variables)
        return Correction(variables, self.face(variables).solve(effort.swaps, eps=effort.eps))

    def first_variables(self) -> np.ndarray:
        """One variable of each segment, of a state that is ``whole``."""
        raise TypeError("a state that is not whole has no such variables")

    def solve_whole(self, accuracy: float) -> Correction:
        """Weights that solve the problem to a gap of this part of its scale, of a state that is ``whole``."""
        raise TypeError("a state that is not whole is solved in several steps")

    def polish(self) -> bool:
        """Solve a small problem to the limit of double precision; False, and nothing changed, if that was not possible.

        The new point is certified, and its gap is not larger than before.
        """
        return False

    def solve(self, swaps: Chooser, *, eps: float = 0.0, tol: float = 0.0) -> np.ndarray:
        """Weights that solve a small problem to that gap, or as far as double precision or ``FACE_MOVES`` go."""
        if not self.weights.any():
            self.set_weights(np.arange(self.size), np.full(self.size, self.radius / self.size))
        self.run(swaps, Limits(moves=FACE_MOVES, tol=tol, eps=eps))
        return self.weights

    def claim(self, target: float) -> str | None:
        """The reason to end once the target is reached, or None to go on. A sampled state looks again first."""
        return "unconfirmed"

    def refined(self) -> State | None:
        """A more exact state of the problem, without weights yet, or None if there is none."""
        return None

    @property
    def aim(self) -> float:
        """The gap that ends the run at the present scale: a large step may go there at once.

        That of the scale at the last call of ``run`` would depend on how long the calls before it took.
        """
        tol, eps = self._aim
        return max(eps, tol * self.scale)

    def run(self, chooser: Chooser, limits: Limits) -> Ran:
        """The loop: the solver chooses, the state moves. It tests in the order of the compiled loop (core/run.cpp)."""
        start, ran, records = time.perf_counter(), Ran(), []
        self._aim = limits.aim
        while ran.moves < limits.moves:
            if self.is_stopped():
                break
            if not self.gap > max(limits.eps, limits.tol * self.scale):
                break
            ran.stalled = self.exhausted or self.gap <= self.gap_floor
            if ran.stalled:
                break
            try:
                move = chooser.choose(self)
                ran.stalled = move.empty
                if ran.stalled:
                    break
                self.move(move)
            except Stopped:  # the state is as it was before the move
                break
            ran.moves += 1
            ran.kinds[move.kind] += 1
            iteration = limits.iteration + ran.moves
            if is_recorded(iteration):
                kind, seconds = KINDS.index(move.kind), time.perf_counter() - start
                records.append((iteration, self.support_size, self.evaluations, kind, seconds, self.value, self.gap))
        ran.records = np.array(records, RAW)
        return ran
