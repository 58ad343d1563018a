"""Statistical comparison of methods over several data sets: the tests of [SWAP14], following [Demsar06].

Scores are arrays of data sets (rows) by methods (columns). Friedman's test asks whether any methods differ; Wilcoxon's
signed ranks compare two of them; Holm corrects several p-values; Nemenyi's critical difference compares all pairs.

[Demsar06] J. Demsar: Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.
[Pratt59] J. W. Pratt: Remarks on zeros and ties in the Wilcoxon signed rank procedures. JASA 54, 1959.
[Conover99] W. J. Conover: Practical nonparametric statistics. Third edition, Wiley 1999.
[Kerby14] D. S. Kerby: The simple difference formula. Comprehensive Psychology 3, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

Alternative = Literal["two-sided", "greater", "less"]

# Relative to the largest score: equal numbers can differ by rounding, as 0.3 - 0.2 and 0.2 - 0.1 do.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Friedman:
    """Friedman's test, and its correction by Iman and Davenport.

    Attributes
    ----------
    ranks : ndarray
        Average rank of each method; 1 is best.
    chi_square, chi_square_p : float
        Friedman's statistic, and its p-value by the chi-square distribution.
    f_statistic, p : float
        Iman and Davenport's statistic, and its p-value by the F distribution.
    """

    ranks: np.ndarray
    chi_square: float
    chi_square_p: float
    f_statistic: float
    p: float


@dataclass(frozen=True)
class SignedRanks:
    """Wilcoxon's signed-rank test.

    Attributes
    ----------
    positive, negative : float
        Sums of the ranks of the pairs whose first score is larger, or smaller.
    pairs, zeros : int
        Number of pairs, and number of equal pairs.
    p : float
        The exact p-value.
    """

    positive: float
    negative: float
    pairs: int
    zeros: int
    p: float

    @property
    def rank_biserial(self) -> float:
        """The effect size (R+ - R-) / (R+ + R-) of [Kerby14]: 1 if the first is always larger, 0 if neither is."""
        total = self.positive + self.negative
        return (self.positive - self.negative) / total if total else 0.0


@dataclass(frozen=True)
class RankDiagram:
    """The content of a critical-difference diagram.

    Attributes
    ----------
    names : tuple of str
        Methods, best first.
    ranks : tuple of float
        Their average ranks.
    difference : float
        Nemenyi's critical difference.
    cliques : tuple of tuple of str
        The largest groups of methods that do not differ significantly.
    level : float
        Significance level.
    """

    names: tuple[str, ...]
    ranks: tuple[float, ...]
    difference: float
    cliques: tuple[tuple[str, ...], ...]
    level: float


def friedman(scores: ArrayLike, *, higher_is_better: bool, correct_ties: bool = True) -> Friedman:
    """Friedman's test of the hypothesis that all methods perform equally.

    Parameters
    ----------
    scores : array of shape (data sets, methods)
        At least two of each.
    higher_is_better : bool
        True for accuracies, False for times.
    correct_ties : bool, default=True
        Divide by the actual variance of the ranks. If False, divide by their variance without ties, which is the
        formula of [Demsar06] and can only make the test less powerful.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> test = friedman([[0.90, 0.92, 0.95], [0.80, 0.81, 0.85], [0.70, 0.60, 0.75]], higher_is_better=True)
    >>> test.ranks.round(2).tolist(), round(test.p, 3)
    ([2.67, 2.33, 1.0], 0.049)
    """
    ranks = rank_methods(scores, higher_is_better=higher_is_better)
    sets, methods = ranks.shape
    # [Conover99] section 5.8: (k - 1) sum_j (R_j - N (k + 1) / 2)^2 / sum_ij (r_ij - (k + 1) / 2)^2.
    centred = ranks - (methods + 1) / 2
    spread = float((centred**2).sum()) if correct_ties else sets * methods * (methods**2 - 1) / 12
    chi_square = (methods - 1) * float((centred.sum(axis=0) ** 2).sum()) / spread if spread else 0.0
    # [Demsar06] section 3.2.2: (N - 1) chi^2 / (N (k - 1) - chi^2), infinite if all data sets agree.
    left = sets * (methods - 1) - chi_square
    f_statistic = (sets - 1) * chi_square / left if left > ROUNDING * chi_square else inf
    chi_square_p = float(stats.chi2.sf(chi_square, methods - 1))
    p = float(stats.f.sf(f_statistic, methods - 1, (methods - 1) * (sets - 1)))
    return Friedman(ranks.mean(axis=0), chi_square, chi_square_p, f_statistic, p)


def rank_methods(scores: ArrayLike, *, higher_is_better: bool) -> np.ndarray:
    """Ranks of the methods on each data set; 1 is best, equal scores share their average."""
    table = finite(scores, dimensions=2)
    if min(table.shape) < 2:
        raise ValueError(f"scores must have at least 2 data sets and 2 methods, but their shape is {table.shape}")
    signed = -table if higher_is_better else table
    return np.array([average_ranks(row, ROUNDING * np.abs(row).max()) for row in signed])


def signed_ranks(first: ArrayLike, second: ArrayLike, alternative: Alternative = "two-sided") -> SignedRanks:
    """Wilcoxon's signed-rank test of paired scores, exact also with ties and zeros.

    Zeros are treated as in [Pratt59]: they are ranked with the others, then dropped. Equal differences share their
    average rank. The p-value counts all possible signs of these ranks.

    Parameters
    ----------
    first, second : array of shape (data sets,)
        Scores of two methods.
    alternative : {"two-sided", "greater", "less"}
        "greater": the first scores are greater.

    Returns
    -------
    SignedRanks

    Examples
    --------
    >>> signed_ranks([5, 7, 9, 4, 6], [3, 4, 5, 4, 7], "greater").p
    0.125
    """
    if alternative not in get_args(Alternative):
        raise ValueError(f"alternative={alternative!r} must be one of {', '.join(get_args(Alternative))}")
    a, b = finite(first, dimensions=1), finite(second, dimensions=1)
    if len(a) != len(b):
        raise ValueError(f"first has {len(a)} scores and second {len(b)}; they must be pairs")
    tolerance = ROUNDING * max(np.abs(a).max(), np.abs(b).max())
    differences = np.where(np.abs(a - b) > tolerance, a - b, 0.0)
    ranks = average_ranks(np.abs(differences), tolerance)
    positive, negative = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
    zeros = int((differences == 0).sum())
    doubled = [round(2 * rank) for rank in ranks[differences != 0]]
    return SignedRanks(positive, negative, len(ranks), zeros, exact_p(doubled, round(2 * positive), alternative))


# scipy.stats.wilcoxon(method="exact") is only correct without zeros and ties (SciPy 1.17). With them it still uses the
# distribution of the ranks 1, ..., n and rounds the statistic (example of [Pratt59]: 0.0133 instead of 0.0120), and it
# computes small upper tails as 1 minus a lower one, so that 2^-60 becomes 0.
def exact_p(doubled_ranks: Sequence[int], doubled_sum: int, alternative: Alternative) -> float:
    """P-value of a sum of positive ranks; both are doubled, because average ranks can be halves."""
    counts = sign_patterns(doubled_ranks)
    patterns = 2 ** len(doubled_ranks)
    less, greater = sum(counts[: doubled_sum + 1]), sum(counts[doubled_sum:])
    if alternative == "two-sided":
        return min(1.0, 2 * min(less, greater) / patterns)
    return (less if alternative == "less" else greater) / patterns


def sign_patterns(doubled_ranks: Sequence[int]) -> list[int]:
    """For each sum of positive ranks the number of sign patterns that give it, as integers of any size."""
    return list(counted_patterns(tuple(sorted(doubled_ranks))))


@lru_cache(maxsize=1024)  # ranks without ties recur in every resample
def counted_patterns(ascending: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of ``sign_patterns``, which do not depend on the order of the ranks."""
    counts = np.zeros(sum(ascending) + 1, dtype=np.int64 if len(ascending) < 63 else object)  # at most 2^n patterns
    counts[0] = 1
    for rank in ascending:
        counts[rank:] = counts[rank:] + counts[:-rank]
    return tuple(counts.tolist())


def average_ranks(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Ranks from 1; neighbours within the tolerance share their average."""
    order = np.argsort(values)
    groups = np.empty(len(values), dtype=int)
    groups[order] = np.cumsum(np.diff(values[order], prepend=-inf) > tolerance)
    return stats.rankdata(groups)


def median_ratio(first: ArrayLike, second: ArrayLike) -> float:
    """Median of first / second, the effect size of times: 0.5 if the first takes half as long.

    It is the median of the logarithms, so that exchanging the two gives 1 / ratio for an even number of pairs as well.
    """
    a, b = finite(first, dimensions=1), finite(second, dimensions=1)
    if len(a) != len(b) or min(a.min(), b.min()) <= 0:
        raise ValueError("first and second must be pairs of positive numbers")
    return float(np.exp(np.median(np.log(a / b))))


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values corrected by Holm's step-down method, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = finite(p_values, dimensions=1)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"p-values must be from 0 to 1, but they are from {p.min():g} to {p.max():g}")
    order = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def critical_difference(methods: int, sets: int, level: float = 0.05) -> float:
    """Nemenyi's critical difference: the smallest significant difference of average ranks; [Demsar06] section 3.2.2."""
    if methods < 2 or sets < 1 or not 0 < level < 1:
        raise ValueError(f"methods={methods} must be at least 2, sets={sets} at least 1, level={level} within 0 to 1")
    q = float(stats.studentized_range.ppf(1 - level, methods, inf)) / sqrt(2)
    return q * sqrt(methods * (methods + 1) / (6 * sets))


def rank_diagram(names: Sequence[str], ranks: ArrayLike, sets: int, level: float = 0.05) -> RankDiagram:
    """Order methods by average rank and group those that do not differ.

    Parameters
    ----------
    names : sequence of str
        Methods.
    ranks : array of shape (methods,)
        Their average ranks, as from ``friedman``.
    sets : int
        Number of data sets.
    level : float, default=0.05
        Significance level.

    Returns
    -------
    RankDiagram
    """
    values = finite(ranks, dimensions=1)
    if len(values) != len(names):
        raise ValueError(f"{len(names)} names for {len(values)} ranks")
    order = np.argsort(values, kind="stable")
    ordered = tuple(names[i] for i in order)
    difference = critical_difference(len(names), sets, level)
    groups = tuple(ordered[start:stop] for start, stop in cliques(values[order], difference))
    return RankDiagram(ordered, tuple(values[order].tolist()), difference, groups, level)


def cliques(ascending: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Maximal ranges (start, stop) of two or more ranks that differ by less than the critical difference."""
    found: list[tuple[int, int]] = []
    for start, rank in enumerate(ascending):
        stop = int(np.searchsorted(ascending, rank + difference, side="left"))
        if stop - start > 1 and (not found or stop > found[-1][1]):
            found.append((start, stop))
    return found


def finite(values: ArrayLike, *, dimensions: int) -> np.ndarray:
    """The values as a non-empty array of finite numbers."""
    array = np.asarray(values, dtype=float)
    if array.ndim != dimensions or not array.size or not np.isfinite(array).all():
        raise ValueError(f"expected finite numbers in {dimensions} dimension(s), got shape {array.shape}: {array}")
    return array
