"""The decision functions of several problems as one table, from which models of several classes are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..problems import Family

Name = tuple[int, ...]  # of a problem: the classes that it is about


@dataclass(frozen=True, eq=False)
class Functions:
    """Families of functions over rows of the data, one behind the other; each of them has as many functions.

    ``names`` has a line of classes for each problem.
    """

    names: np.ndarray  # (problems, classes)
    counts: np.ndarray  # of the rows of each problem
    rows: np.ndarray
    coef: np.ndarray  # (functions, rows)
    intercept: np.ndarray  # (functions, problems)

    @classmethod
    def of(cls, families: Mapping[Name, Family]) -> Functions:
        """The functions of each problem."""
        found = list(families.values())
        return cls(
            names=np.array(list(families)),
            counts=np.array([len(family.rows) for family in found]),
            rows=np.concatenate([family.rows for family in found]),
            coef=np.concatenate([family.coef for family in found], axis=1),
            intercept=np.transpose([family.intercept for family in found]),
        )

    def __len__(self) -> int:
        return len(self.coef)

    @property
    def name_of_row(self) -> np.ndarray:
        """The line of ``names`` that each row belongs to."""
        return self.names.repeat(self.counts, axis=0)
