"""A first look at all rows: whether they are numbers, how large they are, and a digest that tells them from others.

Every piece is looked at before any work is done, so that a bad one is found before an hour is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import CsrMatrix, Matrix
from ..columns import is_sparse

WORD, BASE = 1 << 64, 0xD1342543DE82EF95
MORE = 1 + 1e-9  # more than the order of additions can change a sum
TOGETHER = 8192  # rows whose columns are summed together
FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Look:
    """What was seen of some rows."""

    largest: float = 0.0  # |entry|
    most_entries: int = 0  # of a row
    entries: int = 0  # of all sparse rows
    longest: float = 0.0  # sum of the squares of a row
    widest: float = 0.0  # sum of the absolute values of a row, of dense rows a bound on it
    digest: int = 0

    def from_row(self, first: int) -> Look:
        """The same where the first row has this number."""
        return replace(self, digest=self.digest * pow(BASE, first, WORD) % WORD)

    @property
    def norms(self) -> tuple[float, float, int]:
        """At least |x|^2, |x|_1 and the number of entries of every row, however these are added up."""
        return MORE * self.longest, MORE * self.widest, self.most_entries

    def __add__(self, other: Look) -> Look:
        return Look(
            max(self.largest, other.largest),
            max(self.most_entries, other.most_entries),
            self.entries + other.entries,
            max(self.longest, other.longest),
            max(self.widest, other.widest),
            (self.digest + other.digest) % WORD,
        )


def look_at(rows: Matrix) -> Look:
    """Of a piece that begins with row 0; see ``Look.from_row``."""
    return replace(sizes_of(rows), digest=digest_of(rows))


def digest_of(rows: Matrix) -> int:
    """sum_i word_i BASE^i mod 2^64, with a word for each row: it does not depend on how rows are cut into pieces."""
    powers = np.full(rows.shape[0], np.uint64(BASE))
    powers[:1] = 1
    powers = np.multiply.accumulate(powers, dtype=np.uint64)
    return int((_mixed(_row_words(rows) + FACTORS[0]) * powers).sum(dtype=np.uint64))


def sizes_of(rows: Matrix) -> Look:
    """A look without a digest."""
    entries = np.asarray(rows.data if is_sparse(rows) else rows)
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    if not is_sparse(rows):
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        return Look(largest, rows.shape[1], 0, float(squares.max(initial=0.0)), float(rows.shape[1] * largest))
    size = np.abs(rows.data.astype(np.float64))
    most = int(np.diff(rows.indptr).max(initial=0))
    longest, widest = (float(_sums_of_rows(rows, part).max(initial=0.0)) for part in (size**2, size))
    return Look(largest, most, int(rows.nnz), longest, widest)


def _sums_of_rows(rows: CsrMatrix, values: np.ndarray) -> np.ndarray:
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(owner, values, minlength=rows.shape[0])


def _row_words(rows: Matrix) -> np.ndarray:
    """A 64-bit word for each row, from its entries and their columns; zeros count nothing."""
    if is_sparse(rows):
        words = _mixed(_bits(rows.data) * FACTORS[1] + rows.indices.astype(np.uint64) * FACTORS[2])
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        return np.asarray(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])
    total = np.zeros(rows.shape[0], np.uint64)
    for column in range(rows.shape[1]):
        bits, place = _bits(np.ascontiguousarray(rows[:, column])), np.array([column], np.uint64)
        total += np.where(bits != 0, _mixed(bits * FACTORS[1] + place * FACTORS[2]), np.uint64(0))
    return total


def _bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32 if values.dtype == np.float32 else np.uint64).astype(np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Each word changed so that each of its bits depends on all others (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * FACTORS[1]
    words = (words ^ (words >> np.uint64(27))) * FACTORS[2]
    return np.asarray(words ^ (words >> np.uint64(31)))


def sum_of_looks(looks: Iterable[Look]) -> Look:
    return sum(looks, Look())


def moments(rows: Matrix, shift: np.ndarray | float, shares: np.ndarray) -> tuple[Matrix, Matrix]:
    """Parts of the mean and of the mean square of each column, of rows with these shares, less a shift.

    Dense ones are summed with more digits than double has, so that the sum over all pieces does not depend on how rows
    are cut.
    """
    if is_sparse(rows):
        lines = type(rows)(shares[None, :])
        return lines @ rows, lines @ rows.multiply(rows).tocsr()
    sums = np.zeros((2, rows.shape[1]), np.longdouble)
    for first in range(0, rows.shape[0], TOGETHER):
        some = slice(first, first + TOGETHER)
        apart = rows[some] - np.asarray(shift)
        parts = shares[some, None] * apart
        sums += parts.sum(axis=0, dtype=np.longdouble), (parts * apart).sum(axis=0, dtype=np.longdouble)
    return sums[0], sums[1]
