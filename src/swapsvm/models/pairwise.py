"""One decision function for each pair of classes, in LIBSVM's layout.

Support vectors are ordered by class. Row r of ``coef`` holds, for a vector of class c, its coefficient against the r-th
of the other classes in their order. A pair (a, b) with a < b has the intercept at its place among all pairs.

This is the only place that knows which class of a pair is positive: the first one of several classes, as in LIBSVM, but
the second one of two, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients
from .by_class import ByClass, vectors_by_class
from .functions import Functions
from .sums import Sums
from .vectors import Vectors
from .votes import has_sure_winner, one_versus_rest

Pair = tuple[int, int]


def sides(pair: Pair, n_classes: int) -> Pair:
    """The positive and the negative class of a pair."""
    return pair if n_classes > 2 else (pair[1], pair[0])


@dataclass(frozen=True, eq=False)
class Pairwise(ByClass):
    """Decision functions of all pairs of classes; ``coef`` has the shape (max(n_classes - 1, 1), vectors).

    Classes without rows of positive weight take part in no vote.
    """

    @staticmethod
    def lines_and_functions(n_classes: int) -> tuple[int, int]:
        return max(n_classes - 1, 1), n_classes * (n_classes - 1) // 2

    @classmethod
    def of(
        cls, X: Matrix, kernel: Kernel, groups: Sequence[np.ndarray], functions: Mapping[Pair, Coefficients]
    ) -> Pairwise:
        """From the training rows of each class and the function of each pair that was solved.

        A function is positive for the first class of ``sides(pair, n_classes)``.
        """
        families = Functions.of({pair: function.alone() for pair, function in functions.items()})
        return cls.of_all(X, kernel, groups, families)[0]

    @classmethod
    def of_all(cls, X: Matrix, kernel: Kernel, groups: Sequence[np.ndarray], functions: Functions) -> list[Pairwise]:
        """The models of the first functions of all pairs, of the second ones and so on, over the same vectors."""
        vectors, counts, place = vectors_by_class(X, kernel, groups, functions.rows)
        at, owner = place[functions.rows], np.repeat(np.arange(len(groups)), counts)
        first, second = functions.name_of_row.T
        coefs, intercepts = cls._zeros(len(functions), len(vectors), len(groups))
        coefs[:, _lines(first, second, owner[at], len(groups)), at] = functions.coef
        intercepts[:, _places_of(len(groups))[0][tuple(functions.names.T)]] = functions.intercept
        present = tuple(c for c, own in enumerate(groups) if len(own))
        return [cls(vectors, counts, *own, present) for own in zip(coefs, intercepts, strict=True)]

    @classmethod
    def _zeros(cls, models: int, vectors: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts of several models."""
        lines, n_pairs = cls.lines_and_functions(n_classes)
        return np.zeros((models, lines, vectors)), np.zeros((models, n_pairs))

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of classes, in the order of the intercepts."""
        return list(combinations(range(self.n_classes), 2))

    @property
    def _places(self) -> np.ndarray:
        """The place of each pair (a, b), and (b, a), among the intercepts."""
        return _places_of(self.n_classes)[0]

    def coefficients(self, pair: Pair) -> np.ndarray:
        """The coefficient of every vector in the function of a pair: 0 for vectors of other classes."""
        owner = self.owner
        found = self.coef[_lines(*pair, owner, self.n_classes), np.arange(len(owner))]
        return np.where((owner == pair[0]) | (owner == pair[1]), found, 0.0)

    def function(self, pair: Pair) -> Coefficients:
        """The function of a pair over rows of the training data."""
        coefficients = self.coefficients(pair)
        used = np.flatnonzero(coefficients)
        intercept = float(self.intercept[self._places[pair]])
        return Coefficients(self.vectors.support[used].astype(np.int64), coefficients[used], intercept)

    def between(self, c: int, d: int) -> tuple[np.ndarray, float]:
        """Coefficients of the vectors of c, and the constant, of the function that is positive for c against d."""
        pair = (min(c, d), max(c, d))
        line = int(_lines(*pair, np.array([c]), self.n_classes)[0])
        sign = 1.0 if sides(pair, self.n_classes)[0] == c else -1.0
        return sign * self.coef[line, self.own(c)], sign * float(self.intercept[self._places[pair]])

    @classmethod
    def from_between(
        cls, vectors: Vectors, counts: Sequence[int], coefs: Sequence[np.ndarray], constants: np.ndarray
    ) -> Pairwise:
        """The inverse of ``between``: ``coefs[c][d]`` and ``constants[c, d]`` for all classes c and d."""
        n_classes = len(counts)
        (coef,), (intercept,) = cls._zeros(1, len(vectors), n_classes)
        model = cls(vectors, np.asarray(counts, dtype=np.int32), coef, intercept, tuple(range(n_classes)))
        for k, pair in enumerate(model.pairs):
            positive, negative = sides(pair, n_classes)
            model.intercept[k] = constants[positive, negative]
            for c, d, sign in ((positive, negative, 1.0), (negative, positive, -1.0)):
                line = int(_lines(*pair, np.array([c]), n_classes)[0])
                model.coef[line, model.own(c)] = sign * coefs[c][d]
        return model

    @cached_property
    def sums(self) -> Sums:
        if self.n_classes == 2:
            return Sums.of_all(self.vectors, self.coef)
        _, others = _places_of(self.n_classes)
        return Sums(self.vectors, np.ascontiguousarray(self.coef), np.cumsum(self.counts, dtype=np.int64), others)

    def are_certain(self, decisions: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Whether the sign, or the winner of the vote, is the same for all values within the bound."""
        if self.n_classes == 2:
            return np.asarray(np.abs(decisions[:, 0]) > bound)  # NaN is doubtful
        return has_sure_winner(decisions, bound, self.n_classes)

    def scores(self, decisions: np.ndarray) -> np.ndarray:
        """One score for each class: its votes, ties broken by summed decision values."""
        return one_versus_rest(decisions, self.n_classes, self.present)

    def winners(self, decisions: np.ndarray) -> np.ndarray:
        """The class of each row."""
        if self.n_classes == 2:
            return (decisions[:, 0] > 0).astype(int)
        return np.argmax(self.scores(decisions), axis=1)

    def largest_sum(self) -> float:
        """The largest sum of absolute coefficients in any pair: two classes, one row of coefficients each."""
        firsts = (np.cumsum(self.counts) - self.counts)[self.counts > 0]
        sums = np.add.reduceat(np.abs(self.coef), firsts, axis=1)
        return float(sums.sum() if self.n_classes == 2 else 2 * sums.max(initial=0.0))

    def linear_coefficients(self) -> np.ndarray:
        """w of every pair, for a linear kernel: sum_i coef_i x_i."""
        rows = self.vectors.rows  # products with sparse rows are dense, but no larger than the result
        if self.n_classes == 2:
            return np.asarray(self.coef @ rows)
        return np.array([self._linear(a, b) + self._linear(b, a) for a, b in self.pairs])

    def _linear(self, c: int, d: int) -> np.ndarray:
        own = self.own(c)
        line = int(_lines(min(c, d), max(c, d), np.array([c]), self.n_classes)[0])
        return np.asarray(self.coef[line, own] @ self.vectors.rows[own])


@lru_cache(maxsize=16)
def _places_of(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The place of each pair of classes among all pairs: as a matrix, and for each class its pairs with the others.

    A search makes hundreds of models of the same classes.
    """
    places = np.zeros((n_classes, n_classes), np.int32)
    places[np.triu_indices(n_classes, 1)] = np.arange(n_classes * (n_classes - 1) // 2)
    places = places + places.T
    others = places[~np.eye(n_classes, dtype=bool)].reshape(n_classes, -1)
    for table in (places, others):
        table.setflags(write=False)
    return places, others


def _lines(first: int | np.ndarray, second: int | np.ndarray, owner: np.ndarray, n_classes: int) -> np.ndarray:
    """The row of ``coef`` of a pair of classes, for vectors of these owners; each of them may have its own pair."""
    return np.where(owner == first, np.subtract(second, 1), first) if n_classes > 2 else np.zeros(len(owner), np.int64)
