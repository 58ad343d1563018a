"""Several models over the same support vectors, whose kernel values are computed once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Matrix
from .by_class import ByClass, Decisions
from .sums import Sums

BLOCK_VALUES = 1 << 21  # decision values held at a time


@dataclass(frozen=True, eq=False)
class Together(Decisions):
    """Models of the same classes and vectors, such as those along C."""

    models: Sequence[ByClass]

    @classmethod
    def of(cls, models: Sequence[ByClass]) -> Together:
        """Models with the same ``vectors``."""
        return cls(models[0].vectors, models)

    def winners(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """The class of each row by each model, shape (models, rows)."""
        step = max(BLOCK_VALUES // (len(self.models) * self._functions), 1)
        blocks = [self._winners(X[first : first + step], threads) for first in range(0, X.shape[0], step)]
        found = np.concatenate(blocks) if blocks else np.empty((0, len(self.models)), dtype=int)
        return np.ascontiguousarray(found.T)

    def _winners(self, X: Matrix, threads: int) -> np.ndarray:
        decisions = self.certain_decisions(X, threads)
        return self.models[0].winners(self._lines(decisions)).reshape(decisions.shape[:2])

    def decisions(self, X: Matrix, threads: int = 0, single: bool = False) -> np.ndarray:
        """Decision values, shape (rows, models, functions)."""
        decisions = self._sums.of(X, single, threads).reshape(X.shape[0], len(self.models), -1)
        for number, model in enumerate(self.models):
            model.decided(decisions[:, number])
        return decisions

    def are_certain(self, decisions: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Whether all models are certain."""
        certain = self.models[0].are_certain(self._lines(decisions), np.repeat(bound, len(self.models)))
        return np.asarray(certain.reshape(decisions.shape[:2]).all(axis=1))

    def largest_sum(self) -> float:
        return max(model.largest_sum() for model in self.models)

    @cached_property
    def _sums(self) -> Sums:
        return self.models[0].sums.with_others([model.coef for model in self.models])

    @property
    def _functions(self) -> int:
        return len(self.models[0].intercept)

    def _lines(self, decisions: np.ndarray) -> np.ndarray:
        """One line for each row and model, as a single model has one for each row."""
        return decisions.reshape(-1, self._functions)
