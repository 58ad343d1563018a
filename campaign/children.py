"""Functions in child processes, so that a crash of the process is an ordinary outcome."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LATE = "hang"
SANITIZED = "SWAPSVM_CAMPAIGN_SANITIZED"  # set where the core is an instrumented build


@dataclass(frozen=True)
class Ended:
    """How a child ended: ``"returned"``, ``"raised"``, ``"hang"``, ``"SIGSEGV"``, ``"exit 1"`` ...

    ``value`` is the returned value, or the names of the exception's classes and its message.
    """

    status: str
    value: Any = None
    said: str = ""  # the end of what it wrote to stderr
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return self.status in ("returned", "raised")

    def raised(self, *names: str) -> bool:
        """Whether it raised an exception of one of these classes."""
        return self.status == "raised" and bool(set(names) & set(self.value[0]))

    def __str__(self) -> str:
        if self.status == "raised":
            return f"{self.value[0][0]}: {self.value[1]}"
        return f"{self.status} {last_words(self.said)}".strip()


class Child:
    """A forked process that runs a function and sends back its return value or its exception."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._pipe, goal = os.pipe()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed by ``_end``
        self.began, self._parts, self._result = time.monotonic(), [], None
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forks beside threads of the test runner
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            _be(function, goal, self._said.fileno())
        os.close(goal)
        os.set_blocking(self._pipe, False)

    def poll(self, seconds: float = 0.0) -> Ended | None:
        """How it ended, or None if it still runs after this time."""
        if self._result is None and select.select([self._pipe], [], [], seconds)[0]:
            while piece := self._read():
                self._parts.append(piece)
            if piece is not None:
                self._result = self._end()
        return self._result

    def wait(self, seconds: float) -> Ended:
        """How it ended; it is killed after this time."""
        deadline = self.began + seconds
        while (left := deadline - time.monotonic()) > 0:
            if ended := self.poll(left):
                return ended
        return self.stop()

    def stop(self) -> Ended:
        """Kill it."""
        if self._result is None:
            self.send(signal.SIGKILL)
            self._result = Ended(LATE, None, *self._rest())
        return self._result

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _read(self) -> bytes | None:
        """Some bytes; empty at the end; None if nothing is available yet."""
        try:
            return os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return None

    def _end(self) -> Ended:
        rest = self._rest()
        code = os.waitstatus_to_exitcode(self._status)
        if code < 0:
            return Ended(signal.Signals(-code).name, None, *rest)
        try:
            return Ended(*pickle.loads(b"".join(self._parts)), *rest)
        except (EOFError, pickle.UnpicklingError):
            return Ended(f"exit {code}", None, *rest)

    def _rest(self) -> tuple[str, float]:
        _, self._status = os.waitpid(self.pid, 0)
        os.close(self._pipe)
        self._said.seek(0)
        said = self._said.read()[-20_000:].decode("utf-8", "replace")
        self._said.close()
        return said, time.monotonic() - self.began


def _be(function: Callable[[], Any], goal: int, said: int) -> None:
    """Set up the child: detach it from the parent's terminal, signal handlers and buffers."""
    status = 1
    try:
        os.dup2(said, 1), os.dup2(said, 2)
        faulthandler.enable(2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        message = _told(function)
        with open(goal, "wb") as pipe:
            pickle.dump(message, pipe)
        status = 0
    finally:
        os._exit(status)


def _told(function: Callable[[], Any]) -> tuple[str, Any]:
    """What became of the work. Ctrl-C that comes later finds it done, and must not lose the answer."""
    try:
        try:
            return "returned", function()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException as error:
        return "raised", ([cls.__name__ for cls in type(error).__mro__], str(error))


def in_child(function: Callable[[], Any], seconds: float) -> Ended:
    """Run a function in a child process with a time limit."""
    return Child(function).wait(seconds)


def last_words(said: str) -> str:
    """The most informative line of the output of a crash."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in ("ERROR: ", "runtime error", "what():"))]
    fatal = [line for line in lines if line.startswith(("Fatal Python error", "terminate called", "libgomp"))]
    frames = [line for line in lines if "swapsvm" in line]
    return " ".join([*(telling or fatal or lines[-1:])[:1], *frames[:1]])[:300]


def limit_memory(extra: int) -> int:
    """Limit the address space of this process to this many bytes beyond its present size; returns the old limit.

    Sanitizers need terabytes of address space, so they have no limit.
    """
    if os.environ.get(SANITIZED):
        return resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + extra, hard))
    return before
