"""Ctrl-C while the command is imported, which takes a second or more."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Listening:
    """Raise ``KeyboardInterrupt`` at the end if Ctrl-C was pressed inside, even if somebody swallowed it.

    Libraries try optional modules and ignore whatever happens, the interruption included. A handler of the program's
    own stays.
    """

    def __init__(self) -> None:
        self._heard, self._installed = False, False

    def __enter__(self) -> None:
        own = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        self._installed = not own and threading.current_thread() is threading.main_thread()
        if self._installed:
            signal.signal(signal.SIGINT, self._hear)

    def __exit__(self, *error: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._heard:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True
        signal.default_int_handler(number, frame)
