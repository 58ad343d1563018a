"""Training data that grow by batches: all rows so far, which an exact fit of the next batch needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import ArrayLike, Matrix
from ..columns import stacked
from .frames import first_missing


@dataclass(frozen=True, eq=False)
class Batches:
    """The validated rows, targets and weights of all batches; the classes, if there are any, are given with the first.

    New rows follow the old ones, so that a warm start finds these at their positions.
    """

    rows: Matrix
    y: np.ndarray | None
    weights: np.ndarray
    classes: np.ndarray | None = None

    def and_then(self, batch: Batches) -> Batches:
        """These batches and another one."""
        y, rows = self.y, stacked([self.rows, batch.rows])
        if y is not None and batch.y is not None:
            if y.shape[1:] != batch.y.shape[1:]:
                raise ValueError(f"y has the shape {batch.y.shape}, but that of the first batch was {y.shape}")
            y = np.concatenate([y, batch.y])
        return replace(self, rows=rows, y=y, weights=np.concatenate([self.weights, batch.weights]))


def given_classes(before: Batches | None, classes: ArrayLike | None, y: np.ndarray) -> np.ndarray:
    """All classes of a growing set, which the first batch comes with; ``ValueError`` for labels of no class."""
    if before is None and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit: later batches may have others")
    if classes is not None and first_missing(classes) is not None:
        raise ValueError(f"classes={classes!r} has a missing label: list labels only")
    known = before.classes if before else None
    found = np.unique(np.asarray(classes)) if known is None else known
    if classes is not None and not np.array_equal(found, np.unique(np.asarray(classes))):
        raise ValueError(f"classes={classes!r} are not those of the first call to partial_fit, {found.tolist()}")
    if others := np.setdiff1d(y, found).tolist():
        raise ValueError(f"y has the labels {others}, which are not among the classes {found.tolist()}")
    if before is None and len(present := np.unique(y).tolist()) < 2:
        raise ValueError(f"the first batch has only the labels {present}: it needs rows of at least two classes")
    return found
