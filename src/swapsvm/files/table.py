"""What readers of tables are asked for, and what they give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..container import require

PLACE = re.compile(r"-?[0-9]{1,9}")


class Table(NamedTuple):
    """Rows, and their labels if there are any."""

    X: Any
    y: np.ndarray | None


@dataclass(frozen=True)
class Request:
    """Where the labels are.

    Parameters
    ----------
    label : str, optional
        Of a table with columns: the name of the one with the labels, or its place: 1 is the first, -1 the last. By
        default the first.
    labels : str, optional
        Of an npy file: the npy file with the labels. By default y.npy beside it.
    n_features : int, optional
        Of the model that is to predict: a table with exactly this many columns has no labels, and none are needed.
    """

    label: str | None = None
    labels: str | None = None
    n_features: int | None = None

    def column(self, names: Sequence[str], named: bool) -> int | None:
        """The place of the label column among these, counted from 0; None if there is none."""
        if self.label is None:
            return None if self.n_features == len(names) else 0
        if named and self.label in names:
            return names.index(self.label)
        known = f"the columns are {', '.join(names[:8])}" if named else "there is no line of names"
        place = int(self.label) if PLACE.fullmatch(self.label) else 0
        require(0 < abs(place) <= len(names), f"has no label column {self.label!r} ({known})")
        return place - 1 if place > 0 else len(names) + place


def tidied(labels: np.ndarray) -> np.ndarray:
    """Integers, if all labels are whole numbers."""
    whole = (np.abs(labels) < 2**53) & (labels == np.trunc(labels))
    return labels.astype(np.int64) if whole.all() else labels
