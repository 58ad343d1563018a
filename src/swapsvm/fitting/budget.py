"""Fits of at most ``max_vectors`` vectors, which are chosen first and get the best coefficients over all rows.

A sample of the rows is fitted roughly. Vectors are chosen among its support vectors, one after the other, so that each
explains as much as possible of what is left of the sample's functions (``pursuit``). Then each problem of the plan is
solved over the chosen vectors of its own rows, on all of them, and certified (``few_vectors``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from .._core import Stopped
from ..gram import Gram
from ..parameters import check_integer
from ..problems import Coefficients
from ..result import Result
from ..stopping import relative
from ..timing import ANSWER, Timer
from ..trace import Trace
from .clock import TimeBudget
from .few_vectors import DualPoint, FewVectors, Function
from .pursuit import Order, Pursuit
from .session import Reader, Session
from .subproblems import Supervised
from .workers import Cancelled, solve_each, workers_for

logger = logging.getLogger("swapsvm")
Fitted = TypeVar("Fitted", bound=Supervised)

SAMPLE = 8192  # most rows of a problem of the sample
SAMPLE_TOL = 0.3  # relative gap of its fit: a smaller one changes the choice of vectors little
SAMPLE_TIME, CHOICE_TIME = 0.4, 0.6  # parts of max_time after which the fit of the sample, and the choice, end
CANDIDATES, FEWEST_CANDIDATES = 4, 2048  # support vectors of the sample to choose from: for each vector, and at least
QUICK = 512  # rows of a dual point for which there is no time


class BudgetSettings(Protocol):
    """The parameters of an estimator that can have a budget."""

    max_vectors: int | None
    warm_start: bool
    checkpoint: object


def check_budget(settings: BudgetSettings) -> None:
    """``ValueError`` if ``max_vectors`` is out of range, or set together with what continues a fit."""
    if settings.max_vectors is None:
        return
    check_integer("max_vectors", settings.max_vectors, lambda count: count >= 1, "a positive integer, or None")
    for name in ("warm_start", "checkpoint"):
        if getattr(settings, name):
            raise ValueError(f"{name} cannot be combined with max_vectors: such a fit starts afresh")


def is_budget(max_vectors: int, gram: Gram) -> bool:
    """Whether a number of vectors leaves out any row at all; ``ValueError`` if it is less than that of the classes."""
    if max_vectors >= sum(map(len, gram.groups)):
        return False
    present = sum(len(group) > 0 for group in gram.groups)
    if max_vectors < present:
        raise ValueError(f"max_vectors={max_vectors!r} must be at least the number of classes, {present}")
    return True


@dataclass(frozen=True, eq=False)
class Rough:
    """The fit of a sample: its Gram, and the function and the result of each problem."""

    gram: Gram
    functions: list[Coefficients]
    results: list[Result]

    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Support vectors and their table of coefficients: all of them, or of several problems those of each class.

        A pair of classes has only the vectors of its own two, so a vector has to serve all pairs of its class.
        """
        support = np.unique(np.concatenate([function.rows for function in self.functions])).astype(np.int64)
        table = np.zeros((len(support), len(self.functions)))
        for column, function in enumerate(self.functions):
            table[np.searchsorted(support, function.rows), column] = function.coef
        if len(self.functions) == 1:
            return [(support, table)]
        owned = [np.isin(support, group) for group in self.gram.groups]
        return [(support[own], table[own][:, table[own].any(axis=0)]) for own in owned]


def fit_over_few(
    session: Session, gram: Gram, plan: Sequence[Fitted], read: Reader[Fitted], *, count: int, estimator: str
) -> tuple[list[Coefficients], list[Result]]:
    """For each problem the best function over its rows among at most ``count`` chosen ones, and its certificate."""
    rng = np.random.default_rng(check_random_state(session.settings.random_state).randint(2**31))
    rough = _rough_fit(session.rough(SAMPLE_TOL, SAMPLE_TIME), gram, plan, read, rng=rng, estimator=estimator)
    vectors = _chosen(rough, count, rng, _end_of_choice(session))
    logger.info("%d vectors chosen for %d rows", len(vectors), sum(map(len, gram.groups)))
    return FewRuns(session, gram, plan, rough, vectors).solve()


def _rough_fit(
    session: Session,
    gram: Gram,
    plan: Sequence[Fitted],
    read: Reader[Fitted],
    *,
    rng: np.random.Generator,
    estimator: str,
) -> Rough:
    share = SAMPLE // min(len(gram.groups), 2)  # a problem has one group, or two
    groups = [np.sort(rng.choice(g, share, replace=False)) if len(g) > share else g for g in gram.groups]
    some, problems = gram, list(plan)
    if any(len(part) < len(group) for part, group in zip(groups, gram.groups, strict=True)):
        some = session.open_gram(gram.kernel, gram.X, groups, gram.dtype)
        problems = [_standing_for(sub, gram, some) for sub in plan]
    results = session.solve(some, problems, read, estimator)
    return Rough(some, [sub.function(some, at) for sub, at in zip(problems, results, strict=True)], results)


def _standing_for(sub: Fitted, gram: Gram, some: Gram) -> Fitted:
    """The problem on a sample, whose rows have the weights of those that they stand for."""
    weights = np.ones(gram.size) if sub.weights is None else sub.weights.copy()
    for part, group in zip(some.groups, gram.groups, strict=True):
        if len(part):
            weights[part] *= weights[group].sum() / weights[part].sum()
    sampled = replace(sub, weights=weights)
    return replace(sampled, rows=len(np.unique(sampled.on(some).rows)))


def _end_of_choice(session: Session) -> float:
    limited = session.max_time is not None and session.clock is time.perf_counter
    return session.began + CHOICE_TIME * session.max_time if limited else np.inf  # type: ignore[operator]


def _chosen(rough: Rough, count: int, rng: np.random.Generator, end: float) -> np.ndarray:
    """At most this many rows that explain the functions of the sample."""
    gram, parts = rough.gram, [part for part in rough.parts() if len(part[0])]
    if not parts:  # every function is 0
        return np.array([group[0] for group in gram.groups if len(group)])
    exact = Gram(gram.kernel, gram.X, groups=gram.groups, dtype=np.float64, cache_size=0, checked=False)
    total = sum(len(rows) for rows, _ in parts)
    most = max(CANDIDATES * count, FEWEST_CANDIDATES) / total
    groups = [Pursuit(exact, rows, table, _some(rows, most, rng)) for rows, table in parts]
    found = Order(groups, fair=True).first(count, end)
    if len(found) < min(count, sum(len(group.rows) for group in groups)):
        return found  # more vectors would explain nothing
    rest = np.setdiff1d(np.concatenate(gram.groups), found)
    return np.concatenate([found, rng.choice(rest, min(count - len(found), len(rest)), replace=False)])


def _some(rows: np.ndarray, part: float, rng: np.random.Generator) -> np.ndarray:
    size = max(int(np.ceil(part * len(rows))), 1)
    return rows if size >= len(rows) else np.sort(rng.choice(rows, size, replace=False))


class FewRuns:
    """The solutions of all problems of a plan over the chosen vectors."""

    def __init__(
        self, session: Session, gram: Gram, plan: Sequence[Supervised], rough: Rough, vectors: np.ndarray
    ) -> None:
        rows = [sub.rows for sub in plan]
        self._session, self._gram, self._plan, self._vectors = session, gram, plan, vectors
        self._rough = {sub.labels: (f, r) for sub, f, r in zip(plan, rough.functions, rough.results, strict=True)}
        self._sampled = rough.gram is not gram
        self._workers = workers_for(gram, rows, session.threads)
        self._budget = TimeBudget(session.max_time, rows, self._workers, session.clock, session.began)

    def solve(self) -> tuple[list[Coefficients], list[Result]]:
        """The functions and their certificates."""
        session = self._session
        with session.interrupts:
            found, session.cache_counts = solve_each(self._gram, self._plan, self._workers, self._solve, session.token)
        return [function for function, _ in found], [result for _, result in found]

    def _solve(self, gram: Gram, sub: Supervised, cancelled: Cancelled) -> tuple[Coefficients, Result]:
        problem, (function, rough) = sub.on(gram), self._rough[sub.labels]
        run = FewRun(self._session, FewVectors(problem, np.intersect1d(problem.rows, self._vectors)))
        run.known = None if self._sampled else rough
        result = run.finish(function, self._budget.share(sub.rows).limit, asked=rough.stop_reason == "callback")
        logger.info("%s: %s, relative gap %.2g", sub.name, result.stop_reason, result.relative_gap)
        return run.coefficients, replace(result, evaluations=result.evaluations + rough.evaluations)


class FewRun:
    """One problem over its vectors, from the function of the sample to a certificate, within a limit of time.

    ``known`` is another result for the same problem, whose dual value may be the better one.
    """

    known: Result | None = None

    def __init__(self, session: Session, few: FewVectors) -> None:
        self._session, self._few, self._timer = session, few, Timer(session.clock, session.token)
        self._before, self._pace, self._steps = few.problem.gram.evaluations, 0.0, 0

    @property
    def coefficients(self) -> Coefficients:
        """The function found, over rows of the data."""
        return Coefficients(self._few.vectors.astype(np.int64), self._at.coef, self._at.intercept)

    def finish(self, first: Coefficients, seconds: float, asked: bool) -> Result:
        """Begin with what the vectors explain of a first function; ``asked`` to stop there, or go on to the best."""
        self._timer.limit(self._few.state, seconds)
        self._at = self._start(first)
        reason = "callback" if asked else self._improve()
        primal = self._few.largest_primal_value(self._at)
        return self._result(primal, self._dual_point(), reason)

    def _start(self, first: Coefficients) -> Function:
        """This cannot be interrupted: every fit has a model. The pass over all rows tells how long others take."""
        token, few = self._timer.token, self._few
        token.heed_requests(False)
        values = few.values_at_vectors(first)
        began = time.perf_counter()
        start = few.projection(values, first.intercept)
        self._pace = (time.perf_counter() - began) / (len(few.rows) * len(few.vectors))
        token.heed_requests(True)
        return start

    @property
    def _certificate_seconds(self) -> float:
        rows, vectors, active = len(self._few.rows), len(self._few.vectors), np.count_nonzero(self._at.slacks)
        return self._pace * (rows * vectors + active**2 / 2)

    def _improve(self) -> str | None:
        """Go to the function of least P; the reason if that had to end before."""
        if self._timer.has_time_for_moves(self._certificate_seconds):
            with suppress(Stopped):
                self._at, self._steps = self._few.minimize(self._at)
        if self._timer.token.requested:
            return "interrupted"
        return "max_time" if self._few.state.is_stopped() else None

    def _dual_point(self) -> DualPoint:
        few, timer, weights = self._few, self._timer, self._few.dual_weights(self._at)
        granted = timer.grant_certificate(self._certificate_seconds)
        if not granted:
            timer.grant_answer(forever=True)
        try:
            most_rows = np.inf if granted else np.sqrt(2 * ANSWER / self._pace)
            return few.dual_point(weights, most_rows, timer.token)
        except Stopped:
            timer.grant_answer(forever=True)
            return few.dual_point(weights, QUICK)

    def _result(self, primal: float, point: DualPoint, reason: str | None) -> Result:
        dual, weights, scales = point.least_dual_value, point.weights, self._few.problem.scales
        weights = weights / (weights.sum() or 1.0) if scales else point.scale * weights
        if self.known and self.known.dual_value > dual:
            dual, weights = self.known.dual_value, self.known.weights
        scale = 0.5 / dual if scales and dual > 0 else dual  # on the simplex D = 1 / (2 f)
        gap = relative(primal - dual, dual) * (scale if dual > 0 else 1.0)
        if gap <= self._session.rules.target(scale):
            reason = "gap"
        return Result(
            weights=weights,
            value=-scale if scales else dual,
            gap=gap,
            relative_gap=relative(gap, scale),
            stop_reason=reason or "max_vectors",
            iterations=self._steps,
            evaluations=self._few.problem.gram.evaluations - self._before,
            samplings=0,
            certificate_seconds=self._certificate_seconds,
            trace=Trace(),
            simplex_gap=float("inf"),  # the function is not a sum over a point of the simplex
            primal_gap=gap,
            primal_value=primal,
            dual_value=dual,
            scale=scale,
        )
