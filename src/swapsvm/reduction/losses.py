"""What rows cost a decision function f: 1/2 sum_i c_i excess_i^2, excess_i the part of what f lacks that is not free.

a pair of classes:  excess_i = y_i max(0, 1 - y_i f_i)
a regression:       excess_i = sign(y_i - f_i) max(0, |y_i - f_i| - epsilon),   c_i by the sign of it (expectiles)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Loss(ABC):
    """The rows that count; ``fixed`` is a part of the objective that no function changes."""

    rows: np.ndarray

    @property
    def fixed(self) -> float:
        """0, unless a problem has such a part."""
        return 0.0

    @abstractmethod
    def excess(self, decisions: np.ndarray) -> np.ndarray:
        """Of each row, with the sign in which its decision value should change."""

    @abstractmethod
    def costs(self, excess: np.ndarray) -> np.ndarray:
        """c of each row."""

    def value(self, decisions: np.ndarray) -> float:
        """sum_i c_i excess_i^2."""
        excess = self.excess(decisions)
        return float(self.costs(excess) @ excess**2)


@dataclass(frozen=True, eq=False)
class PairLoss(Loss):
    """A pair of classes: y and c of each row."""

    signs: np.ndarray
    weights: np.ndarray

    def excess(self, decisions: np.ndarray) -> np.ndarray:
        """y_i max(0, 1 - y_i decision_i)."""
        return self.signs * np.maximum(0.0, 1.0 - self.signs * decisions)

    def costs(self, excess: np.ndarray) -> np.ndarray:
        """The same on both sides."""
        return self.weights


@dataclass(frozen=True, eq=False)
class TubeLoss(Loss):
    """A regression: targets, half the width of the tube, and c of targets above and below the prediction.

    ``price`` is that of a unit of a learned width, infinite if the width is given.
    """

    targets: np.ndarray
    epsilon: float
    above: np.ndarray
    below: np.ndarray
    price: float = np.inf

    @property
    def learned(self) -> bool:
        """Whether the width is a variable of the problem."""
        return self.price < np.inf

    @property
    def fixed(self) -> float:
        """What the learned tube costs."""
        return self.price * self.epsilon if self.learned else 0.0

    def excess(self, decisions: np.ndarray) -> np.ndarray:
        """What is left of each target outside the tube."""
        left = self.targets - decisions
        return np.sign(left) * np.maximum(0.0, np.abs(left) - self.epsilon)

    def costs(self, excess: np.ndarray) -> np.ndarray:
        """By side."""
        return np.where(excess > 0, self.above, self.below)
