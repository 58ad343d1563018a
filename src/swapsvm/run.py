"""The run: start, move until the stop rule ends it, certify in double, go on if the certificate does not hold."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ._core import Stopped, StopToken
from .certificates import Certificates, Proven
from .rays import KINDS
from .result import Result
from .solvers import SecondOrderSwap, Solver
from .solvers.direct import exact_weights
from .state import Limits, State
from .stopping import Progress, Since, Stop
from .timing import Timer
from .trace import RAW, Standing, Trace

logger = logging.getLogger(__name__)

CLAIMS = ("unconfirmed", "stalled")  # reasons to certify, not yet to end
START_ACCURACY = 1e-6  # relative gap on the first face
SECONDS_PER_CALL = 0.05  # compiled work between two looks at stop rules, observers and Ctrl-C


class Observer(Protocol):
    """Looks at a run between blocks of moves."""

    @property
    def next_gap(self) -> float:
        """Relative gap at which ``look`` is to be called as well; 0 for none."""

    def look(self, run: Run) -> bool:
        """Whether to go on; False ends the run with reason "callback"."""


class Run:
    """One run of a solver on a state.

    ``observers`` look at it after each block of moves. Limits count by the ``clock``.
    Requests to stop come through the ``token``. A run that ``remembers`` keeps ``last_standing``, before a certificate.
    """

    def __init__(
        self,
        state: State,
        solver: Solver,
        stop: Stop,
        *,
        observers: Sequence[Observer] = (),
        clock: Callable[[], float] = time.perf_counter,
        token: StopToken | None = None,
        remembers: bool = False,
    ) -> None:
        solver.check(state)
        state.measure(solver.stops_at)
        self.state = state  # another one after the run has gone on to kernel values in double
        self._solver, self._chooser, self._stop = solver, solver.chooser(), stop
        self._observers, self._remembers = observers, remembers
        self._timer = Timer(clock, token)
        self._timer.limit(state, stop.seconds)
        self.trace = Trace(state.memory_pays)
        self.iteration = 0
        self.last_standing: Standing | None = None
        self._certificate_seconds = 0.0
        self._certain = True  # whether value and gap are certified
        self._certificates = Certificates(state.largest_value, solver.stops_at)
        self._earlier_evaluations = -state.evaluations  # a Gram may have served others before
        self._earlier_hits = 0

    def begin(self, start: np.ndarray | None, start_size: int, rng: np.random.Generator) -> None:
        """Set the first weights. This cannot be interrupted: every run has a first point."""
        self._timer.token.heed_requests(False)
        variables, weights = self._first_point(start_size, rng) if start is None else self._given_point(start)
        self.state.set_weights(variables[weights > 0], weights[weights > 0])
        self._timer.token.heed_requests(True)
        self._certificates.note(self.state, self.progress())
        self._record() if start is None else self.resume()

    def _first_point(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Random variables and their weights: the solution on their face, for solvers that begin with one."""
        if int(size) != size or size < 1:
            raise ValueError(f"start_size={size!r} must be a positive integer")
        variables = self._solver.start_variables(self.state, int(size), rng)
        if not self._solver.solves_start:
            return variables, self.state.start_weights(variables)
        return variables, self.state.face(variables).solve(SecondOrderSwap(), tol=START_ACCURACY)

    def _given_point(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size, weights = self.state.size, np.asarray(start, dtype=np.float64)
        if weights.shape != (size,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(f"start must be {size} finite weights, none negative and not all zero")
        return np.arange(size), weights

    def resume(self) -> None:
        """Start from the weights that the state has: the solution of a similar problem."""
        self._chooser = self._solver.resumed(self.state.size)
        self._record()

    def go_on(self, standing: Standing, state: State | None = None) -> None:
        """Continue a run of the same problem and solver as if it had never ended; limits count from here.

        ``state`` is a kept state of the problem, to be used in place of the new one.
        """
        self.state = state or self.state
        if standing.in_double:
            self.state = self.state.refined() or self.state
        self.state.measure(self._solver.stops_at)
        self.state.restore(standing.state)
        self._chooser = self._solver.chooser(standing.history)
        self.iteration, self.trace = standing.iteration, standing.trace.copy()
        self._certificates.restart(standing.certified, standing.fruitless)
        self._certain = False
        self._timer.rewind(standing.seconds)
        self._earlier_evaluations = standing.evaluations - self.state.evaluations
        self._stop = Since(self.progress(), self._stop)
        self._timer.limit(self.state, self._stop.seconds)

    def standing(self) -> Standing:
        """Where the run stands now."""
        progress = self.progress()
        return Standing(
            state=self.state.snapshot(),
            in_double=not self.state.single,
            history=self._chooser.history,
            iteration=self.iteration,
            seconds=progress.seconds,
            evaluations=progress.evaluations,
            certified=self._certificates.gap,
            fruitless=self._certificates.fruitless,
            trace=self.trace.copy(),
        )

    def finish(self, exact_below: int = 0) -> Result:
        """Run until the stop rule ends it and the certificate confirms that.

        A problem of fewer than ``exact_below`` variables is then solved further, to the limit of double precision.
        """
        reason = None
        while reason is None:
            claim = self._until_stop()
            self.last_standing = self.standing() if self._remembers else None
            if not self._certify():
                return self._unfinished(self._reason_to_end(claim))
            end = self._proven()
            reason = self._confirmed(claim, end.progress)
        if reason == "gap" and self.state.size < exact_below:
            end = self._polished(end)
        return self._result(reason, end)

    def _confirmed(self, claim: str, progress: Progress) -> str | None:
        """The reason to end at a certified point, or None to go on."""
        if progress.gap <= progress.target:
            return "gap"
        if claim not in CLAIMS:
            return claim
        aims_lower = self._certificates.lower_margin(progress, self.state.gap_rounding)
        if aims_lower or self._certificates.improve(progress.gap, self.state.single):
            return None
        try:
            if self._refine():
                return None
        except Stopped:
            return self._reason_to_end(claim)
        self._certificates.fruitless += 1
        return "precision" if self._certificates.fruitless > self.state.patience else None

    def _certify(self) -> bool:
        """Certify; False if there is no time for a pass over all rows."""
        if not self._timer.grant_certificate(self.state.certificate_seconds):
            return False
        began = time.thread_time()
        try:
            self.state.certify()
        except Stopped:
            return False
        finally:
            self._certificate_seconds = time.thread_time() - began
            self._timer.token.heed_requests(True)
        self._certain = True
        self._certificates.note(self.state, self.progress())
        return True

    def _reason_to_end(self, reason: str) -> str:
        """The reason of a run that was stopped while it computed."""
        if reason not in CLAIMS:
            return reason
        return "interrupted" if self._timer.token.requested else "max_time"

    def _unfinished(self, reason: str) -> Result:
        """The end of a run without time for a pass over all rows, with the best bound proven so far.

        If not even the value of the present point can be computed, the result is the last certified point.
        """
        last = self._certificates.last
        self._timer.grant_answer(forever=last is None)
        try:
            self.state.prove()
            end = self._proven()
        except Stopped:
            assert last
            end = last
        return self._result(reason, self._certificates.bounded(end, self.state), full_pass=False)

    def _refine(self) -> bool:
        """Go on from the same weights with kernel values in double, unless they are in double already."""
        finer = self.state.refined()
        if finer is None:
            return False
        support = self.state.support
        finer.measure(self._solver.stops_at)
        self._timer.limit(finer, self._stop.seconds)
        finer.set_weights(support, self.state.weights[support])
        self._earlier_evaluations += self.state.evaluations
        self._earlier_hits += self.state.cache_hits
        self.state = finer
        self._certificates.restart()
        logger.info("continuing with kernel values in double")
        return True

    def _polished(self, before: Proven) -> Proven:
        """The certificate after one corrective step on the whole simplex, undone unless it improves on the last one."""
        self._timer.grant_answer(forever=True)  # it takes milliseconds
        if self.state.polish():
            self._record()
            after = self._proven()
            return after if after.is_at_least(before) else before
        held = self.state.snapshot()
        self.state.set_weights(np.arange(self.state.size), exact_weights(self.state))
        if not self.state.certified:
            self.state.certify()
        after = self._proven()
        if not after.is_at_least(before):
            self.state.restore(held)  # to the last bit, but no longer certified
            after = before
        self._record()
        return after

    def _proven(self) -> Proven:
        return Proven.of(self.state, self.progress())

    def _until_stop(self) -> str:
        """Blocks of moves. The reason "gap" is only claimed here: it is "unconfirmed" until certified."""
        moves = 1
        while True:
            progress = self.progress()
            if math.isnan(progress.gap):
                raise ValueError("the gap is not a number: kernel values leave the range of their type; scale the data")
            reason = self._stop(progress)
            if reason not in (None, "gap"):
                return str(reason)
            aim = (1.0 if self._certain else self._certificates.margin) * progress.target
            if progress.gap <= max(aim, self.state.tolerance) and (claim := self.state.claim(progress.target)):
                return claim
            if not self._timer.has_time_for_moves(self.state.certificate_seconds):
                return self._reason_to_end("unconfirmed")
            moves = max(1, int(min(moves, self._stop.moves_left(progress))))
            began = time.perf_counter()
            if self._block(moves):
                return "stalled"
            took = time.perf_counter() - began
            if False in [observer.look(self) for observer in self._observers]:  # each of them looks
                return "callback"
            moves = int(np.clip(moves * SECONDS_PER_CALL / max(took, 1e-9), 1, min(4 * moves, 1_000_000)))

    def _block(self, moves: int) -> bool:
        """Make at most this many moves; whether the solver found none."""
        next_gap = max((observer.next_gap for observer in self._observers), default=0.0)
        margin = self._certificates.margin
        tol, eps = max(margin * self._stop.tol, next_gap), margin * self._stop.eps
        self._certain = False
        offset = self._timer.seconds()
        aim = margin * self._stop.tol, margin * self._stop.eps
        ran = self.state.run(self._chooser, Limits(moves, tol, eps, self.iteration, aim))
        self.trace.add(ran.records, ran.kinds, offset, self._timer.seconds(), self._earlier_evaluations)
        self.iteration += ran.moves
        return ran.stalled

    def progress(self) -> Progress:
        """Where the run stands, in numbers."""
        state = self.state
        seconds, evaluations = self._timer.seconds(), state.evaluations + self._earlier_evaluations
        scale, target = state.scale, self._stop.target(state.scale)
        return Progress(self.iteration, seconds, state.value, state.gap, state.support_size, evaluations, scale, target)

    def _record(self) -> None:
        """Count a corrective step that was not made by the loop, and add it to the trace."""
        self.iteration += 1
        self.trace.kinds["corrective"] += 1
        kind, p = KINDS.index("corrective"), self.progress()
        self.trace.append(np.array([(p.iteration, p.support, p.evaluations, kind, p.seconds, p.value, p.gap)], RAW))

    def _result(self, reason: str, end: Proven, full_pass: bool = True) -> Result:
        progress = end.progress
        primal, dual = self.state.bounds(progress.value, end.primal_gap, end.rounding)
        return Result(
            weights=end.weights,
            value=progress.value,
            gap=progress.gap,
            relative_gap=progress.relative_gap,
            stop_reason=reason,
            iterations=self.iteration,
            evaluations=progress.evaluations,
            samplings=self.state.samplings,
            cache_hits=self.state.cache_hits + self._earlier_hits,
            certificate_seconds=self._certificate_seconds,
            trace=self.trace,
            full_pass=full_pass,
            simplex_gap=end.simplex_gap,
            primal_gap=end.primal_gap,
            primal_value=primal,
            dual_value=dual,
            scale=progress.scale,
            level=end.level,
            known_products=end.known_products,
        )
