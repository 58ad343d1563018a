"""Checks of numeric parameters: a ``ValueError`` names the parameter, its value and the allowed range."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TypeGuard


def check_number(name: str, value: object, allows: Callable[[float], bool], allowed: str) -> None:
    """``ValueError`` unless the value is a real number that ``allows`` accepts; ``allowed`` describes the range."""
    if not (is_number(value) and allows(value)):
        raise ValueError(f"{name}={value!r} must be {allowed}")


def check_integer(name: str, value: object, allows: Callable[[float], bool], allowed: str) -> None:
    """The same for integers; floats such as 3.0 are accepted."""
    check_number(name, value, lambda number: float(number).is_integer() and allows(number), allowed)


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number (NaN and infinity included) that a float can hold."""
    try:
        return isinstance(value, Real) and isinstance(float(value), float)
    except OverflowError:
        return False
