"""One decision function for each class against all others; the largest decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients
from .by_class import ByClass, vectors_by_class
from .functions import Functions
from .sums import Sums


@dataclass(frozen=True, eq=False)
class AgainstRest(ByClass):
    """Decision functions of more than two classes, each positive for its own class.

    ``coef`` has the shape (n_classes, vectors), in the order of the classes; so have the intercepts.
    """

    @staticmethod
    def lines_and_functions(n_classes: int) -> tuple[int, int]:
        return n_classes, n_classes

    @classmethod
    def of(
        cls, X: Matrix, kernel: Kernel, groups: Sequence[np.ndarray], functions: Mapping[int, Coefficients]
    ) -> AgainstRest:
        """From the training rows of each class and the function of each class that had any."""
        families = Functions.of({(c,): function.alone() for c, function in functions.items()})
        return cls.of_all(X, kernel, groups, families)[0]

    @classmethod
    def of_all(cls, X: Matrix, kernel: Kernel, groups: Sequence[np.ndarray], functions: Functions) -> list[AgainstRest]:
        """The models of the first functions of all classes, of the second ones and so on, over the same vectors."""
        vectors, counts, place = vectors_by_class(X, kernel, groups, functions.rows)
        coefs = np.zeros((len(functions), len(groups), len(vectors)))
        intercepts = np.zeros((len(functions), len(groups)))
        coefs[:, functions.name_of_row[:, 0], place[functions.rows]] = functions.coef
        intercepts[:, functions.names[:, 0]] = functions.intercept
        present = tuple(c for c, rows in enumerate(groups) if len(rows))
        return [cls(vectors, counts, *own, present) for own in zip(coefs, intercepts, strict=True)]

    def decided(self, sums: np.ndarray) -> np.ndarray:
        """Decision values from their sums, which they replace; -inf for classes without training rows."""
        decisions = super().decided(sums)
        decisions[:, [c for c in range(self.n_classes) if c not in self.present]] = -np.inf
        return decisions

    @cached_property
    def sums(self) -> Sums:
        return Sums.of_all(self.vectors, self.coef)

    def are_certain(self, decisions: np.ndarray, bound: np.ndarray) -> np.ndarray:
        second, first = np.partition(decisions, -2, axis=1)[:, -2:].T
        return np.asarray(first - second > 2 * bound)  # NaN is doubtful

    def largest_sum(self) -> float:
        return float(np.abs(self.coef).sum(axis=1).max())

    def scores(self, decisions: np.ndarray) -> np.ndarray:
        """The decision values themselves."""
        return decisions

    def winners(self, decisions: np.ndarray) -> np.ndarray:
        """The class of the largest decision value."""
        return np.argmax(decisions, axis=1)

    def linear_coefficients(self) -> np.ndarray:
        return np.asarray(self.coef @ self.vectors.rows)
