"""What the parameters of estimators are allowed to be, as scikit-learn's constraints.

They are lists of alternatives: types, ``None``, ``callable``, words such as ``"boolean"``, and those made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, Options, StrOptions

from ..parameters import is_number

Constraints = Sequence[Any]  # types, words and objects of scikit-learn


class Numbers(Interval):
    """The numbers of an interval that a float can hold: 10**400 is an ``Integral`` in [0, inf) as well."""

    def is_satisfied_by(self, val: object) -> bool:
        """Whether this is one of them."""
        return isinstance(val, self.type) and is_number(val) and float(val) in self


POSITIVE = Numbers(Real, 0, None, closed="neither")
POSITIVE_OR_INF = Numbers(Real, 0, None, closed="right")
NOT_NEGATIVE = Numbers(Real, 0, None, closed="left")
FINITE = Numbers(Real, None, None, closed="neither")
COUNT = Numbers(Integral, 1, None, closed="left")
MINUS_ONE = Options(Integral, {-1})
TRUE_OR_FALSE = "boolean"


def at_most(limit: float) -> Numbers:
    """Positive numbers up to a limit."""
    return Numbers(Real, 0, limit, closed="right")


def count_up_to(limit: int) -> Numbers:
    """Positive integers up to a limit."""
    return Numbers(Integral, 1, limit, closed="both")


def one_of(*names: str) -> StrOptions:
    """These words, in this order."""
    return key_of(dict.fromkeys(names))


def key_of(registry: Mapping[str, object]) -> StrOptions:
    """The names of a registry, those that are added later included."""
    return StrOptions(registry.keys())
