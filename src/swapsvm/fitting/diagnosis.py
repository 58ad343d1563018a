"""Warnings before the fit about data and kernels that cannot give a good model, from a look at a few rows.

Only for kernels of a distance r: k = exp(-gamma r), where r is the sum over the columns of |x_j - z_j|^power. A false
alarm is worse than silence: thresholds leave no doubt, and a small number of rows is never judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..arrays import Matrix
from ..columns import is_sparse, without_empty_columns
from ..gram import Gram
from ..kernels import Kernel, Laplacian, Rbf
from ..passes import is_sharded
from ..problems import Quadratic
from ..result import warn_user

FEWEST_ROWS = 50
WIDE = 1 << 20  # columns; of wider data the empty columns are left out and none is named
PAIRS = 128  # pairs of rows whose distances are computed
MOST_OF_A_DISTANCE = 0.9
SWAMPED = 100.0  # times the spread of the median other column; standardized and rare 0/1 columns: up to 16
ROWS_FOR_SUMS, VALUES_AT_A_TIME = 16, 1 << 20
TINY = float(np.finfo(np.float64).tiny)  # distances that can be divided by
SLIGHT = 0.01  # largest difference of a kernel matrix from the identity, or a constant one, in units of a margin
POWERS: dict[type[Kernel], int] = {Rbf: 2, Laplacian: 1}


class ScalingWarning(UserWarning):
    """The scale of the columns of X, or of gamma, rules out a good model.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> from swapsvm import SVC, ScalingWarning
    >>> X, y = load_wine(return_X_y=True)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ScalingWarning)
    ...     model = SVC().fit(X, y)
    >>> print(str(caught[0].message).partition(": numbers")[0])
    About 94% of the squared distances between rows come from 1 of 13 columns (X[:, 12])
    """


@dataclass(frozen=True)
class Sample:
    """Distances of some pairs of rows, and the share of each column in them."""

    parts: Matrix  # of the distances: for each pair one for each column
    power: int
    complete: bool = True  # False if empty columns were left out

    @classmethod
    def of(cls, X: Matrix, rows: np.ndarray, power: int) -> Sample:
        """Rows at equal steps through the data, each paired with one a third of the data away."""
        count = min(len(rows), PAIRS)
        picked = rows[np.arange(count) * (len(rows) - 1) // (count - 1)]
        third = count // 3
        apart = X[picked] - X[np.concatenate([picked[-third:], picked[:-third]])]
        if is_sparse(apart):
            (apart,) = without_empty_columns(sp.csr_array(apart), beyond=WIDE)
        apart = apart.astype(np.float64, copy=False)
        parts = apart**2 if power == 2 else abs(apart)
        return cls(parts, power, parts.shape[1] == X.shape[1])

    @cached_property
    def distances(self) -> np.ndarray:
        return np.asarray(self.parts.sum(axis=1))

    @cached_property
    def shares(self) -> np.ndarray:
        """Of each column in a distance, on average over the pairs."""
        distinct = self.distances > TINY
        weights = np.divide(1.0, self.distances, out=np.zeros_like(self.distances), where=distinct)
        # not by matrix products: OpenBLAS ends the process if it gets no memory for its buffers
        return np.asarray((self.parts * weights[:, None]).sum(axis=0) / max(int(np.count_nonzero(distinct)), 1))

    @cached_property
    def spreads(self) -> np.ndarray:
        """Root mean square of the differences in each column."""
        squares = self.parts if self.power == 2 else self.parts**2
        return np.sqrt(squares.sum(axis=0) / squares.shape[0])

    @property
    def is_even(self) -> bool:
        """Whether no column has far larger numbers than any other that varies."""
        varying = self.spreads[self.spreads > 0]
        return not len(varying) or bool(varying.max() < SWAMPED * varying.min())


def warn_of_scaling(gram: Gram, total_weight: Callable[[], float], names: Sequence[str] | None = None) -> None:
    """Warn of what is wrong with the columns or gamma, if it is beyond doubt.

    ``total_weight`` is the sum over the rows of C times their weight.
    """
    rows = np.concatenate(gram.groups)
    power = POWERS.get(type(gram.kernel))
    if power is None or len(rows) < FEWEST_ROWS:
        return
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sample = Sample.of(gram.X, rows, power)
        if not np.isfinite(sample.distances).all():
            return  # the fit raises an error for numbers out of range
        found = [about_columns(sample, gram, names), about_gamma(sample, gram, rows, total_weight)]
    if any(found):
        warn_user(" ".join(filter(None, found)), ScalingWarning)


def total_weight(problems: Iterable[Quadratic]) -> float:
    """The largest sum over the variables of a problem of 1 / ridge: C times their weights."""
    ridges = (np.broadcast_to(problem.ridge, problem.size) for problem in problems)
    return max(float((1.0 / ridge[ridge > 0]).sum()) if (ridge > 0).any() else math.inf for ridge in ridges)


def about_columns(sample: Sample, gram: Gram, names: Sequence[str] | None) -> str | None:
    """A complaint if few columns make up all distances although others vary."""
    if not sample.complete or sample.is_even:
        return None
    order = np.argsort(-sample.shares, kind="stable")
    varying = np.count_nonzero(sample.spreads)
    count = int(np.searchsorted(np.cumsum(sample.shares[order]), MOST_OF_A_DISTANCE)) + 1
    if count > varying // 2 or _by_size(sample.spreads):
        return None
    large, others = sample.spreads[order[:count]], sample.spreads[order[count:varying]]
    if large.min() < SWAMPED * np.median(others):
        return None
    columns = f"{count} of {len(order)} columns ({_listed(order[:count], names)})"
    share = int(100 * sample.shares[order[:count]].sum())
    kind = "squared distances" if isinstance(gram.kernel, Rbf) else "distances"
    scaler = "MaxAbsScaler" if sp.issparse(gram.X) else "StandardScaler"
    return (
        f"About {share}% of the {kind} between rows come from {columns}: numbers there are far larger than in the"
        f" others, which hardly count. Scale the columns first, for instance with make_pipeline({scaler}(), ...)."
    )


def _listed(columns: np.ndarray, names: Sequence[str] | None) -> str:
    """The first few columns, by name or as a NumPy index."""
    marks = [str(j) if names is None else repr(str(names[j])) for j in columns[:3]]
    shown = ", ".join(marks if len(columns) <= 3 else [*marks, "..."])
    if names is not None:
        return shown
    return f"X[:, {shown}]" if len(columns) == 1 else f"X[:, [{shown}]]"


def _by_size(spreads: np.ndarray) -> bool:
    """Whether columns are sorted by spread, as principal components are: those are small for a reason."""
    steps = np.diff(spreads)
    return len(spreads) >= 5 and bool(max(np.mean(steps <= 0), np.mean(steps >= 0)) > 0.9)


def about_gamma(sample: Sample, gram: Gram, rows: np.ndarray, total_weight: Callable[[], float]) -> str | None:
    """A complaint if the kernel matrix is the identity, or constant."""
    apart = sample.distances[sample.distances > 0]
    if not len(apart):
        return None
    gamma = gram.kernel.gamma  # type: ignore[attr-defined]  # kernels of a distance have one
    near = np.count_nonzero(np.exp(-gamma * apart) > SLIGHT)
    if near < 0.05 * len(apart) and not is_sharded(gram.X) and is_identity(gram, rows):
        return (
            f"gamma={gamma:.3g} is so large that each row resembles only itself: the kernel matrix is the identity"
            f" within {SLIGHT:.0%}, and the model will memorize the training set. {_usual(apart)}"
        )
    # The part of K that is not constant has trace n times this mean, which bounds its largest eigenvalue.
    varying = float(-np.expm1(-gamma * apart).sum()) / len(apart)
    if varying < SLIGHT and varying * total_weight() < SLIGHT:
        return (
            f"gamma={gamma:.3g} is so small that all rows look alike: with this C the model cannot distinguish them."
            f" {_usual(apart)}"
        )
    return None


def _usual(distances: np.ndarray) -> str:
    return f"A usual start is 1 / (median distance), here about {1 / np.median(distances):.1g}."


def is_identity(gram: Gram, rows: np.ndarray) -> bool:
    """Whether the kernel values of a row with all others sum to nearly 0, for nine rows in ten.

    Eigenvalues are then that close to 1 (Gershgorin).
    """
    picked = rows[np.linspace(0, len(rows) - 1, ROWS_FOR_SUMS).astype(np.intp)]
    step = VALUES_AT_A_TIME // ROWS_FOR_SUMS
    parts = [rows[first : first + step] for first in range(0, len(rows), step)]
    sums = sum(gram.block(picked, part).sum(axis=1, dtype=np.float64) for part in parts)
    return bool(np.mean(sums - 1.0 < SLIGHT) > 0.9)
