"""A table of rows and labels, and the request for one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Matrix
from ..container import require

PLACE = re.compile(r"-?[0-9]{1,9}")


class Table(NamedTuple):
    """Rows, and their labels if there are any."""

    X: Matrix
    y: np.ndarray | None


@dataclass(frozen=True)
class Request:
    """Where the labels are.

    Parameters
    ----------
    label : str, optional
        CSV and Parquet: the label column, by name or by number: 1 is the first, -1 the last. By default the first.
    labels : str, optional
        npy: the npy file of the labels. By default y.npy in the same folder.
    n_features : int, optional
        Number of features of the model that will predict. Labels are then optional, and a table with exactly this many
        columns has none.
    """

    label: str | None = None
    labels: str | None = None
    n_features: int | None = None

    def column(self, names: Sequence[str], named: bool) -> int | None:
        """Index of the label column among these; None if there are no labels."""
        if self.label is None:
            return None if self.n_features == len(names) else 0
        if named and self.label in names:
            return names.index(self.label)
        known = f"the columns are {', '.join(names[:8])}" if named else "there is no header line"
        place = int(self.label) if PLACE.fullmatch(self.label) else 0
        require(0 < abs(place) <= len(names), f"has no label column {self.label!r} ({known})")
        return place - 1 if place > 0 else len(names) + place


def as_integers(labels: np.ndarray) -> np.ndarray:
    """Labels as integers if all of them are whole numbers."""
    whole = (np.abs(labels) < 2**53) & (labels == np.trunc(labels))
    return labels.astype(np.int64) if whole.all() else labels
