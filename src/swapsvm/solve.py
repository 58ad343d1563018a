"""The run: start, loop until the stop rule ends it, certify in double, reopen if the certificate does not hold."""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._core import Stopped, StopToken
from .rays import KINDS
from .solvers import Solver, make_solver
from .solvers.direct import direct_step
from .solvers.fully_corrective import solve_face
from .state import KernelState, Limits, Problem, Sampling, State, open_state
from .stopping import ConvergenceWarning, Gap, Progress, Since, Stop, make_stop
from .trace import RAW, Trace

logger = logging.getLogger(__name__)

Callback = Callable[[Progress], Any]
CLAIMS = ("unconfirmed", "stalled")  # reasons to certify, not yet to end
SECONDS_PER_CALL = 0.05  # of compiled work between two looks at stop rules, callbacks and Ctrl-C
ANSWER = 0.2  # seconds for what comes after Ctrl-C, or after a limit that was outlasted
OVERTIME = 0.5  # a certificate may outlast the limit by this part of a tenth of it, or of half a second
RESERVE = 1.25  # moves end this many times the estimated duration of the certificate before the limit
# A certificate above the target reopens the run if it is below this part of the one before: double precision would do
# better than single, and rows that were left out may have to be found in several rounds.
ENOUGH_IN_SINGLE, ENOUGH = 0.5, 0.9
MARGIN = 0.99  # a run ends a little below its target: the certificate, which is more exact, may come out a little above


@dataclass(frozen=True)
class Result:
    """The end of a run.

    Attributes
    ----------
    weights : array
        A point of the simplex.
    value, gap : float
        g there, and the certificate max g - g(weights) <= gap, both recomputed from scratch in double.
    relative_gap : float
        gap / |value|. For a general g it is gap / max(1, |value|); with a linear term, gap / max(|value|, a'Da), D the
        ridge, because the value may be 0.
    stop_reason : str
        ``"gap"``, or why the gap was not reached: ``"max_iter"``, ``"max_time"``, ``"callback"``, ``"precision"`` (the
        arithmetic resolves no better), ``"sample"`` (samples showed no violator, see ``Sampling``) or the name that a
        user's own rule gives.
    iterations, evaluations, samplings : int
        Moves (the start counts as one), kernel values (or gradients) computed, samples drawn.
    certificate_seconds : float
        CPU time of this thread in the pass at the end that certified the gap.
    full_pass : bool
        Whether the gap comes from a pass over all rows. If a limit or Ctrl-C left no time for one, it is the best bound
        that was proven without: as true, but larger than need be.
    trace : Trace
    """

    weights: np.ndarray
    value: float
    gap: float
    relative_gap: float
    stop_reason: str
    iterations: int
    evaluations: int
    samplings: int
    certificate_seconds: float
    trace: Trace
    full_pass: bool = True

    @property
    def converged(self) -> bool:
        """Whether the gap was reached."""
        return self.stop_reason == "gap"

    def as_optimize_result(self) -> OptimizeResult:
        """The same as SciPy's solvers return it, for code that is written for them.

        SciPy minimizes: ``fun`` is -value, and ``fun - min fun <= gap``. ``x`` is the weights, ``nit`` the iterations,
        ``nfev`` the gradients (or kernel values). ``status`` is 0 if the gap was reached, else 1; ``message`` has the
        reason.
        """
        return OptimizeResult(
            x=self.weights,
            fun=-self.value,
            success=self.converged,
            status=0 if self.converged else 1,
            message=f"stopped by {self.stop_reason!r}; fun is at most {self.gap:.3g} above the minimum",
            nit=self.iterations,
            nfev=self.evaluations,
            gap=self.gap,
        )


def maximize(
    problem: Problem,
    solver: str | Solver = "swap2",
    *,
    tol: float = 1e-2,
    eps: float = 0.0,
    max_iter: int = -1,
    max_time: float | None = None,
    stop: Stop | Callable[[Progress], str | None] | None = None,
    start: np.ndarray | None = None,
    start_size: int = 20,
    sampling: int | Sampling | None = None,
    random_state: int | np.random.Generator | None = 0,
    callback: Callback | None = None,
) -> Result:
    """Maximize a concave function over the unit simplex.

    Parameters
    ----------
    problem : Concave, LogDeterminant or Quadratic
    solver : {"fw", "mfw", "swap", "swap2", "fcfw", "cvm", "block"}
    tol, eps : float
        Relative and absolute gap at which to stop; either is enough.
    max_iter : int
        Most iterations; -1 for no limit.
    max_time : float, optional
        Seconds, the certifying pass included: moves end in time for it.
    stop : Stop or callable, optional
        A further rule, joined to the others: a function of the progress that gives a reason to end, or None.
    start : array, optional
        Weights to start from; by default a solution on the face of ``start_size`` random vertices.
    start_size : int
        Number of random vertices of the start, both classes among them ([SWAP14]: 20).
    sampling : int or Sampling, optional
        Look for the toward vertex among this many random variables and the active ones; a full pass ends the run.
    random_state : int, Generator or None
        Chooses the start and the samples.
    callback : callable, optional
        Called with a ``Progress`` after each block of moves; the return value False ends the run.

    Returns
    -------
    Result

    Warns
    -----
    ConvergenceWarning
        If the run ends for any reason but the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import maximize
    >>> from swapsvm.problems import Concave
    >>> b = np.array([0.2, 0.5, 0.3])
    >>> g = Concave(value=lambda a: -((a - b) ** 2).sum(), gradient=lambda a: -2 * (a - b), size=3)
    >>> maximize(g, solver="swap", tol=1e-9).weights.round(4)
    array([0.2, 0.5, 0.3])
    """
    rules = make_stop(tol, eps, max_iter, max_time)
    rng = np.random.default_rng(random_state)
    state = open_state(problem, sampling=sampling, seed=int(rng.integers(2**63)))
    run = Run(state, make_solver(solver), rules | stop if stop else rules, callback)
    run.begin(start, start_size, rng)
    result = run.finish()
    if not result.converged:
        warn_not_converged(result)
    return result


def warn_not_converged(result: Result, what: str = "the run") -> None:
    """Say why a run ended, and what helps."""
    advice = {
        "max_iter": "raise max_iter, or tol",
        "max_time": "raise max_time, or tol",
        "callback": "do not return False from the callback",
        "interrupted": "let it run on, for instance with warm_start=True",
        "sample": "leave Sampling.trusted out",
        "precision": "the arithmetic resolves no smaller gap: raise tol, scale the data, or lower C",
    }
    proof = "certified" if result.full_pass else "the best bound proven without a pass over all rows"
    message = (
        f"{what} stopped by {result.stop_reason!r} at a relative gap of {result.relative_gap:.2g} "
        f"(gap {result.gap:.2g}). The model is feasible and its gap {proof}; for a smaller one "
        f"{advice.get(result.stop_reason, 'run longer')}."
    )
    warn_user(message, ConvergenceWarning)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line: the first one outside of this package and of what scikit-learn puts around a fit."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("swapsvm.", "sklearn.callback.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@dataclass(frozen=True)
class Memory:
    """Where a run stands: all that its next moves depend on, but kernel values, and what it has counted so far."""

    state: dict[str, np.ndarray]
    in_double: bool  # whether the run has gone on to kernel values in double
    stage: int  # of the solver
    iteration: int
    seconds: float
    evaluations: int
    certified: float  # the gap of the last certificate that was a success
    fruitless: int  # certificates since
    trace: Trace


class Run:
    """One run of a solver on a state.

    If it ``remembers``, ``memory`` is where it stood before the last certificate; ``go_on`` continues from there as if
    it had never ended.
    """

    def __init__(
        self,
        state: State,
        solver: Solver,
        stop: Stop,
        callback: Callback | None = None,
        clock: Callable[[], float] = time.perf_counter,
        token: StopToken | None = None,
    ) -> None:
        solver.check(state)
        self.state, self.solver, self.stop, self.callback, self.clock = state, solver, stop, callback, clock
        self.token = (token or StopToken()).sharing()
        self.trace = Trace(state.memory_pays)
        self.iteration = 0
        self.pause = 0.0  # a relative gap at which the callback is to be called as well
        self._began = clock()
        self._certificate_seconds = 0.0
        self._certified, self._fruitless, self._certain = float("inf"), 0, True
        self._margin = MARGIN
        self._earlier_evaluations = -state.evaluations  # a Gram may have served others before
        self.memory: Memory | None = None
        self.remembers = False  # whether a memory is wanted
        self._largest = getattr(getattr(state, "problem", None), "largest_value", math.inf)  # proven bound on max g
        # weights of the last certified point, where the run stood there, and the rounding of its value
        self._proven: tuple[np.ndarray, Progress, float] | None = None
        self._set_deadline()

    def _set_deadline(self) -> None:
        state = self.state
        state.clock, state.deadline, state.token = self.clock, self._began + self.stop.seconds, self.token

    def _seconds_left(self) -> float:
        """Until the limit. By a clock other than the wall's, which compiled passes cannot look at, no end is near."""
        return self.state.deadline - self.clock() if self.clock is time.perf_counter else math.inf

    def begin(self, start: np.ndarray | None, start_size: int, rng: np.random.Generator) -> None:
        """Set the first weights. Nothing stops that: a fit that was asked to end has a first model all the same."""
        self.token.heed_requests(False)
        problem: Any = self.state.problem  # type: ignore[attr-defined]
        if start is not None:
            start = np.asarray(start, dtype=np.float64)
            if (
                start.shape != (self.state.size,)
                or not np.isfinite(start).all()
                or (start < 0).any()
                or not start.any()
            ):
                raise ValueError(f"start must be {self.state.size} finite weights, none negative and not all zero")
            variables, weights = np.flatnonzero(start), start[start > 0]
        else:
            if int(start_size) != start_size or start_size < 1:
                raise ValueError(f"start_size={start_size!r} must be a positive integer")
            variables = problem.start_variables(int(start_size), rng)
            solve = self.solver.solves_start
            weights = solve_face(self.state.face(variables), tol=1e-6) if solve else self.state.start_weights(variables)
        self.state.set_weights(variables[weights > 0], weights[weights > 0])
        self.token.heed_requests(True)
        self._note_certificate()
        if start is not None:
            self.solver.resume(self.state)
        self._started()

    def resume(self) -> None:
        """Go on from the weights that the state has, the solution of a problem close by."""
        self.solver.resume(self.state)
        self._started()

    def go_on(self, memory: Memory) -> None:
        """Continue a run of the same problem and solver; limits count from here."""
        if memory.in_double:
            self.state = self.state.refined() or self.state
        self.state.restore(memory.state)
        self.solver.stage, self.iteration, self.trace = memory.stage, memory.iteration, memory.trace.copy()
        self._certified, self._fruitless, self._certain = memory.certified, memory.fruitless, False
        self._began = self.clock() - memory.seconds
        self._earlier_evaluations = memory.evaluations - self.state.evaluations
        self.stop = Since(self.progress(), self.stop)
        self._set_deadline()

    def remember(self) -> Memory:
        """Where it stands now."""
        progress = self.progress()
        return Memory(
            state=self.state.snapshot(),
            in_double=not self.state.single,
            stage=self.solver.stage,
            iteration=self.iteration,
            seconds=progress.seconds,
            evaluations=progress.evaluations,
            certified=self._certified,
            fruitless=self._fruitless,
            trace=self.trace.copy(),
        )

    def _started(self) -> None:
        self.iteration = 1
        self.trace.kinds["corrective"] += 1
        self._record()

    def finish(self, exact_below: int = 0) -> Result:
        """Run until the stop rule ends it and the certificate says the same.

        A problem of fewer than ``exact_below`` variables is then solved on, to the limit of double precision.
        """
        while True:
            reason = self._until_stop()
            self.memory = self.remember() if self.remembers else None
            if not self._certify():
                return self._unfinished(self._reason_to_end(reason))
            if self._gap_reached():
                reason = "gap"
            if reason not in CLAIMS:
                break
            if self._lower_margin():
                continue
            if self.state.gap < (ENOUGH_IN_SINGLE if self.state.single else ENOUGH) * self._certified:
                self._certified, self._fruitless = self.state.gap, 0
                continue
            try:
                if self._refine():
                    continue
            except Stopped:
                reason = self._reason_to_end(reason)
                break
            self._fruitless += 1
            if self._fruitless > self.state.patience:
                reason = "precision"
                break
        polishes = reason == "gap" and self.state.size < exact_below
        certified = self._polished() if polishes else self.progress()
        return self._result(reason, self.state.weights, certified)

    def _certify(self) -> bool:
        """Certify; False if there is no time for a pass over all rows."""
        interrupted = self.token.requested
        if interrupted and self.state.certificate_seconds > ANSWER / 2:
            return False
        left = ANSWER if interrupted else max(self._seconds_left(), 0.0) + OVERTIME * max(0.1 * self.stop.seconds, 0.5)
        self.token.heed_requests(not interrupted)
        self.token.set_seconds_left(left)
        began = time.thread_time()
        try:
            self.state.certify()
        except Stopped:
            return False
        finally:
            self._certificate_seconds = time.thread_time() - began
            self.token.heed_requests(True)
        self._certain = True
        self._note_certificate()
        return True

    def _lower_margin(self) -> bool:
        """Aim lower, to leave room for the rounding that a certificate adds; False if there is no room."""
        target, rounding = self.stop.target(self.progress()), self.state.gap_rounding
        margin = MARGIN * (1 - 2 * rounding / target) if target > 0 else 0.0
        if not 0.1 < margin < self._margin or self.state.gap - rounding > target:
            return False
        self._margin = margin
        return True

    def _note_certificate(self) -> None:
        if self.state.certified:
            progress = self.progress()
            self._largest = min(self._largest, progress.value + progress.gap)
            self._proven = self.state.weights, progress, self.state.value_rounding

    def _reason_to_end(self, reason: str) -> str:
        """Of a run that was stopped while it computed."""
        if reason not in CLAIMS:
            return reason
        return "interrupted" if self.token.requested else "max_time"

    def _unfinished(self, reason: str) -> Result:
        """The end of a run without time for a pass over all rows, with the best bound that was proven before it.

        If not even the value of the present point can be computed, the result is the last certified point.
        """
        self.token.heed_requests(False)
        self.token.set_seconds_left(ANSWER if self._proven else math.inf)
        try:
            self.state.prove()
            weights, progress, rounding = self.state.weights, self.progress(), self.state.value_rounding
        except Stopped:
            assert self._proven
            weights, progress, rounding = self._proven
        gap = min(progress.gap, max(self._largest - progress.value, 0.0) + rounding)
        return self._result(reason, weights, replace(progress, gap=gap), full_pass=False)

    def _refine(self) -> bool:
        """Go on from the same weights with kernel values in double, unless they are so already."""
        finer = self.state.refined()
        if finer is None:
            return False
        support = self.state.support
        finer.token = self.token
        finer.set_weights(support, self.state.weights[support])
        self._earlier_evaluations += self.state.evaluations
        self.state = finer
        self._set_deadline()
        self._certified, self._fruitless = float("inf"), 0
        logger.info("continuing with kernel values in double")
        return True

    def _polished(self) -> Progress:
        """The certificate after one corrective step on the whole simplex, taken back unless it improves on the last."""
        self.token.heed_requests(False)  # it takes milliseconds
        self.token.set_seconds_left(math.inf)
        held, before = self.state.snapshot(), self.progress()
        self.state.set_weights(np.arange(self.state.size), self._solution())
        if not self.state.certified:
            self.state.certify()
        after = self.progress()
        if after.gap > before.gap or after.relative_gap > before.relative_gap:
            self.state.restore(held)  # to the last bit, but no longer certified
            after = before
        self.iteration += 1
        self.trace.kinds["corrective"] += 1
        self._record()
        return after

    def _solution(self) -> np.ndarray:
        """Weights that solve the problem to the limit of double precision, if it is small."""
        state = self.state
        step = direct_step(state) if isinstance(state, KernelState) else None
        if step is None or state.single:
            return solve_face(state.face(np.arange(state.size)))
        return state.weights if step.empty else step.weights * (step.growth * state.radius)

    def _until_stop(self) -> str:
        """Blocks of moves. The reason "gap" is only claimed here: it is "unconfirmed" until certified."""
        moves = 1
        while True:
            progress = self.progress()
            if math.isnan(progress.gap):
                raise ValueError("the gap is not a number: kernel values leave the range of their type; scale the data")
            reason, target = self.stop(progress), self.stop.target(progress)
            if reason not in (None, "gap"):
                return str(reason)
            if progress.gap <= (1.0 if self._certain else self._margin) * target and self.state.confirmed(target):
                return "sample" if self.state.trusts_samples else "unconfirmed"
            if not self._has_time():
                return self._reason_to_end("unconfirmed")
            moves = max(1, int(min(moves, self.stop.moves_left(progress))))
            began = time.perf_counter()
            if self._block(moves):
                return "stalled"
            took = time.perf_counter() - began
            if self.callback is not None and self.callback(self.progress()) is False:
                return "callback"
            moves = int(np.clip(moves * SECONDS_PER_CALL / max(took, 1e-9), 1, min(4 * moves, 1_000_000)))

    def _has_time(self) -> bool:
        """Whether moves can go on: the certificate has to be begun in time."""
        left = self._seconds_left()
        if left < math.inf:
            left -= RESERVE * self.state.certificate_seconds
        self.token.set_seconds_left(left)
        return left > 0 and not self.token.requested

    def _block(self, moves: int) -> bool:
        limits = Limits(
            moves, max(self._margin * self.stop.tol, self.pause), self._margin * self.stop.eps, self.iteration
        )
        self._certain = False
        offset = self.clock() - self._began
        ran = self.state.run(self.solver, limits)
        records = ran.records.copy()
        took = records["seconds"].max(initial=0.0)  # by the wall; this clock may be slower
        records["seconds"] *= min(1.0, (self.clock() - self._began - offset) / took) if took > 0 else 1.0
        records["seconds"] += offset
        records["evaluations"] += self._earlier_evaluations
        self.trace.append(records)
        self.trace.kinds.update(ran.kinds)
        self.iteration += ran.moves
        return ran.stalled

    def progress(self) -> Progress:
        """Where the run stands."""
        state = self.state
        return Progress(
            iteration=self.iteration,
            seconds=self.clock() - self._began,
            value=state.value,
            gap=state.gap,
            support=state.support_size,
            evaluations=state.evaluations + self._earlier_evaluations,
            scale=state.scale,
        )

    def _gap_reached(self) -> bool:
        return Gap(self.stop.tol, self.stop.eps)(self.progress()) is not None

    def _record(self) -> None:
        p = self.progress()
        kind = KINDS.index("corrective")
        self.trace.append(np.array([(p.iteration, p.support, p.evaluations, kind, p.seconds, p.value, p.gap)], RAW))

    def _result(self, reason: str, weights: np.ndarray, progress: Progress, full_pass: bool = True) -> Result:
        return Result(
            weights=weights,
            value=progress.value,
            gap=progress.gap,
            relative_gap=progress.relative_gap,
            stop_reason=reason,
            iterations=self.iteration,
            evaluations=progress.evaluations,
            samplings=getattr(self.state, "samplings", 0),
            certificate_seconds=self._certificate_seconds,
            trace=self.trace,
            full_pass=full_pass,
        )
