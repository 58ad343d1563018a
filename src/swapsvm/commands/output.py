"""What commands print: results on stdout, progress and warnings on stderr."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from ..container import Json
from ..fitting.progress import SECONDS_PER_LINE
from ..result import CONTINUE

Facts = dict[str, object]  # a result by name: what --json prints


def answer(arguments: argparse.Namespace, facts: Mapping[str, object], text: str) -> None:
    """Print the facts as JSON if ``--json`` was given, else the text."""
    sys.stdout.write(json.dumps(to_json(facts), allow_nan=False) + "\n" if arguments.json else text)


def to_json(value: object) -> Json:
    """Convert mappings, sequences, arrays and numbers to JSON values; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    raise TypeError(f"{value!r} has no JSON form")


def say(text: str) -> None:
    """Print a line of progress if stderr is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def note(text: str) -> None:
    """Print a line on stderr that scripts should see as well, such as a choice that was made."""
    sys.stderr.write(f"swapsvm: note: {text}\n")


def warn(text: str) -> None:
    """Print a warning on stderr."""
    sys.stderr.write(f"swapsvm: warning: {text}\n")


class ProgressLine:
    """A line on stderr, redrawn ten times a second and ended on exit; without a terminal a line every few seconds."""

    def __init__(self) -> None:
        self._redraws = sys.stderr.isatty()
        self._shown, self._latest = "", ""
        self._next = 0.0 if self._redraws else time.monotonic() + SECONDS_PER_LINE

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._latest != self._shown:
            self._draw(self._latest)  # the last line tells where it ended
        if self._shown and self._redraws:
            sys.stderr.write("\n")

    def show(self, text: str) -> None:
        """Redraw the line, or write the next one, if it is time."""
        self._latest = text
        if time.monotonic() >= self._next:
            self._draw(text)
            self._next = time.monotonic() + (0.1 if self._redraws else SECONDS_PER_LINE)

    def _draw(self, text: str) -> None:
        sys.stderr.write(f"\r{text.ljust(len(self._shown))}" if self._redraws else f"swapsvm: {text}\n")
        sys.stderr.flush()
        self._shown = text


@contextmanager
def warnings_in_lines(to_continue: str = CONTINUE) -> Iterator[None]:
    """Print each distinct user warning as one line on stderr at the end; ignore those meant for programmers.

    ``to_continue`` takes the place of the advice to those who program how to continue a fit.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        yield
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        warn(message.replace(CONTINUE, to_continue))
