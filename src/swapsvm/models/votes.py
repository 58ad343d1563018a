"""Votes of the pairs of classes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from .. import _core


def one_versus_rest(decisions: np.ndarray, n_classes: int, present: Collection[int]) -> np.ndarray:
    """Votes plus summed decision values squeezed into (-1/3, 1/3), so that they only break ties.

    A class that had no row of positive weight takes part in no vote and gets -1.
    """
    votes, confidence = count_votes(decisions, n_classes, present)
    result = votes + confidence / (3 * (np.abs(confidence) + 1))
    result[:, ~_mask(present, n_classes)] = -1.0
    return result


def count_votes(decisions: np.ndarray, n_classes: int, present: Collection[int]) -> tuple[np.ndarray, np.ndarray]:
    """The number of votes for each class, and the sum of the decision values for it."""
    return _core.count_votes(np.ascontiguousarray(decisions, np.float64), _mask(present, n_classes))


def has_sure_winner(decisions: np.ndarray, bound: np.ndarray, n_classes: int) -> np.ndarray:
    """Whether one class has more certain votes than any other class has, or could have after rounding.

    ``bound`` has one number for each row.
    """
    return _core.sure_winners(np.ascontiguousarray(decisions, np.float64), bound, n_classes)


def _mask(classes: Collection[int], n_classes: int) -> np.ndarray:
    mask = np.zeros(n_classes, dtype=bool)
    mask[list(classes)] = True
    return mask
