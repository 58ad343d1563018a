"""One decision function for each pair of classes, in LIBSVM's layout.

Support vectors are ordered by class. Row r of ``coef`` holds, for a vector of class c, its coefficient against the r-th
of the other classes in their order. A pair (a, b) with a < b has the intercept at its place among all pairs.

This is the only place that knows which class of a pair is positive: the first one of several classes, as in LIBSVM, but
the second one of two, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients
from .by_class import ByClass, vectors_by_class
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
        vectors, counts, place = vectors_by_class(X, kernel, groups, functions.values())
        owner, n_classes = np.repeat(np.arange(len(groups)), counts), len(groups)
        lines, n_pairs = cls.lines_and_functions(n_classes)
        coef, intercept = np.zeros((lines, len(vectors))), np.zeros(n_pairs)
        for k, pair in enumerate(combinations(range(n_classes), 2)):
            if pair in functions:
                at = place[functions[pair].rows]
                coef[_lines(pair, owner[at], n_classes), at] = functions[pair].coef
                intercept[k] = functions[pair].intercept
        return cls(vectors, counts, coef, intercept, tuple(c for c, rows in enumerate(groups) if len(rows)))

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of classes, in the order of the intercepts."""
        return list(combinations(range(self.n_classes), 2))

    def coefficients(self, pair: Pair) -> np.ndarray:
        """The coefficient of every vector in the function of a pair: 0 for vectors of other classes."""
        owner = self.owner
        lines = np.arange(len(owner)), _lines(pair, owner, self.n_classes)
        return np.where((owner == pair[0]) | (owner == pair[1]), self.coef[lines[1], lines[0]], 0.0)

    def function(self, pair: Pair) -> Coefficients:
        """The function of a pair over rows of the training data."""
        coefficients = self.coefficients(pair)
        used = np.flatnonzero(coefficients)
        intercept = float(self.intercept[self.pairs.index(pair)])
        return Coefficients(self.vectors.support[used].astype(np.int64), coefficients[used], intercept)

    def between(self, c: int, d: int) -> tuple[np.ndarray, float]:
        """Coefficients of the vectors of c, and the constant, of the function that is positive for c against d."""
        pair = (min(c, d), max(c, d))
        line = int(_lines(pair, np.array([c]), self.n_classes)[0])
        sign = 1.0 if sides(pair, self.n_classes)[0] == c else -1.0
        return sign * self.coef[line, self.own(c)], sign * float(self.intercept[self.pairs.index(pair)])

    @classmethod
    def from_between(
        cls, vectors: Vectors, counts: Sequence[int], coefs: Sequence[np.ndarray], constants: np.ndarray
    ) -> Pairwise:
        """The inverse of ``between``: ``coefs[c][d]`` and ``constants[c, d]`` for all classes c and d."""
        n_classes, n_vectors = len(counts), int(sum(counts))
        lines, n_pairs = cls.lines_and_functions(n_classes)
        model = cls(
            vectors,
            np.asarray(counts, dtype=np.int32),
            np.zeros((lines, n_vectors)),
            np.zeros(n_pairs),
            tuple(range(n_classes)),
        )
        for k, pair in enumerate(model.pairs):
            positive, negative = sides(pair, n_classes)
            model.intercept[k] = constants[positive, negative]
            for c, d, sign in ((positive, negative, 1.0), (negative, positive, -1.0)):
                line = int(_lines(pair, np.array([c]), n_classes)[0])
                model.coef[line, model.own(c)] = sign * coefs[c][d]
        return model

    def decisions(self, X: Matrix, threads: int = 0, single: bool = False) -> np.ndarray:
        """Decision values, shape (rows, pairs); ``single`` computes kernel values in float32."""
        sums = self.vectors.sums(X, single, threads)
        if self.n_classes == 2:
            return sums(slice(None), self.coef.T) + self.intercept
        decisions = np.tile(self.intercept, (X.shape[0], 1))
        places = {pair: k for k, pair in enumerate(self.pairs)}
        for c in range(self.n_classes):
            columns = [places[min(c, d), max(c, d)] for d in range(self.n_classes) if d != c]
            own = self.own(c)
            if self.counts[c]:
                decisions[:, columns] += sums(own, self.coef[:, own].T)
        return decisions

    def are_certain(self, decisions: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Whether the sign, or the winner of the vote, is the same for all values within the bound."""
        if self.n_classes == 2:
            return np.asarray(np.abs(decisions) > bound)[:, 0]  # NaN is doubtful
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
        owner = self.owner
        sums = np.array([np.bincount(owner, row, minlength=self.n_classes) for row in np.abs(self.coef)])
        return float(sums.sum() if self.n_classes == 2 else 2 * sums.max())

    def linear_coefficients(self) -> np.ndarray:
        """w of every pair, for a linear kernel: sum_i coef_i x_i."""
        rows = self.vectors.rows  # products with sparse rows are dense, but no larger than the result
        if self.n_classes == 2:
            return np.asarray(self.coef @ rows)
        return np.array([self._linear(a, b) + self._linear(b, a) for a, b in self.pairs])

    def _linear(self, c: int, d: int) -> np.ndarray:
        own = self.own(c)
        line = int(_lines((min(c, d), max(c, d)), np.array([c]), self.n_classes)[0])
        return np.asarray(self.coef[line, own] @ self.vectors.rows[own])


def _lines(pair: Pair, owner: np.ndarray, n_classes: int) -> np.ndarray:
    """The row of ``coef`` that belongs to a pair, for vectors of these classes."""
    return np.where(owner == pair[0], pair[1] - 1, pair[0]) if n_classes > 2 else np.zeros(len(owner), np.int64)
