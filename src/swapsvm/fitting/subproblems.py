"""The plan of a fit: the problems that it solves, such as its pairs of classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..gram import Gram
from ..models import Functions, Name
from ..problems import L2SVC, L2SVR, Ball, Coefficients, OneClass, Quadratic, decision_function
from ..problems.l2_svc import check_value
from ..state import Products
from ..stopping import Stop
from .results import Results
from .separation import Inseparable

Labels = tuple[object, ...]
Sides = tuple[Sequence[int], Sequence[int]]  # positive and negative groups of the Gram
NAMES = ("the fit", "class {!r} against the others", "classes {!r} and {!r}")  # by the number of labels


class Solution(Protocol):
    """A point of a problem: the result of a run, or its present state."""

    @property
    def weights(self) -> np.ndarray: ...
    @property
    def value(self) -> float: ...
    @property
    def simplex_gap(self) -> float: ...
    @property
    def level(self) -> float: ...
    @property
    def known_products(self) -> Products | None: ...


@dataclass(frozen=True, eq=False)
class Subproblem(ABC):
    """One problem of a fit.

    ``labels`` identify it to users and from one fit to the next: a pair of class labels, the label of a class against
    all others, or nothing if the fit has only one problem. ``weights`` has one number for each row of the data, or is
    None if all are 1.
    """

    strength: ClassVar[str] = "C"  # the parameter of the estimator that C comes from
    alike: ClassVar[bool] = False  # all problems of a plan run as the only one would, one after the other on one cache
    labels: Labels
    rows: int
    C: float
    weights: np.ndarray | None

    @abstractmethod
    def on(self, gram: Gram) -> Quadratic:
        """The problem on a Gram of the data."""

    def stop(self, problem: Quadratic) -> Stop | None:
        """A further rule that ends its run."""
        return None

    @property
    def sides(self) -> Sides | None:
        """The groups of a problem of two classes with a ridge, which the core can solve in one call; else None."""
        return None

    @property
    def name(self) -> str:
        """The name shown to users."""
        return NAMES[len(self.labels)].format(*self.labels)


@dataclass(frozen=True, eq=False)
class Supervised(Subproblem):
    """A problem with labels or targets, whose solution is a function of the kernel."""

    @abstractmethod
    def on(self, gram: Gram) -> L2SVC | L2SVR: ...

    def function(self, gram: Gram, at: Solution) -> Coefficients:
        """The function of a solution; of two classes, positive for the group ``positive``."""
        return self.on(gram).model(at.weights, at.value)


@dataclass(frozen=True, eq=False)
class Classification(Supervised):
    """Classes against others, such as the two of a pair; each is a group of the Gram."""

    about: Name  # in the scheme that it belongs to
    positive: Name
    negative: Name

    def on(self, gram: Gram) -> L2SVC:
        return L2SVC.of(gram, self.positive, self.negative, self.C, self.weights)

    def function(self, gram: Gram, at: Solution) -> Coefficients:
        positive, negative = ([gram.groups[c] for c in side] for side in (self.positive, self.negative))
        rows = np.concatenate(positive + negative)
        return decision_function(rows, sum(map(len, positive)), at.weights, at.value)

    def stop(self, problem: Quadratic) -> Stop | None:
        return Inseparable.of(problem) if np.isinf(self.C) else None

    @property
    def signs(self) -> list[tuple[int, float]]:
        """The groups in the order of the variables, and the sign of each."""
        return [(c, 1.0) for c in self.positive] + [(c, -1.0) for c in self.negative]

    @property
    def sides(self) -> Sides | None:
        return None if np.isinf(self.C) else (self.positive, self.negative)


def functions_of(gram: Gram, plan: Sequence[Classification], results: Results) -> Functions:
    """``Classification.function`` of each problem, to the last bit."""
    values, weights = results.column("value"), results.weights
    check_value(float(values.max()))
    sides = [(k, c, sign) for k, sub in enumerate(plan) for c, sign in sub.signs]
    problem, rows = np.array([k for k, _, _ in sides]), [gram.groups[c] for _, c, _ in sides]
    signs = np.array([sign for _, _, sign in sides])
    (used,) = weights.nonzero()
    side = np.cumsum([len(own) for own in rows]).searchsorted(used, side="right")
    owner = problem[side]
    coef = weights[used] / -values[owner] * signs[side]
    return Functions(
        names=np.array([sub.about for sub in plan]),
        counts=np.bincount(owner, minlength=len(plan)),
        rows=np.concatenate(rows)[used],
        coef=coef[None, :],
        intercept=_sums_of_each(coef, owner, len(plan))[None, :],
    )


def _sums_of_each(numbers: np.ndarray, owner: np.ndarray, owners: int) -> np.ndarray:
    """The sum of the numbers of each owner. It begins with 0, as ``numpy.sum`` does: the bits are the same."""
    terms, each = np.zeros(len(numbers) + owners), np.arange(owners)
    terms[np.arange(1, len(numbers) + 1) + owner] = numbers
    return np.asarray(np.add.reduceat(terms, owner.searchsorted(each) + each))


@dataclass(frozen=True, eq=False)
class Regression(Supervised):
    """Targets for all rows of the data; ``epsilon=None`` learns the tube.

    The label of one output of several is its column.
    """

    alike = True
    y: np.ndarray
    epsilon: float | None
    expectile: float

    def on(self, gram: Gram) -> L2SVR:
        return L2SVR.of(gram, self.y, self.C, self.epsilon, self.weights, expectile=self.expectile)

    def tube(self, gram: Gram, at: Solution) -> float:
        """Half its width, as given or learned."""
        return self.on(gram).tube(at.level) if self.epsilon is None else self.epsilon

    @property
    def name(self) -> str:
        return f"output {self.labels[0]}" if self.labels else super().name


@dataclass(frozen=True, eq=False)
class Detection(Subproblem):
    """A boundary around the rows, by one of the problems of novelty detection."""

    strength = "slack"
    problem: type[OneClass] | type[Ball]
    length: float  # mean of k(x, x), the unit of the slack

    def on(self, gram: Gram) -> OneClass | Ball:
        return self.problem.of(gram, self.C, self.weights)
