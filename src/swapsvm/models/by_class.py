"""What models of several classes share: support vectors in the order of their classes, and certain decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel, Rbf
from .part import Part
from .sums import Sums
from .vectors import Vectors

FEW_VALUES = 1 << 16  # kernel values that are computed in double at once: bounds for single precision would take longer


@dataclass(frozen=True, eq=False)
class Decisions(Part, ABC):
    """Decision functions over one set of support vectors."""

    vectors: Vectors

    @abstractmethod
    def decisions(self, X: Matrix, threads: int = 0, single: bool = False) -> np.ndarray:
        """Decision values, functions last; ``single`` computes kernel values in float32."""

    @abstractmethod
    def are_certain(self, decisions: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Whether the class of each row stays the same if its decision values change by at most its bound."""

    @abstractmethod
    def largest_sum(self) -> float:
        """The largest sum of absolute coefficients of any function, or a bound on it."""

    def certain_decisions(self, X: Matrix, threads: int = 0) -> np.ndarray:
        """Decision values that lead to the same class as those of double precision, but faster.

        Kernel values are computed in single precision, with a bound on the rounding of their sum. Rows whose class
        could depend on it are computed again in double.
        """
        in_double = X.dtype == self.vectors.rows.dtype == np.float64
        few = X.shape[0] * len(self.vectors) <= FEW_VALUES
        if few or not in_double or not isinstance(self.vectors.kernel, Rbf):
            return self.decisions(X, threads)
        decisions = self.decisions(X, threads, single=True)
        doubtful = ~self.are_certain(decisions, self.vectors.rounding(X, self.largest_sum()))
        if doubtful.any():
            decisions[doubtful] = self.decisions(X[np.flatnonzero(doubtful)], threads)
        return decisions


@dataclass(frozen=True, eq=False)
class ByClass(Decisions):
    """A model of several classes.

    ``counts`` holds the number of vectors per class, ``coef`` has one column per vector, and ``present`` lists the
    classes that had rows of positive weight: the others are never predicted.
    """

    counts: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    present: tuple[int, ...]

    @staticmethod
    @abstractmethod
    def lines_and_functions(n_classes: int) -> tuple[int, int]:
        """The number of rows of ``coef``, and of intercepts."""

    @property
    @abstractmethod
    def sums(self) -> Sums:
        """What decision values are made of."""

    def decisions(self, X: Matrix, threads: int = 0, single: bool = False) -> np.ndarray:
        """Decision values, shape (rows, functions); ``single`` computes kernel values in float32."""
        return self.decided(self.sums.of(X, single, threads))

    def decided(self, sums: np.ndarray) -> np.ndarray:
        """Decision values from their sums, which they replace."""
        sums += self.intercept
        return sums

    @abstractmethod
    def scores(self, decisions: np.ndarray) -> np.ndarray:
        """One score for each class."""

    @abstractmethod
    def winners(self, decisions: np.ndarray) -> np.ndarray:
        """The class of each row."""

    @abstractmethod
    def linear_coefficients(self) -> np.ndarray:
        """w of every function, for a linear kernel: sum_i coef_i x_i."""

    @property
    def n_classes(self) -> int:
        return len(self.counts)

    @property
    def owner(self) -> np.ndarray:
        """The class of each vector."""
        return np.repeat(np.arange(self.n_classes), self.counts)

    def own(self, c: int) -> slice:
        """The vectors of a class."""
        end = int(self.counts[: c + 1].sum())
        return slice(end - int(self.counts[c]), end)


def vectors_by_class(
    X: Matrix, kernel: Kernel, groups: Sequence[np.ndarray], used_rows: np.ndarray
) -> tuple[Vectors, np.ndarray, np.ndarray]:
    """The used rows in the order of their classes; how many of each; the place of every row of the data."""
    used = np.zeros(X.shape[0], dtype=bool)
    used[used_rows] = True
    by_class = [rows[used[rows]] for rows in groups]
    vectors = Vectors.of(X, kernel, np.concatenate(by_class))
    place = np.full(X.shape[0], -1)
    place[vectors.support] = np.arange(len(vectors))
    return vectors, np.array([len(rows) for rows in by_class], dtype=np.int32), place
