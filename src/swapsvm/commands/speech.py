"""What the commands say: answers on stdout, progress and warnings on stderr."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of an answer for programs."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout instead of text")


def answer(arguments: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    """Print the facts, as JSON if that was asked for, else as the text."""
    sys.stdout.write(json.dumps(plain(facts), allow_nan=False) + "\n" if arguments.json else text)


def plain(value: Any) -> Any:
    """The value as JSON has it; what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say(text: str) -> None:
    """A line of progress, for those who watch a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def warnings_in_lines() -> Iterator[None]:
    """Each different warning for users as one line on stderr, at the end; those for programmers are left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        yield
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        sys.stderr.write(f"swapsvm: warning: {message}\n")
