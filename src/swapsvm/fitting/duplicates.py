"""Repeated rows, merged into one.

s equal variables with ridge 1/C are exactly one variable with ridge 1/(C s): the first of equal rows gets the weight of
all, the others get 0 and are left out. Their keys (class or target) must be equal, too.

Rows are compared by a 64-bit hash, and rows with the same hash number by number. A sample decides whether that is worth
a pass over the data: s of n rows, of which each has m copies, contain about s^2 (m - 1) / (2 n) pairs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays import CsrMatrix, Matrix

FEWEST_ROWS = 1024  # smaller fits take milliseconds anyway
PAYS = 0.1  # part of the rows that merging must save
SAMPLE, PER_ROOT = 2048, 8  # rows of the sample: at least SAMPLE, and PER_ROOT times the root of their number
PIECE = 1 << 17  # numbers of one piece of the data


def merged_weights(X: Matrix, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights of all rows, with those of equal rows of the same key added up at the first of them.

    Rows of weight 0 take no part. The weights themselves are returned if merging does not pay.
    """
    rows = np.flatnonzero(weights)
    if len(rows) < FEWEST_ROWS or not pays(X, keys, rows):
        return weights
    hashes = row_hashes(X, keys, rows)
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]]))
    first = np.empty_like(order)  # the first row of the same hash
    first[order] = np.repeat(order[begins], np.diff(begins, append=len(order)))
    copies = np.flatnonzero(first != np.arange(len(rows)))
    copies = copies[are_equal(X, keys, rows[copies], rows[first[copies]])]
    merged = weights.copy()
    merged[rows[copies]] = 0.0
    np.add.at(merged, rows[first[copies]], weights[rows[copies]])
    return merged


def pays(X: Matrix, keys: np.ndarray, rows: np.ndarray) -> bool:
    """Whether the sample is full of copies, or has enough pairs of equal rows to expect many in all data."""
    count, some = max(SAMPLE, int(PER_ROOT * len(rows) ** 0.5)), rows
    if len(rows) <= 2 * count:  # to draw a sample would take as long as to look at all of them
        count = len(rows)
    else:
        some = rows[np.sort(np.random.default_rng(0).choice(len(rows), count, replace=False, shuffle=False))]
    if isinstance(X, np.ndarray) and not _can_pay(len(rows), _times(_marks(X, some))):
        return False
    times = _times(row_hashes(X, keys, some))
    more_copies = (
        2 * len(rows) * np.count_nonzero(times == 2) / count**2
    )  # of a row that is not among the frequent ones
    return bool(count - len(times) >= PAYS * count or more_copies >= 2 * PAYS)


def _can_pay(rows: int, times: np.ndarray) -> bool:
    """Whether it can pay if rows that are equal have equal marks, which occur this many times each in the sample."""
    count, alike = int(times.sum()), int(times[times > 1].sum())
    return count - len(times) >= PAYS * count or rows * alike / count**2 >= 2 * PAYS


def _times(marks: np.ndarray) -> np.ndarray:
    """How often each of them occurs."""
    marks = np.sort(marks)
    return np.diff(np.flatnonzero(marks[1:] != marks[:-1]), prepend=-1, append=len(marks) - 1)


def _marks(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A number for each row that equal rows share, and few others: it takes a tenth of the time of a hash."""
    weights, part = np.sqrt(np.arange(2.0, X.shape[1] + 2)), max(1, PIECE // X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [(X[rows[k : k + part]] * weights).sum(axis=1) for k in range(0, len(rows), part)]
    return np.concatenate(parts)


def row_hashes(X: Matrix, keys: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A hash of each row, equal for equal rows; -0.0 equals 0.0."""
    hashes = np.empty(len(rows), np.uint64)
    for part in _pieces(X, len(rows)):
        piece = X[rows[part]]
        hashes[part] = _sparse_hashes(piece) if sp.issparse(X) else _dense_hashes(piece)
        hashes[part] += _mixed(_bits(keys[rows[part]]))
    return hashes


def are_equal(X: Matrix, keys: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether the k-th of the rows equals the k-th of the others, number by number."""
    equal = keys[rows] == keys[others]
    for part in _pieces(X, len(rows)):
        a, b = X[rows[part]], X[others[part]]
        if sp.issparse(X):
            apart = (a - b).tocsr()
            apart.eliminate_zeros()
            equal[part] &= np.diff(apart.indptr) == 0
        else:
            equal[part] &= (a == b).all(axis=1)
    return equal


def _pieces(X: Matrix, count: int) -> list[slice]:
    per_row = (X.shape[1] if isinstance(X, np.ndarray) else X.nnz // X.shape[0]) + 1
    step = max(PIECE // per_row, 1)
    return [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]


def _dense_hashes(rows: np.ndarray) -> np.ndarray:
    return (_mixed(_bits(rows)) * _multipliers(np.arange(rows.shape[1]))).sum(axis=1, dtype=np.uint64)


def _sparse_hashes(rows: CsrMatrix) -> np.ndarray:
    """The same sum over the entries of each row, minus the hash of 0: stored zeros make no difference."""
    entries = (_mixed(_bits(rows.data)) - _mixed(_bits(np.zeros(1)))) * _multipliers(rows.indices)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def _bits(values: np.ndarray) -> np.ndarray:
    """64-bit integers that are equal for equal values."""
    return (values.astype(np.float64) + 0.0).view(np.uint64)


def _multipliers(columns: np.ndarray) -> np.ndarray:
    return _mixed(columns.astype(np.uint64) + np.uint64(1)) | np.uint64(1)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: each bit of the result depends on all bits."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
