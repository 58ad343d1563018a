"""What a linear kernel adds to a state: K = Z Z' with the rows themselves, and the bias, as features Z."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._core import FullState32, FullState64
from ..problems import Quadratic
from .landmarks import VariableFeatures

Core = FullState32 | FullState64
MOST_FACTORED = 2048  # columns


class LinearFeatures(VariableFeatures):
    """The rows and the bias as features, which leave out nothing: r = 0."""

    def __init__(self, core: Core, problem: Quadratic) -> None:
        super().__init__(problem, problem.gram.core.linear_columns + 1)
        self.wide = self.count > MOST_FACTORED
        self._linear = _core.linear_features(core, self.rows, float(problem.bias))
        self._open(self._linear)

    def squares(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self._linear.squares(self._of_rows(w, 1.0)))


class Descent:
    """Dual coordinate steps (core/descent.hpp) for target'b - b'Qb / 2 over b >= 0."""

    def __init__(self, core: Core, problem: Quadratic, target: np.ndarray, ridge: np.ndarray) -> None:
        own = problem.signs != 0  # the slack vertex stands for no b
        rows, signs, bias = problem.rows[own].astype(np.int32), problem.signs[own], float(problem.bias)
        self._state, self._own = core, np.flatnonzero(own)
        self._core = _core.dual_descent(core, rows, signs, ridge[own], target[own], bias)

    def descend(self, weights: np.ndarray, accuracy: float, epochs: int) -> tuple[np.ndarray, np.ndarray]:
        """New weights and K times them, after at most this many epochs; a gap of ``accuracy``, relative, ends it."""
        new, products = np.zeros_like(weights), np.zeros_like(weights)
        found = self._core.descend(self._state, weights[self._own], accuracy, epochs)
        new[self._own], products[self._own] = found
        return new, products
