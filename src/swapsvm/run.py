"""The run: start, loop until the stop rule ends it, certify in double, reopen if the certificate does not hold."""

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
from .solvers import Solver
from .solvers.direct import exact_weights
from .standing import Standing
from .start import first_point, given_point
from .state import Limits, State
from .stopping import Progress, Since, Stop
from .timing import Timer
from .trace import RAW, Trace

logger = logging.getLogger(__name__)

CLAIMS = ("unconfirmed", "stalled")  # reasons to certify, not yet to end
SECONDS_PER_CALL = 0.05  # compiled work between two looks at stop rules, watchers and Ctrl-C


class Watcher(Protocol):
    """Looks at a run between blocks of moves."""

    @property
    def next_gap(self) -> float:
        """Relative gap at which ``look`` is to be called as well; 0 for none."""

    def look(self, run: Run) -> bool:
        """Whether to go on; False ends the run with reason "callback"."""


class Run:
    """One run of a solver on a state.

    Parameters
    ----------
    state : State
    solver : Solver
    stop : Stop
    watchers : sequence of Watcher
        Called after each block of moves.
    clock : callable
        Seconds; limits count by it.
    token : StopToken, optional
        Requests to stop reach the run through it.
    remembers : bool
        Whether to keep ``last_standing``: where the run stood before its last certificate.
    began : float, optional
        When the run began, by the clock; by default now.
    """

    def __init__(
        self,
        state: State,
        solver: Solver,
        stop: Stop,
        *,
        watchers: Sequence[Watcher] = (),
        clock: Callable[[], float] = time.perf_counter,
        token: StopToken | None = None,
        remembers: bool = False,
        began: float | None = None,
    ) -> None:
        solver.check(state)
        self._state, self._solver, self._chooser, self._stop = state, solver, solver.chooser(), stop
        self._watchers, self._remembers = watchers, remembers
        self._timer = Timer(clock, token, began)
        self.trace = Trace(state.memory_pays)
        self.iteration = 0
        self.last_standing: Standing | None = None
        self._certificate_seconds = 0.0
        self._certain = True  # whether value and gap are certified
        self._certificates = Certificates(state.largest_value)
        self._earlier_evaluations = -state.evaluations  # a Gram may have served others before
        self._limit_state()

    @property
    def state(self) -> State:
        """The state; another one after the run has gone on to kernel values in double."""
        return self._state

    def _limit_state(self) -> None:
        self._timer.set_limit(self._stop.seconds)
        self._state.limit(self._timer.clock, self._timer.deadline, self._timer.token)

    def begin(self, start: np.ndarray | None, start_size: int, rng: np.random.Generator) -> None:
        """Set the first weights. Nothing stops that: a run that was asked to end has a first point all the same."""
        self._timer.token.heed_requests(False)
        if start is None:
            variables, weights = first_point(self._state, self._solver, start_size, rng)
        else:
            variables, weights = given_point(start, self._state.size)
        self._state.set_weights(variables[weights > 0], weights[weights > 0])
        self._timer.token.heed_requests(True)
        self._note_certificate()
        if start is not None:
            self._chooser = self._solver.resumed(self._state)
        self._started()

    def resume(self) -> None:
        """Start from the weights that the state has: the solution of a similar problem."""
        self._chooser = self._solver.resumed(self._state)
        self._started()

    def go_on(self, standing: Standing, state: State | None = None) -> None:
        """Continue a run of the same problem and solver as if it had never ended; limits count from here.

        ``state`` is a kept state of the problem, to be used in place of the new one.
        """
        if state is not None:
            self._state = state
        if standing.in_double:
            self._state = self._state.refined() or self._state
        self._state.restore(standing.state)
        self._chooser = self._solver.chooser(standing.stage)
        self.iteration, self.trace = standing.iteration, standing.trace.copy()
        self._certificates.restart(standing.certified, standing.fruitless)
        self._certain = False
        self._timer.rewind(standing.seconds)
        self._earlier_evaluations = standing.evaluations - self._state.evaluations
        self._stop = Since(self.progress(), self._stop)
        self._limit_state()

    def standing(self) -> Standing:
        """Where the run stands now."""
        progress = self.progress()
        return Standing(
            state=self._state.snapshot(),
            in_double=not self._state.single,
            stage=self._chooser.stage,
            iteration=self.iteration,
            seconds=progress.seconds,
            evaluations=progress.evaluations,
            certified=self._certificates.gap,
            fruitless=self._certificates.fruitless,
            trace=self.trace.copy(),
        )

    def _started(self) -> None:
        self.iteration = 1
        self._record(self.progress())

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
            progress = self.progress()
            reason = self._confirmed(claim, progress)
        if reason == "gap" and self._state.size < exact_below:
            progress = self._polished(progress)
        return self._result(reason, self._state.weights, progress)

    def _confirmed(self, claim: str, progress: Progress) -> str | None:
        """The reason to end at a certified point, or None to go on."""
        if progress.gap <= progress.target:
            return "gap"
        if claim not in CLAIMS:
            return claim
        certificates = self._certificates
        if certificates.lower_margin(progress, self._state.gap_rounding):
            return None
        if certificates.improve(progress.gap, self._state.single):
            return None
        try:
            if self._refine():
                return None
        except Stopped:
            return self._reason_to_end(claim)
        certificates.fruitless += 1
        return "precision" if certificates.fruitless > self._state.patience else None

    def _certify(self) -> bool:
        """Certify; False if there is no time for a pass over all rows."""
        if not self._timer.grant_certificate(self._state.certificate_seconds):
            return False
        began = time.thread_time()
        try:
            self._state.certify()
        except Stopped:
            return False
        finally:
            self._certificate_seconds = time.thread_time() - began
            self._timer.token.heed_requests(True)
        self._certain = True
        self._note_certificate()
        return True

    def _note_certificate(self) -> None:
        if self._state.certified:
            self._certificates.note(self._state, self.progress())

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
            self._state.prove()
            end = Proven(self._state.weights, self.progress(), self._state.value_rounding)
        except Stopped:
            assert last
            end = last
        return self._result(reason, end.weights, self._certificates.bounded(end), full_pass=False)

    def _refine(self) -> bool:
        """Go on from the same weights with kernel values in double, unless they are in double already."""
        finer = self._state.refined()
        if finer is None:
            return False
        support = self._state.support
        finer.limit(self._timer.clock, self._timer.deadline, self._timer.token)
        finer.set_weights(support, self._state.weights[support])
        self._earlier_evaluations += self._state.evaluations
        self._state = finer
        self._certificates.restart()
        logger.info("continuing with kernel values in double")
        return True

    def _polished(self, before: Progress) -> Progress:
        """The certificate after one corrective step on the whole simplex, undone unless it improves on the last one."""
        self._timer.grant_answer(forever=True)  # it takes milliseconds
        held = self._state.snapshot()
        self._state.set_weights(np.arange(self._state.size), exact_weights(self._state))
        if not self._state.certified:
            self._state.certify()
        after = self.progress()
        if after.gap > before.gap or after.relative_gap > before.relative_gap:
            self._state.restore(held)  # to the last bit, but no longer certified
            after = before
        self.iteration += 1
        self._record(self.progress())
        return after

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
            claim = self._state.claim(progress.target) if progress.gap <= aim else None
            if claim:
                return claim
            if not self._timer.has_time_for_moves(self._state):
                return self._reason_to_end("unconfirmed")
            moves = max(1, int(min(moves, self._stop.moves_left(progress))))
            began = time.perf_counter()
            if self._block(moves):
                return "stalled"
            took = time.perf_counter() - began
            if False in [watcher.look(self) for watcher in self._watchers]:  # each of them looks
                return "callback"
            moves = int(np.clip(moves * SECONDS_PER_CALL / max(took, 1e-9), 1, min(4 * moves, 1_000_000)))

    def _block(self, moves: int) -> bool:
        """Make at most this many moves; whether the solver found none."""
        next_gap = max((watcher.next_gap for watcher in self._watchers), default=0.0)
        margin = self._certificates.margin
        tol, eps = max(margin * self._stop.tol, next_gap), margin * self._stop.eps
        self._certain = False
        offset = self._timer.seconds()
        ran = self._state.run(self._chooser, Limits(moves, tol, eps, self.iteration))
        self.trace.add(ran.records, ran.kinds, offset, self._timer.seconds(), self._earlier_evaluations)
        self.iteration += ran.moves
        return ran.stalled

    def progress(self) -> Progress:
        """Where the run stands, in numbers."""
        state = self._state
        return Progress(
            iteration=self.iteration,
            seconds=self._timer.seconds(),
            value=state.value,
            gap=state.gap,
            support=state.support_size,
            evaluations=state.evaluations + self._earlier_evaluations,
            scale=state.scale,
            target=self._stop.target(state.scale),
        )

    def _record(self, p: Progress) -> None:
        """Add a corrective step that was not made by the loop to the trace."""
        kind = KINDS.index("corrective")
        self.trace.kinds["corrective"] += 1
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
            samplings=self._state.samplings,
            certificate_seconds=self._certificate_seconds,
            trace=self.trace,
            full_pass=full_pass,
        )
