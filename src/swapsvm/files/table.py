"""A table of rows and labels, and the request for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Matrix
from ..datasets.labels import label_column

NO_COLUMN = "0"  # as the label


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
    needed : bool
        Whether labels are required where the number of features is not given. If not, ``label="0"`` stands for none.
    """

    label: str | None = None
    labels: str | None = None
    n_features: int | None = None
    needed: bool = True

    @property
    def requires_labels(self) -> bool:
        """Whether a table without labels is refused."""
        return self.needed and self.n_features is None

    def column(self, names: Sequence[str], named: bool) -> int | None:
        """Index of the label column among these; None if there are no labels."""
        if self.label == NO_COLUMN and not self.requires_labels and not (named and NO_COLUMN in names):
            return None
        return label_column(names, self.label, self.n_features, named)
