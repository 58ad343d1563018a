"""Parameters and numbers as JSON values and back, without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from ..container import Json, as_list, as_mapping
from ..state import Sampling


class UnwritableError(TypeError):
    """The value is not a number, text, or a list or mapping of these."""


def encoded(value: object) -> Json:
    """Plain values as they are; what JSON lacks as an object whose one key names the kind."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {"table": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, Sampling):
        return {"sampling": asdict(value)}
    raise UnwritableError(f"{value!r} has no form in a file")


def decoded(value: Json) -> object:
    """The value that ``encoded`` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(str(content))
    if kind == "table":
        return {decoded(key): decoded(item) for key, item in map(as_list, as_list(content))}
    if kind == "sampling":
        return Sampling(**as_mapping(content))  # type: ignore[arg-type]  # its constructor checks the fields
    raise ValueError(f"a value of unknown kind {kind!r}")
