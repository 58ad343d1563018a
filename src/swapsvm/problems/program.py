"""A quadratic of a few hundred variables as a dense program: min x'Qx / 2 - p'x over x >= 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 4 * EPSILON


@dataclass(frozen=True)
class Candidate:
    """A feasible x, its gap and value, and whether its signs are those of a solution up to rounding."""

    x: np.ndarray
    gap: float
    value: float
    solved: bool = False


@dataclass(frozen=True)
class Program:
    """min x'Qx / 2 - p'x over x >= 0. The sum of x is 1, with a slack vertex at most 1, or, if it ``grows``, any."""

    Q: np.ndarray
    p: np.ndarray
    ridge: np.ndarray
    slack: int = -1
    grows: bool = False

    def candidate(self, x: np.ndarray, solved: bool = False) -> Candidate:
        """The feasible point that x is but for signs that are rounding, or a failure."""
        x = np.maximum(x, 0.0)
        if not self.grows:
            x /= x.sum()
        score = self.Q @ x - self.p
        return Candidate(x, self._gap(x, score), float(self.p @ x - x @ score), solved)

    def _gap(self, x: np.ndarray, score: np.ndarray) -> float:
        if not self.grows:
            return float(2 * (x @ score - score.min()))
        own = np.arange(len(x)) != self.slack  # which has no ridge
        x, score, ridge = x[own], score[own], self.ridge[own]
        excess = np.where(score < ridge * x, score**2 / ridge, x * (2 * score - ridge * x))  # as in core/move.hpp
        return float(excess.sum())

    @cached_property
    def _lengths(self) -> np.ndarray:
        return np.sqrt(np.maximum(np.diagonal(self.Q), 0.0))

    def size(self, x: np.ndarray) -> np.ndarray:
        """A bound of |Q||x| + |p|, what scores are sums of: |Q_ij| <= sqrt(Q_ii Q_jj)."""
        return self._lengths * (self._lengths @ np.abs(x)) + np.abs(self.p)

    def rounding(self, x: np.ndarray) -> float:
        """Of the value."""
        return ROUNDING * float(x @ self.size(x))
