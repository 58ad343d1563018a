"""What a search learns from y: the problems of each candidate along C, and the model that their solutions make.

A candidate is a kernel, a C and a *variant*: further settings, such as the tube of a regression. It consists of one
problem for each name, such as a pair of classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Matrix
from ..fitting.inputs import ClassWeight, class_weights
from ..fitting.subproblems import Sides
from ..gram import Gram
from ..kernels import Kernel
from ..models import Expansion, Name, Scheme, Together
from ..problems import L2SVC, L2SVR, Coefficients, Family

Setting = float | str
Settings = dict[str, Setting]  # of a candidate, by the name of the parameter
Problem = L2SVC | L2SVR


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a fold trains on, in a Gram that may have others.

    ``groups`` lists for each group of the targets its groups in the Gram. ``rows`` tells which row of the data each row
    of the Gram is; ``weights`` holds one number for each of them, or is None if all are 1.
    """

    gram: Gram
    groups: Mapping[int, list[int]]
    rows: np.ndarray
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The rows that models are scored on, and their weights; None if weights do not count in scores."""

    rows: np.ndarray
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Targets(ABC):
    """The rows of the data in groups that problems are made of, such as classes, and the variants of a candidate."""

    rows: list[np.ndarray]
    variants: list[Settings]

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """The weights of training rows whose sample weights are these."""
        return weights

    @abstractmethod
    def lack(self, present: Sequence[int]) -> str | None:
        """What rows of these groups lack to be trained on."""

    @abstractmethod
    def names(self, present: Sequence[int]) -> list[Name]:
        """The problems of one candidate, if these groups have rows."""

    @abstractmethod
    def groups_of(self, name: Name) -> Name:
        """The groups that a problem is made of."""

    @abstractmethod
    def along(self, Cs: Sequence[float], name: Name, variant: int, training: TrainingRows) -> Iterator[Problem]:
        """One problem at each C."""

    def sides(self, name: Name, groups: Mapping[int, list[int]]) -> Sides | None:
        """The groups of a problem of two classes, of which the core can follow the path in one call; else None."""
        return None

    def accuracies(
        self, X: Matrix, kernel: Kernel, groups: list[np.ndarray], families: Mapping[Name, Family], held_out: HeldOut
    ) -> list[float] | None:
        """What the scorer "accuracy" would find for the models along C, all together and without its checks."""
        return None

    @abstractmethod
    def fitted(
        self, X: Matrix, kernel: Kernel, groups: list[np.ndarray], functions: Mapping[Name, Coefficients]
    ) -> dict[str, object]:
        """Attributes of an estimator fitted to these rows of each group, from the function of each problem."""


@dataclass(frozen=True, eq=False)
class Classes(Targets):
    """Labels, as positions in ``classes``, and the scheme that makes problems of them."""

    labels: np.ndarray
    classes: np.ndarray
    class_weight: ClassWeight
    scheme: Scheme

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        return weights * class_weights(self.class_weight, self.labels, self.classes, weights)[self.labels]

    def lack(self, present: Sequence[int]) -> str | None:
        if len(present) >= 2:
            return None
        return f"trains on {len(present)} class: at least two classes with positive weight are needed in each"

    def names(self, present: Sequence[int]) -> list[Name]:
        return list(self.scheme.sides(present, len(self.classes)))

    @cached_property
    def _sides(self) -> dict[Name, tuple[Name, Name]]:
        """Of each problem if all classes have rows."""
        return self.scheme.sides(range(len(self.classes)), len(self.classes))

    def groups_of(self, name: Name) -> Name:
        return tuple(sorted(c for side in self._sides[name] for c in side))

    def sides(self, name: Name, groups: Mapping[int, list[int]]) -> Sides:
        positive, negative = ([g for c in side for g in groups.get(c, ())] for side in self._sides[name])
        return positive, negative

    def along(self, Cs: Sequence[float], name: Name, variant: int, training: TrainingRows) -> Iterator[Problem]:
        at_one = L2SVC.of(training.gram, *self.sides(name, training.groups), 1.0, training.weights)
        for C in Cs:
            yield replace(at_one, ridge=at_one.ridge / C)

    def fitted(
        self, X: Matrix, kernel: Kernel, groups: list[np.ndarray], functions: Mapping[Name, Coefficients]
    ) -> dict[str, object]:
        return {"model_": self.scheme.model(X, kernel, groups, functions), "classes_": self.classes}

    def accuracies(
        self, X: Matrix, kernel: Kernel, groups: list[np.ndarray], families: Mapping[Name, Family], held_out: HeldOut
    ) -> list[float] | None:
        together = Together.of(self.scheme.models(X, kernel, groups, families))
        hits = together.winners(X[held_out.rows], threads=1) == self.labels[held_out.rows]
        return np.average(hits, axis=1, weights=held_out.weights).tolist()


@dataclass(frozen=True, eq=False)
class Numbers(Targets):
    """Numbers, and for each variant the tube around them; ``"auto"`` is a learned one."""

    y: np.ndarray
    expectile: float = 0.5

    def lack(self, present: Sequence[int]) -> str | None:
        return None if present else "trains on no row: at least one row with positive weight is needed in each"

    def names(self, present: Sequence[int]) -> list[Name]:
        return [()]

    def groups_of(self, name: Name) -> Name:
        return (0,)

    def along(self, Cs: Sequence[float], name: Name, variant: int, training: TrainingRows) -> Iterator[Problem]:
        """A given tube changes only the ridge along C: the radius for the largest C has room for the others."""
        epsilon, y = self.variants[variant]["epsilon"], self.y[training.rows]

        def at(C: float, tube: float | None) -> L2SVR:
            return L2SVR.of(training.gram, y, C, tube, training.weights, training.groups[0], self.expectile)

        if isinstance(epsilon, str):
            yield from (at(C, None) for C in Cs)
        else:
            largest = at(max(Cs), float(epsilon))
            yield from (replace(largest, ridge=largest.ridge * (max(Cs) / C)) for C in Cs)

    def fitted(
        self, X: Matrix, kernel: Kernel, groups: list[np.ndarray], functions: Mapping[Name, Coefficients]
    ) -> dict[str, object]:
        return {"model_": Expansion.of(X, kernel, functions[()])}
