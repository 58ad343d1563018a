"""Where the rows of paths lie that share a Gram: in groups that the same folds train on. All kernels have the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..fitting.subproblems import Sides
from ..models import Name
from .targets import Targets

Piece = tuple[int, np.ndarray, np.ndarray]  # of a group of the targets: its rows, and which folds train on them


@dataclass(frozen=True)
class Fold:
    """One split: the rows held out, and the weights of all rows in training; 0 for rows that are not trained on."""

    test: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Path:
    """One problem of a variant in one fold, at all values of C."""

    fold: int
    variant: int
    name: Name


@dataclass(frozen=True, eq=False)
class Trained:
    """What a fold trains on.

    ``groups`` lists for each group of the targets its groups in the Gram; ``weights`` holds one number for each row of
    the Gram, or is None if all are 1.
    """

    groups: Mapping[int, list[int]]
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False)
class TwoSided:
    """A problem of two classes: its groups in the Gram, the row of each variable, and how many are positive."""

    sides: Sides
    rows: np.ndarray
    positive: int
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows of some paths. ``rows`` tells which row of the data each row of the Gram is."""

    targets: Targets
    folds: Mapping[int, Fold]  # of the paths
    pieces: Sequence[Piece]
    rows: np.ndarray
    groups: list[np.ndarray]  # of the Gram, one for each piece

    @classmethod
    def of(cls, targets: Targets, folds: Mapping[int, Fold], pieces: Sequence[Piece]) -> Layout:
        """Pieces one behind the other: a range is read faster than a list."""
        ends = np.cumsum([len(rows) for _, rows, _ in pieces])
        groups = np.split(np.arange(ends[-1], dtype=np.int32), ends[:-1])
        return cls(targets, folds, pieces, np.concatenate([rows for _, rows, _ in pieces]), groups)

    def in_place(self, count: int) -> Layout:
        """The same rows among all rows of the data, where they are."""
        groups = [rows for _, rows, _ in self.pieces]
        return Layout(self.targets, self.folds, self.pieces, np.arange(count), groups)

    @cached_property
    def trained(self) -> dict[int, Trained]:
        """For each fold."""
        return {fold: self._trained(place, fold) for place, fold in enumerate(self.folds)}

    def _trained(self, place: int, fold: int) -> Trained:
        groups = dict[int, list[int]]()
        for number, (group, _, trained) in enumerate(self.pieces):
            if trained[place]:
                groups.setdefault(group, []).append(number)
        own = self.folds[fold].weights[self.rows]
        return Trained(groups, own if (own[own > 0] != 1).any() else None)

    @cached_property
    def most_rows(self) -> int:
        """The largest number of rows that a fold trains on."""
        sizes = np.array([len(group) for group in self.groups])
        return int(max(sizes @ np.array([trained for _, _, trained in self.pieces])))

    def two_sided(self, path: Path) -> TwoSided | None:
        """The problem of a path, if it has two sides."""
        if path not in self._two_sided:
            self._two_sided[path] = self._of_sides(path)
        return self._two_sided[path]

    @cached_property
    def _two_sided(self) -> dict[Path, TwoSided | None]:
        return {}

    def _of_sides(self, path: Path) -> TwoSided | None:
        trained = self.trained[path.fold]
        sides = self.targets.sides(path.name, trained.groups)
        if sides is None:
            return None
        positive, negative = (np.concatenate([self.groups[g] for g in side]) for side in sides)
        return TwoSided(sides, self.rows[np.concatenate([positive, negative])], len(positive), trained.weights)


def pieces(rows: np.ndarray, trained: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Groups of rows that the same folds train on, and these folds; rows of no fold are left out."""
    patterns, which = np.unique(trained[rows], axis=0, return_inverse=True)
    return [(rows[which.ravel() == p], pattern) for p, pattern in enumerate(patterns) if pattern.any()]
