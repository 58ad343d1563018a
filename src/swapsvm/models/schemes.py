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
from .pairwise import Pair, Pairwise, sides

Name = tuple[int, ...]  # of a problem: the classes that it is about
Rows = Sequence[np.ndarray]  # the training rows of each class


class Scheme(ABC):
    """The problems of several classes. The function of a problem is positive on the first of its sides."""

    model_type: type[ByClass]

    @abstractmethod
    def sides(self, present: Sequence[int], n_classes: int) -> dict[Name, tuple[Name, Name]]:
        """The positive and the negative classes of each problem, if these classes have rows."""

    @abstractmethod
    def model(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Mapping[Name, Coefficients]) -> ByClass:
        """The model that the functions of all problems make."""

    @abstractmethod
    def models(self, X: Matrix, kernel: Kernel, groups: Rows, families: Mapping[Name, Family]) -> Sequence[ByClass]:
        """The models of the first functions of all problems, of the second ones and so on, over the same vectors."""

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

    def model(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Mapping[Name, Coefficients]) -> Pairwise:
        return Pairwise.of(X, kernel, groups, {_pair(name): function for name, function in functions.items()})

    def models(self, X: Matrix, kernel: Kernel, groups: Rows, families: Mapping[Name, Family]) -> list[Pairwise]:
        return Pairwise.several(X, kernel, groups, {_pair(name): family for name, family in families.items()})

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

    def model(self, X: Matrix, kernel: Kernel, groups: Rows, functions: Mapping[Name, Coefficients]) -> AgainstRest:
        return AgainstRest.of(X, kernel, groups, {c: function for (c,), function in functions.items()})

    def models(self, X: Matrix, kernel: Kernel, groups: Rows, families: Mapping[Name, Family]) -> list[AgainstRest]:
        return AgainstRest.several(X, kernel, groups, {c: family for (c,), family in families.items()})

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
