"""Kinds of fitted attributes, such as "a finite number": what a value must be, whatever the other attributes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..container import require
from ..datasets.csr_files import are_integers
from ..kernels import Kernel
from ..models import ByClass, Center, Expansion, Outputs, Vectors

LONGEST = 60  # characters of a value in an error message


@dataclass(frozen=True)
class Kind:
    """What a value must be, in words and as a test that takes any object."""

    words: str
    holds: Callable[[object], bool]

    def check(self, name: str, value: object) -> None:
        """``ValueError`` unless the value is of this kind."""
        shown = repr(value)
        shown = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
        require(self.holds(value), f"its {name}={shown} is not {self.words}")


def either(one: Kind, other: Kind) -> Kind:
    """One kind or the other."""
    return Kind(f"{one.words} or {other.words}", lambda value: one.holds(value) or other.holds(value))


def is_size(value: object) -> bool:
    """Whether this is a number of rows, columns or classes."""
    return type(value) is int and 0 <= value < 2**31


def is_finite(values: np.ndarray) -> bool:
    """Whether no number is NaN or infinite."""
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())


def are_numbers(values: object, ndim: int = 1) -> bool:
    """Whether this is an array of finite numbers in double precision."""
    return isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == ndim and is_finite(values)


def _are_labels(values: object) -> bool:
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biufUO":
        return False
    plain = values.dtype != object or all(isinstance(value, bool | int | float | str) for value in values)
    return plain and is_finite(values) and len(np.unique(values)) == len(values)


def _are_texts(values: object) -> bool:
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype != object:
        return False
    return all(isinstance(value, str) for value in values)


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < 2**63)


def _is_expansion(value: object) -> bool:
    if not isinstance(value, Expansion) or not is_vectors(value.vectors):
        return False
    numbers = are_numbers(value.coef) and len(value.coef) == len(value.vectors)
    return numbers and isinstance(value.intercept, float) and bool(np.isfinite(value.intercept))


def _is_outputs(value: object) -> bool:
    if not isinstance(value, Outputs) or not is_vectors(value.vectors) or not are_numbers(value.coef, 2):
        return False
    return are_numbers(value.intercept) and value.coef.shape == (len(value.intercept), len(value.vectors))


def _is_center(value: object) -> bool:
    if not isinstance(value, Center) or not _is_expansion(value):
        return False
    lengths = [value.squared_norm] + ([] if value.length is None else [value.length])
    return all(isinstance(length, float) and bool(np.isfinite(length)) for length in lengths)


def is_vectors(value: object) -> bool:
    """Whether these are rows, their places, and a kernel; that they fit together is another question."""
    if not isinstance(value, Vectors) or not isinstance(value.kernel, Kernel):
        return False
    support, rows = value.support, value.rows
    listed = isinstance(support, np.ndarray) and support.ndim == 1 and are_integers(support)
    return listed and rows.ndim == 2 and rows.dtype in (np.float32, np.float64)


NUMBER = Kind("a number", lambda value: isinstance(value, float) and value == value)
FINITE = Kind("a finite number", lambda value: isinstance(value, float) and bool(np.isfinite(value)))
BOUND = Kind("a number, or nan", lambda value: isinstance(value, float))
COUNT = Kind("a count", _is_count)
SIZE = Kind("a positive integer below 2**31", lambda value: is_size(value) and value != 0)
SHAPE = Kind("two sizes", lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(is_size, value)))
STATUS = Kind("0 or 1", lambda value: type(value) is int and value in (0, 1))
TEXT = Kind("text", lambda value: isinstance(value, str))
TEXTS = Kind("a list of texts", _are_texts)
LABELS = Kind("a list of distinct labels that are numbers, booleans or text", _are_labels)
NUMBERS = Kind("a list of finite numbers", are_numbers)
BOUNDS = Kind(
    "a list of numbers",
    lambda value: isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1,
)
COUNTS = Kind(
    "a list of integers", lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and are_integers(value)
)
BY_CLASS = Kind("a model of classes", lambda value: isinstance(value, ByClass) and is_vectors(value.vectors))
EXPANSION = Kind("a sum over support vectors", lambda value: type(value) is Expansion and _is_expansion(value))
OUTPUTS = Kind("sums over support vectors", _is_outputs)
CENTER = Kind("a center of support vectors", _is_center)
TABLE = Kind("a table", lambda value: isinstance(value, dict))
