"""The power of Wilcoxon's signed-rank test: what a hypothesis that is not rejected is worth.

The effect is stated by one number: on each data set the better method wins with probability ``wins``, independently of
the other sets and of the size of the difference. Then the sum of positive ranks is a sum of independent terms, and its
distribution is computed exactly, without ties.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .statistics import Alternative, exact_p

WINS = 0.75  # the better method wins on three of four sets


@lru_cache(maxsize=256)
def power(pairs: int, level: float, alternative: Alternative = "two-sided", wins: float = WINS) -> float:
    """The probability that the test rejects at this level.

    Parameters
    ----------
    pairs : int
        Number of data sets.
    level : float
        Significance level.
    alternative : {"two-sided", "greater", "less"}
        The alternative of the test, in whose direction the effect lies.
    wins : float
        Probability that the first score of a pair is greater ("less": smaller).

    Returns
    -------
    float

    Examples
    --------
    >>> round(power(5, 0.05, "greater", wins=0.9), 5) == round(0.9**5, 5)
    True
    """
    if pairs < 1 or not 0 < level < 1 or not 0 <= wins <= 1:
        raise ValueError(f"pairs={pairs} must be at least 1, level={level} within 0 to 1 and wins={wins} from 0 to 1")
    doubled = range(2, 2 * pairs + 1, 2)
    side: Alternative = "two-sided" if alternative == "two-sided" else "greater"
    tail = rejected_sums(tuple(doubled), level, side)
    return float(rank_sum_chances(pairs, wins)[tail].sum())


def rank_sum_chances(pairs: int, wins: float) -> np.ndarray:
    """The probability of each sum of positive ranks 1, ..., n."""
    chances = np.zeros(pairs * (pairs + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, pairs + 1):
        moved = np.zeros_like(chances)
        moved[rank:] = chances[:-rank]
        chances = (1.0 - wins) * chances + wins * moved
    return chances


def rejected_sums(doubled_ranks: tuple[int, ...], level: float, alternative: Alternative) -> np.ndarray:
    """Which sums of positive ranks the test rejects."""
    sums = range(sum(doubled_ranks) // 2 + 1)
    return np.array([exact_p(doubled_ranks, 2 * total, alternative) < level for total in sums])
