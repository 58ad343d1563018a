"""What Ctrl-C does to a fit."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self

from .._core import StopToken
from ..stopping import Progress

CHOICES = ("raise", "keep")


class Interrupts:
    """A stop rule that ends runs at the first Ctrl-C, while it is entered and the choice is "keep".

    The second Ctrl-C raises ``KeyboardInterrupt``. Outside of the main thread, which alone receives signals, and where
    the program has installed a handler of its own, nothing is changed.
    """

    def __init__(self, choice: str, token: StopToken | None = None) -> None:
        if choice not in CHOICES:
            raise ValueError(f"on_interrupt={choice!r} must be 'raise' or 'keep'")
        self._token = token or StopToken()
        self._keep, self._heard, self._installed = choice == "keep", False, False

    def __enter__(self) -> Self:
        if self._keep and threading.current_thread() is threading.main_thread():
            self._installed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._installed:
            signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._heard:
            signal.default_int_handler(number, frame)
        self._heard = True
        self._token.request()  # computations of this fit, also in its other threads, end with what they have

    def __call__(self, progress: Progress) -> str | None:
        """The reason to end."""
        return "interrupted" if self._heard else None
