"""What states in NumPy share: weights, a gradient, and a watch for progress."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..rays import Correction, Move
from ._base import State

WINDOW = 256  # moves after which a state sees whether it still gets on; the core has the same number


class GradientState(State):
    """What follows from weights and a gradient in NumPy; ``_evaluate`` brings the gradient up to date."""

    gradient: np.ndarray
    _moves: int
    _best_value: float
    _best_gap: float
    _window_gap: float

    @abstractmethod
    def _evaluate(self) -> None:
        """Gradient, value, gap and its floor at the present weights."""

    @property
    def support(self) -> np.ndarray:  # type: ignore[override]
        return np.flatnonzero(self.weights)

    def toward(self) -> int:
        return int(np.argmax(self.gradient))

    def away(self) -> int:
        support = self.support
        return int(support[np.argmin(self.gradient[support])])

    def swap_slope(self, i: int, j: int) -> float:
        return float(self.gradient[i] - self.gradient[j])

    def move(self, move: Move | Correction) -> None:
        self.weights = self.weights * move.scale
        if isinstance(move, Correction):
            self.weights[move.variables] = move.weights
            self._evaluate()
        else:
            if move.add:
                self.weights[move.i] += move.add
            if move.sub:
                self.weights[move.j] = 0.0 if move.drop else max(self.weights[move.j] - move.sub, 0.0)
            self._follow(move)
        self._watch()

    def _follow(self, move: Move) -> None:
        """Value and gradient after a move: from scratch, since nothing more is known of g."""
        self._evaluate()

    def _watch(self) -> None:
        """As the core does: see whether a window of moves still raised the value or lowered the gap."""
        self._moves += 1
        self._window_gap = min(self._window_gap, self.gap)
        if self._moves < WINDOW + 2 * self.support_size:
            return
        self.exhausted = self.value <= self._best_value and self._window_gap >= self._best_gap
        self._best_value, self._best_gap = max(self._best_value, self.value), min(self._best_gap, self._window_gap)
        self._moves, self._window_gap = 0, np.inf

    def _forget_progress(self) -> None:
        self.exhausted, self._moves = False, 0
        self._best_value, self._best_gap, self._window_gap = -np.inf, np.inf, np.inf

    def set_weights(self, variables: np.ndarray, weights: np.ndarray) -> None:
        self.weights = np.zeros(self.size)
        self.weights[variables] = weights
        self.certify()

    def certify(self) -> None:
        self.weights = self.weights / self.weights.sum()
        self._evaluate()
        self._forget_progress()

    def snapshot(self) -> dict[str, np.ndarray]:
        watched = [self._moves, self.exhausted, self._best_value, self._best_gap, self._window_gap]
        return {"weights": self.weights.copy(), "watched": np.array(watched, dtype=np.float64)}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.weights = snapshot["weights"].copy()
        self._evaluate()
        moves, exhausted, self._best_value, self._best_gap, self._window_gap = snapshot["watched"].tolist()
        self._moves, self.exhausted = int(moves), bool(exhausted)

    def violators(self, count: int) -> np.ndarray:
        found = np.flatnonzero((self.weights == 0) & (self.gradient > self.weights @ self.gradient))
        return found[np.argsort(-self.gradient[found], kind="stable")[:count]]
