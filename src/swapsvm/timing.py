"""The time of a run: its clock, its limit, and the token through which computations learn that they have to end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ._core import StopToken
from .state import State

ANSWER = 0.2  # seconds for what comes after Ctrl-C, or after an exceeded limit
OVERTIME = 0.5  # a certificate may exceed the limit by this part of a tenth of it, or of half a second
RESERVE = 1.25  # moves end this many times the estimated duration of the certificate before the limit


class Timer:
    """The clock of a run and its token."""

    def __init__(self, clock: Callable[[], float], token: StopToken | None) -> None:
        self.clock, self.token = clock, (token or StopToken()).sharing()
        self._began = clock()
        self._limit = self._deadline = math.inf

    def limit(self, state: State, seconds: float) -> None:
        """Limit the run of a state to this many seconds since its beginning."""
        self._limit, self._deadline = seconds, self._began + seconds
        state.limit(self.clock, self._deadline, self.token)

    def rewind(self, seconds: float) -> None:
        """Continue a run that has taken this many seconds."""
        self._began = self.clock() - seconds

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self._began

    def seconds_left(self) -> float:
        """Seconds to the deadline; infinite unless the clock is the wall's: compiled passes cannot read another one."""
        return self._deadline - self.clock() if self.clock is time.perf_counter else math.inf

    def has_time_for_moves(self, estimate: float) -> bool:
        """Whether moves can go on, leaving time for a certificate of this estimated duration."""
        left = self.seconds_left() - RESERVE * estimate
        self.token.set_seconds_left(left)
        return left > 0 and not self.token.requested

    def grant_certificate(self, estimate: float) -> bool:
        """Give a certificate its time; False if a request to stop leaves too little for the estimated duration."""
        interrupted = self.token.requested
        if interrupted and estimate > ANSWER / 2:
            return False
        overtime = OVERTIME * max(0.1 * self._limit, 0.5)
        self.token.heed_requests(not interrupted)
        self.token.set_seconds_left(ANSWER if interrupted else max(self.seconds_left(), 0.0) + overtime)
        return True

    def grant_answer(self, forever: bool) -> None:
        """Ignore requests to stop while the final answer is computed: for a moment, or as long as it takes."""
        self.token.heed_requests(False)
        self.token.set_seconds_left(math.inf if forever else ANSWER)
