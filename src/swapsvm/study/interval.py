"""Bounds of numbers, and answers to questions about them, for the runs as they are and for every resample of seeds.

A run that was cut at its limit took at least that long and says nothing about accuracy or size: a number is an
interval. Every bound is an array: its first entry belongs to the runs as they are, the others to resamples. An answer
is 1 (yes), 0 (no) or 1/2 (unknown), so that "all" is a minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Answers = np.ndarray
NO, UNKNOWN, YES = 0.0, 0.5, 1.0
INFINITE = float("inf")


class Interval(NamedTuple):
    """The bounds that are known for a number."""

    low: np.ndarray
    high: np.ndarray

    def __str__(self) -> str:
        low, high = float(self.low[0]), float(self.high[0])
        if low == high:
            return f"{low:.3g}"
        if high == INFINITE:
            return f"at least {low:.3g}" if low > 0 else "unknown"
        return f"at most {high:.3g}" if low in (0.0, -INFINITE) else f"{low:.3g} to {high:.3g}"

    @property
    def exact(self) -> bool:
        """Whether the number is known for the runs as they are."""
        return bool(self.low[0] == self.high[0])

    def below(self, other: Interval) -> Answers:
        """Whether this number is smaller than the other."""
        return answered(self.high < other.low, self.low >= other.high)

    def at_least(self, other: Interval) -> Answers:
        """Whether this number is not smaller than the other."""
        return 1.0 - self.below(other)

    def within(self, least: float, most: float) -> Answers:
        """Whether this number is from ``least`` to ``most``."""
        return answered((self.low >= least) & (self.high <= most), (self.low > most) | (self.high < least))

    def over(self, other: Interval) -> Interval:
        """The bounds of the quotient of numbers that are not negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = self.low / other.high, self.high / other.low
        return Interval(np.nan_to_num(low, nan=0.0, posinf=INFINITE), np.where(np.isnan(high), INFINITE, high))

    def times(self, factor: float) -> Interval:
        """The bounds of a positive multiple."""
        return Interval(factor * self.low, factor * self.high)

    def short_of(self, whole: float) -> Interval:
        """The bounds of ``whole`` minus the number."""
        return Interval(whole - self.high, whole - self.low)

    @staticmethod
    def of(summary: Callable[..., np.ndarray], intervals: Sequence[Interval]) -> Interval:
        """The bounds of the median, smallest or largest of several numbers."""
        return Interval(
            summary([i.low for i in intervals], axis=0),
            summary([i.high for i in intervals], axis=0),
        )


def answered(yes: np.ndarray, no: np.ndarray) -> Answers:
    """Answers from what is surely so and surely not so."""
    return np.where(yes, YES, np.where(no, NO, UNKNOWN))


def all_of(answers: Sequence[Answers]) -> Answers:
    """No if any answer is no; otherwise unknown if any is unknown."""
    return np.min(answers, axis=0)


def more_than(share: float, answers: Sequence[Answers]) -> Answers:
    """Whether the answer is yes in more than this share of the cases, or in all for a share of 1."""
    table = np.asarray(answers)
    sure, possible = (table == YES).sum(axis=0), (table != NO).sum(axis=0)
    if share >= 1:
        return answered(sure == len(table), possible < len(table))
    return answered(sure > share * len(table), possible <= share * len(table))
