"""Parameters and numbers as values that JSON has, and back, without loss."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ..state import Sampling


class UnwritableError(TypeError):
    """A value that is no number, text, list or table of such."""


def encoded(value: Any) -> Any:
    """Plain values as they are; what JSON lacks as an object with one key that names it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        return {"table": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, Sampling):
        return {"sampling": asdict(value)}
    raise UnwritableError(f"{value!r} has no form in a file")


def decoded(value: Any) -> Any:
    """What ``encoded`` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "table":
        return {decoded(key): decoded(item) for key, item in content}
    if kind == "sampling":
        return Sampling(**content)
    raise ValueError(f"a value of unknown kind {kind!r}")
