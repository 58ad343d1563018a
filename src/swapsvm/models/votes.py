"""Votes of the pairs of classes."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

import numpy as np


def one_versus_rest(decisions: np.ndarray, n_classes: int, present: Collection[int]) -> np.ndarray:
    """Votes plus summed decision values squeezed into (-1/3, 1/3), so that they only break ties.

    A class that had no row of positive weight takes part in no vote and gets -1.
    """
    votes, confidence = count_votes(decisions, n_classes, present)
    result = votes + confidence / (3 * (np.abs(confidence) + 1))
    result[:, [c for c in range(n_classes) if c not in present]] = -1.0
    return result


def count_votes(decisions: np.ndarray, n_classes: int, present: Collection[int]) -> tuple[np.ndarray, np.ndarray]:
    """The number of votes for each class, and the sum of the decision values for it."""
    votes = np.zeros((n_classes, len(decisions)))
    confidence = np.zeros((n_classes, len(decisions)))
    for values, (a, b) in zip(np.ascontiguousarray(decisions.T), combinations(range(n_classes), 2), strict=True):
        if a not in present or b not in present:
            continue
        first_wins = values >= 0
        votes[a] += first_wins
        votes[b] += ~first_wins
        confidence[a] += values
        confidence[b] -= values
    return votes.T, confidence.T


def has_sure_winner(decisions: np.ndarray, bound: np.ndarray, n_classes: int) -> np.ndarray:
    """Whether one class has more certain votes than any other class has, or could have after rounding."""
    least = np.zeros((n_classes, len(decisions)))
    most = np.zeros((n_classes, len(decisions)))
    for values, (a, b) in zip(np.ascontiguousarray(decisions.T), combinations(range(n_classes), 2), strict=True):
        least[a] += values > bound[:, 0]
        most[a] += values >= -bound[:, 0]
        least[b] += values < -bound[:, 0]
        most[b] += values <= bound[:, 0]
    winner, rows = np.argmax(least, axis=0), np.arange(len(decisions))
    votes = least[winner, rows]
    most[winner, rows] = -1
    return votes > most.max(axis=0)
