"""How several classes become problems with two sides, and the functions of these a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..arrays import Matrix
from ..kernels import Kernel
from ..problems import Coefficients, Family
from .against_rest import AgainstRest
from .by_class import ByClass
from .functions import Functions, Name
from .pairwise import Pair, Pairwise, sides

Rows = Sequence[np.ndarray]  # the training rows of each class


class Scheme(ABC):
    """The problems of several classes. The function of a problem is positive on the first of its sides."""

    model_type: type[ByClass]

    @abstractmethod
    def sides(self, present: Sequence[int], n_classes: int) -> dict[Name, tuple[Name, Name]]:
        """The positive and the negative classes of each problem, if these classes have rows."""

    @abstractmethod
    def of_all(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Functions) -> Sequence[ByClass]:
        """The models of the first functions of all problems, of the second ones and so on, over the same vectors."""

    def models(self, X: Matrix, kernel: Kernel, groups: Rows, families: Mapping[Name, Family]) -> Sequence[ByClass]:
        """The same of a family for each problem."""
        return self.of_all(X, kernel, groups, Functions.of(families))

    def model(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Mapping[Name, Coefficients]) -> ByClass:
        """The model that the functions of all problems make."""
        return self.models(X, kernel, groups, {name: function.alone() for name, function in functions.items()})[0]

    @abstractmethod
    def part(
        self, X: Matrix, kernel: Kernel, groups: Rows, name: Name, function: Coefficients
    ) -> tuple[ByClass, list[int]]:
        """The model of one problem alone, and its classes."""


class OneVersusOne(Scheme):
    """Each pair of classes."""

    model_type = Pairwise

    def sides(self, present: Sequence[int], n_classes: int) -> dict[Name, tuple[Name, Name]]:
        split = {pair: sides(pair, n_classes) for pair in combinations(present, 2)}
        return {pair: ((positive,), (negative,)) for pair, (positive, negative) in split.items()}

    def of_all(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Functions) -> list[Pairwise]:
        return Pairwise.of_all(X, kernel, groups, functions)

    def part(
        self, X: Matrix, kernel: Kernel, groups: Rows, name: Name, function: Coefficients
    ) -> tuple[ByClass, list[int]]:
        """The two classes; of two, the second one is positive."""
        if sides(_pair(name), len(groups)) != sides(_pair(name), 2):
            function = _turned(function)
        return Pairwise.of(X, kernel, [groups[c] for c in name], {(0, 1): function}), list(name)


class OneVersusRest(Scheme):
    """Each class against all others, of more than two."""

    model_type = AgainstRest

    def sides(self, present: Sequence[int], n_classes: int) -> dict[Name, tuple[Name, Name]]:
        return {(c,): ((c,), tuple(other for other in present if other != c)) for c in present}

    def of_all(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Functions) -> list[AgainstRest]:
        return AgainstRest.of_all(X, kernel, groups, functions)

    def part(
        self, X: Matrix, kernel: Kernel, groups: Rows, name: Name, function: Coefficients
    ) -> tuple[ByClass, list[int]]:
        """All classes, the others with the opposite function."""
        every = list(range(len(groups)))
        functions = {c: function if c in name else _turned(function) for c in every}
        return AgainstRest.of(X, kernel, groups, functions), every


SCHEMES: dict[str, Scheme] = {"ovo": OneVersusOne(), "ovr": OneVersusRest()}


def scheme_of(multiclass: str, n_classes: int) -> Scheme:
    """The scheme of this name; two classes are one pair in any case."""
    return SCHEMES[multiclass if n_classes > 2 else "ovo"]


def _pair(name: Name) -> Pair:
    first, second = name
    return first, second


def _turned(function: Coefficients) -> Coefficients:
    return Coefficients(function.rows, -function.coef, -function.intercept)
