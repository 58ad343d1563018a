"""The state of a kernel quadratic in the compiled core, with the whole gradient or with a sampled toward vertex."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from operator import attrgetter

import numpy as np

from .. import _core
from .._core import Measure, StopToken
from ..problems import Quadratic
from ..problems.quadratic import Program
from ..rays import KINDS, Away, Correction, Move, Ray, Search, SwapRay, Toward
from ..trace import RAW
from ._base import Chooser, Clock, Effort, Limits, Need, Products, Ran, State, variation
from .landmarks import Factor, Landmarks, VariableFeatures
from .linear import Descent, LinearFeatures
from .sampling import SampleLooks, Sampling

SAMPLE_COUNTS = {"patience": "patience", "empty_samples": "empty", "sampling_level": "level"}  # of a snapshot


class KernelState(State):
    """The state of a kernel quadratic, in the compiled core."""

    def __init__(self, problem: Quadratic, *, sampling: int | Sampling | None = None, seed: int = 0) -> None:
        self.problem, self.seed, self.size = problem, seed, problem.size
        self.sampling = sampling if sampling is None or isinstance(sampling, Sampling) else Sampling(sampling)
        ridge = np.atleast_1d(np.asarray(problem.ridge, dtype=np.float64))
        half_linear = np.empty(0) if problem.linear is None else np.asarray(problem.linear, dtype=np.float64) / 2
        bits = "32" if problem.gram.single else "64"
        radius = (float(problem.radius or 0.0), problem.grows)
        arguments = (problem.gram.core, list(problem.segments), ridge, half_linear, float(problem.bias), radius)
        if self.sampling is None:
            self.core = getattr(_core, "FullState" + bits)(*arguments)
        else:
            rule, size = self.sampling, int(min(self.sampling.size, self.size))
            draw = _core.Draw(size, rule.with_active, rule.balanced, rule.outside_active, seed)
            self.core = getattr(_core, "SampledState" + bits)(*arguments, draw)
        self._looks = SampleLooks(self.sampling)
        self.patience = 1 if self.sampling is None else 20  # gaps need not fall; samples see little of them
        self.single, self.refinable = problem.gram.single, problem.gram.refinable
        self.rows = sum(len(problem.gram.groups[group]) for group in {group for group, _ in problem.segments})
        self.largest_value, self.largest_face = problem.largest_value, problem.gram.largest_face
        self.work, self.bytes = problem.gram.core.work, problem.gram.core.cache_budget
        self.memory_pays = self.sampling is None and problem.gram.memory_pays
        self.whole = self.sampling is None and problem.scales and self.rows <= problem.gram.largest_whole
        columns = problem.gram.core.linear_columns
        self.linear_columns = columns + 1 if columns and self.smooth else 0

    radius = property(attrgetter("core.radius"))
    support = property(attrgetter("core.support"))
    support_size = property(attrgetter("core.support_size"))
    value = property(attrgetter("core.value"))
    gap = property(attrgetter("core.gap"))
    simplex_gap = property(attrgetter("core.simplex_gap"))
    primal_gap = property(attrgetter("core.primal_gap"))
    level = property(attrgetter("core.level"))
    primal_gap_of = property(attrgetter("problem.primal_gap_of"))
    bounds = property(attrgetter("problem.bounds"))
    toward_slope = property(attrgetter("core.slope"))
    gap_floor = property(attrgetter("core.gap_floor"))
    exhausted = property(attrgetter("core.exhausted"))
    scale = property(attrgetter("core.scale"))
    certified = property(attrgetter("core.certified"))
    gap_rounding = property(attrgetter("core.gap_rounding"))
    value_rounding = property(attrgetter("core.value_rounding"))
    certificate_seconds = property(attrgetter("core.certificate_seconds"))
    smooth = property(lambda self: self.sampling is None and self.problem.smooth)
    tolerance = property(attrgetter("_looks.tolerance"))
    samplings = property(lambda self: self.core.samplings if self.sampling else 0)
    cache_hits = property(lambda self: self.core.cache_hits if self.sampling else 0)
    evaluations = property(attrgetter("problem.gram.core.evaluations"))
    second_order_away = property(attrgetter("core.second_order_away"))
    violators = property(attrgetter("core.violators"))
    extreme = property(attrgetter("core.extreme"))
    shrink = property(attrgetter("core.shrink"))
    refresh = property(attrgetter("core.refresh"))
    certify = property(attrgetter("core.certify"))
    prove = property(attrgetter("core.prove"))
    start_variables = property(attrgetter("problem.start_variables"))
    start_weights = property(attrgetter("problem.start_weights"))
    sample_order = property(attrgetter("problem.sample_order"))

    @property
    def weights(self) -> np.ndarray:  # type: ignore[override]  # read-only here
        """b of the problem: they sum to the radius."""
        return np.asarray(self.core.weights * self.core.radius)

    @property
    def known_products(self) -> Products | None:  # type: ignore[override]  # read-only here
        if self.sampling is not None or not (self.problem.reads_products and self.certified):
            return None
        return Products(np.asarray(self.core.products), self.core.score_rounding)

    def lacks(self, need: Need) -> str:
        if need is Need.EVERY_ROW:
            return "" if self.sampling is None else f"sampling={self.sampling.size} shows a few rows at a time"
        ridge = np.broadcast_to(np.asarray(self.problem.ridge), self.size)
        return variation(self._diagonal() + ridge[self.problem.signs != 0])

    def _diagonal(self) -> np.ndarray:
        """Of K, without the slack vertex, which has none."""
        problem = self.problem
        return np.asarray(problem.gram.diagonal()[problem.rows[problem.signs != 0]] + problem.bias)

    def measure(self, by: Measure) -> None:
        self.core.measure(by, self.problem.scales)

    def toward(self) -> int:
        return int(self.core.toward)

    def away(self) -> int:
        return int(self.core.away)

    def active_toward(self) -> int:
        return int(self.core.active_toward)

    def swap_slope(self, i: int, j: int) -> float:
        return 2.0 * float(self.core.score(j) - self.core.score(i))

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
        if isinstance(move, Correction) and move.products is not None and move.rounding is not None:
            self.core.place_sums(move.weights, move.products, move.rounding)
        elif isinstance(move, Correction) and move.products is not None:
            self.core.place(move.weights, move.products, move.afresh, move.exact)
        elif isinstance(move, Correction):
            variables, weights = np.asarray(move.variables, np.int32), np.asarray(move.weights, np.float64)
            self.core.correct(variables, weights, move.scale, move.growth, move.fused, move.afresh)
        else:
            kind = KINDS.index(move.kind)
            self.core.move(kind, move.scale, move.i, move.add, move.j, move.sub, move.drop)

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.core.set_weights(np.asarray(variables, np.int32), np.asarray(weights, np.float64))

    def set_ridge(self, ridge: float | np.ndarray) -> None:
        """Change the ridge and keep the weights, which stay feasible; no kernel value is computed."""
        self.problem = replace(self.problem, ridge=ridge)
        self.largest_value = self.problem.largest_value
        self.core.set_ridge(np.atleast_1d(np.asarray(ridge, dtype=np.float64)))

    def limit(self, clock: Clock = time.perf_counter, deadline: float = np.inf, token: StopToken | None = None) -> None:
        super().limit(clock, deadline, token)
        self.core.set_token(token)

    def snapshot(self) -> dict[str, np.ndarray]:
        counts = {name: np.array([getattr(self._looks, count)]) for name, count in SAMPLE_COUNTS.items()}
        return {**self.core.snapshot(), **counts}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        core = dict(snapshot)
        for name, count in SAMPLE_COUNTS.items():
            setattr(self._looks, count, int(core.pop(name)[0]))
        self.core.restore(core)

    def face(self, variables: np.ndarray) -> State:
        variables = np.asarray(variables, np.int32)
        face = KernelState(self.problem.restricted(variables, self.core.face(variables)))
        return self._placed(face, self.weights[variables])

    def claim(self, target: float) -> str | None:
        return self._looks.claim(self.core, target) if self.sampling else "unconfirmed"

    def restrict(self, variables: np.ndarray) -> None:
        self.core.restrict(np.asarray(variables, np.int32))

    def program(self) -> Program:
        return self.problem.program(np.asarray(self.core.face(np.arange(self.size, dtype=np.int32)), np.float64))

    @property
    def distinct_rows(self) -> np.ndarray:
        rows = self.problem.rows[self.problem.signs != 0]
        return np.flatnonzero(np.bincount(rows)).astype(rows.dtype)  # np.unique would sort them

    @property
    def mean_diagonal(self) -> float:
        return float(np.mean(self._diagonal()))

    def factor(self, rows: np.ndarray) -> Factor:
        return Factor(self.problem, rows)

    def landmarks(self, factor: Factor) -> Landmarks:
        return Landmarks(self.core, factor)

    def own_features(self) -> VariableFeatures:
        return LinearFeatures(self.core, self.problem)

    def descent(self) -> Descent:
        return Descent(self.core, self.problem, *self.target_and_ridge())

    def in_svm_units(self) -> tuple[np.ndarray, np.ndarray]:
        weights, products = np.asarray(self.core.weights), np.asarray(self.core.products)
        weights = np.where(self.problem.signs != 0, weights, 0.0)  # the slack vertex stands for no b
        scale = self.radius if self.problem.grows else 1.0 / float(weights @ (products + self.problem.ridge * weights))
        return scale * weights, scale * products

    def target_and_ridge(self) -> tuple[np.ndarray, np.ndarray]:
        problem = self.problem
        target = problem.linear_term() * (problem.radius or 1.0) / 2 if problem.grows else np.ones(self.size)
        return target, np.broadcast_to(np.asarray(problem.ridge, np.float64), self.size)

    def without_opposites(self, weights: np.ndarray) -> np.ndarray:
        return self.problem.without_opposites(weights)

    def product(self, weights: np.ndarray, exact: bool = False) -> np.ndarray:
        return np.asarray(self.core.product(weights, exact))

    def solve_on(self, variables: np.ndarray, effort: Effort) -> Correction:
        listed, capacity = np.asarray(variables, np.int32), int(min(self.largest_face, self.size))
        self.problem.gram.expect(self.problem.rows[listed])
        found, weights, scale, growth = self.core.solve_on(listed, capacity, *effort[:4])
        return Correction(found, weights, scale, growth, fused=True)

    def first_variables(self) -> np.ndarray:
        return np.asarray(self.core.first_variables)

    def solve_whole(self, accuracy: float) -> Correction:
        weights, products, rounding = self.core.solve_whole(accuracy)
        return Correction(self.variables, weights, products=products, rounding=rounding)

    def polish(self) -> bool:
        return self.sampling is None and bool(self.core.polish())

    def refined(self) -> State | None:
        if not self.refinable:
            return None
        return KernelState(self.problem.in_double(), sampling=self.sampling, seed=self.seed)

    def run(self, chooser: Chooser, limits: Limits) -> Ran:
        limits = replace(limits, eps=max(limits.eps, self.tolerance))
        if chooser.compiled is None:
            return super().run(chooser, limits)
        step = getattr(_core.StepKind, chooser.compiled)
        moves, stalled, kinds, records = self.core.run(step, limits.moves, limits.tol, limits.eps, limits.iteration)
        counts = Counter({kind: n for kind, n in zip(KINDS, kinds, strict=True) if n})
        return Ran(moves, stalled, counts, np.frombuffer(records, RAW))
