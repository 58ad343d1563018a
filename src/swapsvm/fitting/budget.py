"""Fits of at most ``max_vectors`` vectors, which are chosen first and get the best coefficients over all rows.

The problems of the plan are solved roughly: small ones by the solver, to a large gap; larger ones over many random
vectors, in time that is linear in the rows. Vectors are then chosen among the rows inside the margin, one after the
other, so that each explains as much as possible of what is left of the rough functions (``pursuit``). At last each
problem is solved over the chosen vectors of its own classes, on all of its rows, and certified (``few_vectors``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from .._core import Stopped
from ..gram import Gram
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

MOST_ROWS = 32768  # of a problem that the solver solves roughly
ROUGH_TOL = 0.1  # its relative gap: a smaller one changes the choice of vectors little
RANDOM, FEWEST_RANDOM = 2, 1024  # random vectors of a larger problem: for each of the budget, and at least
ROUGH_TIME, CHOICE_TIME = 0.4, 0.6  # parts of max_time after which the rough fit, and the choice, end
FEWEST_CANDIDATES, CHOICE_WORK = 4, 1 << 22  # rows to choose from: for each vector, at least; times vectors, at most
CUT_SHORT = ("callback", "interrupted", "max_time")  # reasons of a rough fit that are those of the whole one
RESERVED = 1 / 3  # part of the time left for a certificate, at most; its dual point has the rows that this allows
FEATURE_BYTES = 4  # of a number of Z
QUICK = 512  # rows of a dual point for which there is no time


class BudgetSettings(Protocol):
    """The parameters of an estimator that can have a budget."""

    max_vectors: int | None
    warm_start: bool
    checkpoint: object


def check_budget(settings: BudgetSettings) -> None:
    """``ValueError`` if ``max_vectors`` is set together with what continues a fit."""
    if settings.max_vectors is None:
        return
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
    """A rough fit: the function and the result of each problem, whose weights are a point of the dual."""

    gram: Gram
    plan: Sequence[Supervised]
    functions: list[Coefficients]
    results: Sequence[Result]

    @property
    def is_cut_short(self) -> bool:
        """Whether a problem had to end before its time."""
        return any(result.stop_reason in CUT_SHORT for result in self.results)

    def parts(self) -> list[Part]:
        """All vectors, or of several problems those of each class.

        A pair of classes has only the vectors of its own two, so a vector has to serve all pairs of its class.
        """
        rows = np.unique(np.concatenate([function.rows for function in self.functions])).astype(np.int64)
        table = np.zeros((len(rows), len(self.functions)))
        for column, function in enumerate(self.functions):
            table[np.searchsorted(rows, function.rows), column] = function.coef
        whole = Part(rows, table, np.unique(np.concatenate(list(self._inside()))).astype(np.int64))
        if len(self.functions) == 1:
            return [whole]
        return [whole.of(group) for group in self.gram.groups]

    def _inside(self) -> Iterator[np.ndarray]:
        """Rows inside the margin of each problem."""
        for sub, result in zip(self.plan, self.results, strict=True):
            problem = sub.on(self.gram)
            yield problem.rows[(result.weights > 0) & (problem.signs != 0)]


@dataclass(frozen=True, eq=False)
class Part:
    """Vectors with a table of coefficients, one column for each function, and rows that are to take their place."""

    rows: np.ndarray
    table: np.ndarray
    candidates: np.ndarray

    def of(self, group: np.ndarray) -> Part:
        """Those of a class."""
        own = np.isin(self.rows, group)
        table = self.table[own]
        return Part(self.rows[own], table[:, table.any(axis=0)], np.intersect1d(self.candidates, group))

    def pursuit(self, gram: Gram, share: float, rng: np.random.Generator) -> Pursuit:
        """The choice among this share of the candidates."""
        size, candidates = max(int(np.ceil(share * len(self.candidates))), 1), self.candidates
        if size < len(candidates):
            candidates = np.sort(rng.choice(candidates, size, replace=False))
        return Pursuit(gram, self.rows, self.table, candidates)


def fit_over_few(
    session: Session, gram: Gram, plan: Sequence[Fitted], read: Reader[Fitted], *, count: int, estimator: str
) -> tuple[list[Coefficients], list[Result]]:
    """For each problem the best function over its rows among at most ``count`` chosen ones, and its certificate."""
    rng = np.random.default_rng(check_random_state(session.settings.random_state).randint(2**31))
    early, small = session.rough(ROUGH_TOL, ROUGH_TIME), max(sub.rows for sub in plan) <= MOST_ROWS
    results: Sequence[Result]
    if small:
        results = early.solve(gram, plan, read, estimator)
        functions = [sub.function(gram, result) for sub, result in zip(plan, results, strict=True)]
    else:
        room = gram.core.cache_budget // (FEATURE_BYTES * max(sub.rows for sub in plan))
        wanted = max(count, min(max(RANDOM * count, FEWEST_RANDOM), room))
        functions, results = FewRuns(early, gram, plan, _random_rows(gram, plan, wanted, rng)).solve()
    rough = Rough(gram, plan, functions, results)
    vectors = _chosen(rough, count, rng, _end_of_choice(session))
    logger.info("%d vectors chosen for %d rows", len(vectors), sum(map(len, gram.groups)))
    return FewRuns(session, gram, plan, vectors, rough, proves=small or rough.is_cut_short).solve()


def _random_rows(gram: Gram, plan: Sequence[Supervised], count: int, rng: np.random.Generator) -> np.ndarray:
    """This many random vectors for each problem."""
    groups = max(len({group for group, _ in sub.on(gram).segments}) for sub in plan)
    share = max(count // groups, 1)
    return np.concatenate([rng.choice(group, min(share, len(group)), replace=False) for group in gram.groups])


def _end_of_choice(session: Session) -> float:
    limited = session.max_time is not None and session.clock is time.perf_counter
    return session.began + CHOICE_TIME * session.max_time if limited else np.inf  # type: ignore[operator]


def _chosen(rough: Rough, count: int, rng: np.random.Generator, end: float) -> np.ndarray:
    """At most this many rows that explain the rough functions."""
    gram, parts = rough.gram, [part for part in rough.parts() if len(part.rows) and len(part.candidates)]
    if not any(part.table.any() for part in parts):
        return _without_functions(rough, count, rng)
    exact = Gram(gram.kernel, gram.X, groups=gram.groups, dtype=np.float64, cache_size=0, checked=False)
    most = max(FEWEST_CANDIDATES * count, CHOICE_WORK // count)
    share = most / sum(len(part.candidates) for part in parts)
    groups = [part.pursuit(exact, share, rng) for part in parts]
    found = Order(groups, fair=True).first(count, end)
    if len(found) < min(count, sum(len(group.rows) for group in groups)):
        return found  # more vectors would explain nothing
    rest = np.setdiff1d(np.concatenate(gram.groups), found)
    return np.concatenate([found, rng.choice(rest, min(count - len(found), len(rest)), replace=False)])


def _without_functions(rough: Rough, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random rows if there was no time for functions; else the best ones are 0, and a vector of each class will do."""
    groups = [group for group in rough.gram.groups if len(group)]
    share = count // len(groups) if rough.is_cut_short else 1
    return np.concatenate([rng.choice(group, min(share, len(group)), replace=False) for group in groups])


class FewRuns:
    """The solutions of all problems of a plan over some vectors, beginning with those of a rough fit, if there is one.

    ``proves`` asks for dual points of their own; without, those of the rough fit are the certificate.
    """

    def __init__(
        self,
        session: Session,
        gram: Gram,
        plan: Sequence[Supervised],
        vectors: np.ndarray,
        rough: Rough | None = None,
        proves: bool = True,
    ) -> None:
        rows = [sub.rows for sub in plan]
        self._session, self._gram, self._plan, self._vectors, self._proves = session, gram, plan, vectors, proves
        self._begin = dict(zip((sub.labels for sub in plan), _beginnings(rough, len(plan)), strict=True))
        self._workers = workers_for(gram, rows, session.threads)
        self._budget = TimeBudget(session.max_time, rows, self._workers, session.clock, session.began)

    def solve(self) -> tuple[list[Coefficients], list[Result]]:
        """The functions and their certificates."""
        session = self._session
        with session.interrupts:
            found, session.cache_counts = solve_each(self._gram, self._plan, self._workers, self._solve, session.token)
        return [function for function, _ in found], [result for _, result in found]

    def _solve(self, gram: Gram, sub: Supervised, cancelled: Cancelled) -> tuple[Coefficients, Result]:
        problem, (function, known) = sub.on(gram), self._begin[sub.labels]
        few = FewVectors(problem, np.intersect1d(problem.rows, self._vectors))
        run = FewRun(self._session, few, known, self._proves)
        result = run.finish(function, self._budget.share(sub.rows).limit)
        logger.info("%s: %s, relative gap %.2g", sub.name, result.stop_reason, result.relative_gap)
        return run.coefficients, result


def _beginnings(rough: Rough | None, count: int) -> list[tuple[Coefficients | None, Result | None]]:
    if rough is None:
        return [(None, None)] * count
    return list(zip(rough.functions, rough.results, strict=True))


class FewRun:
    """One problem over its vectors, to a certificate, within a limit of time.

    ``known`` is another result for the same problem, whose dual value may be the better one.
    """

    def __init__(self, session: Session, few: FewVectors, known: Result | None, proves: bool) -> None:
        self._session, self._few, self._timer = session, few, Timer(session.clock, session.token)
        self._known, self._proves = known, proves or known is None
        self._before, self._pace, self._steps = few.problem.gram.evaluations, 0.0, 0

    @property
    def coefficients(self) -> Coefficients:
        """The function found, over rows of the data."""
        return Coefficients(self._few.vectors.astype(np.int64), self._at.coef, self._at.intercept)

    def finish(self, first: Coefficients | None, seconds: float) -> Result:
        """Go from what the vectors explain of a first function to the best one, unless a callback asked to stop."""
        self._timer.limit(self._few.state, seconds)
        self._at = self._start(first)
        cut_short = self._known.stop_reason if self._known and self._known.stop_reason in CUT_SHORT else None
        reason = cut_short if cut_short == "callback" else self._improve() or cut_short
        primal = self._few.largest_primal_value(self._at)
        return self._result(primal, self._dual_point() if self._proves else None, reason)

    def _start(self, first: Coefficients | None) -> Function:
        """This cannot be interrupted: every fit has a model. The pass over all rows tells how long others take."""
        token, few = self._timer.token, self._few
        token.heed_requests(False)
        values = np.zeros(len(few.vectors)) if first is None else few.values_at_vectors(first)
        began = time.perf_counter()
        start = few.projection(values, first.intercept if first else 0.0)
        self._pace = (time.perf_counter() - began) / (len(few.rows) * len(few.vectors))
        token.heed_requests(True)
        return start

    @property
    def _certificate_seconds(self) -> float:
        rows, vectors, active = len(self._few.rows), len(self._few.vectors), np.count_nonzero(self._at.slacks)
        return self._pace * (rows * vectors + (active**2 / 2 if self._proves else 0))

    def _improve(self) -> str | None:
        """Go to the function of least P; the reason if that had to end before."""
        reserve = min(self._certificate_seconds, RESERVED * max(self._timer.seconds_left(), 0.0))
        if self._timer.has_time_for_moves(reserve):
            with suppress(Stopped):
                self._at, self._steps = self._few.minimize(self._at)
        if self._timer.token.requested:
            return "interrupted"
        return "max_time" if self._few.state.is_stopped() else None

    def _dual_point(self) -> DualPoint:
        few, timer, weights = self._few, self._timer, self._few.dual_weights(self._at)
        seconds = ANSWER if timer.token.requested else max(timer.seconds_left(), ANSWER)
        if not timer.grant_certificate(min(self._certificate_seconds, seconds)):
            timer.grant_answer(forever=True)
        try:
            return few.dual_point(weights, np.sqrt(2 * seconds / self._pace), timer.token)
        except Stopped:
            timer.grant_answer(forever=True)
            return few.dual_point(weights, QUICK)

    def _result(self, primal: float, point: DualPoint | None, reason: str | None) -> Result:
        dual, weights, evaluations = 0.0, np.zeros(0), self._few.problem.gram.evaluations - self._before
        scales = self._few.problem.scales
        if point:
            total = (point.weights.sum() or 1.0) if scales else 1.0 / (point.scale or 1.0)
            dual, weights = point.least_dual_value, point.weights / total
        if self._known:
            evaluations += self._known.evaluations
            if point is None or self._known.dual_value > dual:
                dual, weights = self._known.dual_value, self._known.weights
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
            evaluations=evaluations,
            samplings=0,
            certificate_seconds=self._certificate_seconds,
            trace=Trace(),
            simplex_gap=float("inf"),  # the function is not a sum over a point of the simplex
            primal_gap=gap,
            primal_value=primal,
            dual_value=dual,
            scale=scale,
        )
