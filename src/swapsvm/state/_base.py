"""The verbs that solvers are written in, and the loop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from .._core import Stopped, StopToken
from ..rays import KINDS, Correction, Move, Ray, Search
from ..trace import RAW, is_recorded


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
    """When one call of ``run`` ends: after this many moves, or at this relative or absolute gap."""

    moves: int
    tol: float = 0.0
    eps: float = 0.0
    iteration: int = 0  # number of the last iteration so far


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
    token: StopToken | None = None  # what long computations look at; they end by ``Stopped``
    certified = True  # whether value and gap are certified as they are; a state may have to be asked to
    gap_rounding = 0.0  # the part of a certified gap that bounds its rounding
    value_rounding = 0.0  # how far a certified value can be off
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

    def prove(self) -> None:
        """Certify without a pass over all rows, as well as that goes."""
        self.certify()

    @property
    def certificate_seconds(self) -> float:
        """How long a certificate will take, roughly."""
        return 0.0

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
        face.clock, face.deadline, face.token = self.clock, self.deadline, self.token
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
        """The inactive variables with the steepest toward slope, at most ``count``."""

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
            try:
                move = solver.choose(self)
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
