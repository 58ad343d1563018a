"""The state of a kernel quadratic, in the compiled core: with all of the gradient, or with a sampled toward vertex."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter

import numpy as np

from .. import _core
from ..problems import Quadratic
from ..problems.program import Program
from ..rays import KINDS, Away, Correction, Move, Ray, Search, SwapRay, Toward
from ..trace import RAW
from ._base import Chooser, Effort, Limits, Need, Ran, State, variation
from .sampling import NO_LOOKS, SampleLooks, Sampling


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
            chosen = (int(min(self.sampling.size, self.size)), self.sampling.with_active, seed)
            self.core = getattr(_core, "SampledState" + bits)(*arguments, *chosen)
        self._looks = None if self.sampling is None else SampleLooks(self.sampling.trusted)
        self.patience = 0 if self.sampling is None else 20  # samples see little of the gap: it falls slowly
        self.single, self.refinable = problem.gram.single, problem.gram.refinable
        self.rows = sum(len(problem.gram.groups[group]) for group in {group for group, _ in problem.segments})
        self.largest_value, self.largest_face = problem.largest_value, problem.gram.largest_face
        self.memory_pays = self.sampling is None and problem.gram.memory_pays

    radius = property(attrgetter("core.radius"))
    support = property(attrgetter("core.support"))
    support_size = property(attrgetter("core.support_size"))
    value = property(attrgetter("core.value"))
    gap = property(attrgetter("core.gap"))
    gap_floor = property(attrgetter("core.gap_floor"))
    exhausted = property(attrgetter("core.exhausted"))
    scale = property(attrgetter("core.scale"))
    certified = property(attrgetter("core.certified"))
    gap_rounding = property(attrgetter("core.gap_rounding"))
    value_rounding = property(attrgetter("core.value_rounding"))
    certificate_seconds = property(attrgetter("core.certificate_seconds"))
    evaluations = property(attrgetter("problem.gram.core.evaluations"))

    @property
    def weights(self) -> np.ndarray:  # type: ignore[override]  # read-only here
        """b of the problem: they sum to the radius."""
        return np.asarray(self.core.weights * self.core.radius)

    @property
    def samplings(self) -> int:  # type: ignore[override]  # read-only here
        """Samples drawn."""
        return 0 if self.sampling is None else int(self.core.samplings)

    def lacks(self, need: Need) -> str:
        if need is Need.EVERY_ROW:
            return "" if self.sampling is None else f"sampling={self.sampling.size} shows a few rows at a time"
        diagonal = self.problem.gram.diagonal()[self.problem.rows] + self.problem.bias + np.asarray(self.problem.ridge)
        return variation(diagonal[self.problem.signs != 0])  # the slack vertex has none

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
            case SwapRay(i, j):
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

    def set_ridge(self, ridge: float | np.ndarray) -> None:
        """Another ridge at the same weights, which stay feasible; no kernel value is computed."""
        self.problem = replace(self.problem, ridge=ridge)
        self.largest_value = self.problem.largest_value
        self.core.set_ridge(np.atleast_1d(np.asarray(ridge, dtype=np.float64)))

    def limit(
        self,
        clock: Callable[[], float] = time.perf_counter,
        deadline: float = np.inf,
        token: _core.StopToken | None = None,
    ) -> None:
        super().limit(clock, deadline, token)
        self.core.set_token(token)

    def certify(self) -> None:
        self.core.certify()

    def prove(self) -> None:
        self.core.prove()

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**self.core.snapshot(), "looks": self._looks.counts() if self._looks else np.array(NO_LOOKS)}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        core = dict(snapshot)
        looks = core.pop("looks")
        if self._looks:
            self._looks.restore(looks)
        self.core.restore(**core)

    def face(self, variables: np.ndarray) -> State:
        variables = np.asarray(variables, np.int32)
        return self._placed(
            KernelState(self.problem.restricted(variables, self.core.face(variables))), self.weights[variables]
        )

    def claim(self, target: float) -> str | None:
        return self._looks.claim(self.core, target) if self._looks else "unconfirmed"

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self.problem.start_variables(count, rng)

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        return self.problem.start_weights(variables)

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        return self.problem.sample_order(rng)

    def violators(self, count: int) -> np.ndarray:
        return np.asarray(self.core.violators(count))

    def shrink(self) -> None:
        self.core.shrink()

    def restrict(self, variables: np.ndarray) -> None:
        self.core.watch(np.asarray(variables, np.int32))

    def refresh(self) -> None:
        self.core.refresh()

    def extreme(self, size: int) -> np.ndarray:
        return np.asarray(self.core.extreme(size))

    def program(self) -> Program:
        return self.problem.program(np.asarray(self.core.face(np.arange(self.size, dtype=np.int32)), np.float64))

    def solve_on(self, variables: np.ndarray, effort: Effort) -> Correction:
        block, blocks, accuracy = effort[:3]
        capacity = int(min(self.largest_face, self.size))
        listed = np.asarray(variables, np.int32)
        found, weights, scale, growth = self.core.solve_on(listed, capacity, block, blocks, accuracy)
        return Correction(found, weights, scale, growth, fused=True)

    def refined(self) -> State | None:
        if not self.refinable:
            return None
        return KernelState(self.problem.in_double(), sampling=self.sampling, seed=self.seed)

    def run(self, chooser: Chooser, limits: Limits) -> Ran:
        if chooser.compiled is None:
            return super().run(chooser, limits)
        step = getattr(_core.StepKind, chooser.compiled)
        moves, stalled, kinds, records = self.core.run(step, limits.moves, limits.tol, limits.eps, limits.iteration)
        return Ran(
            moves,
            stalled,
            Counter({kind: n for kind, n in zip(KINDS, kinds, strict=True) if n}),
            np.frombuffer(records, RAW),
        )
