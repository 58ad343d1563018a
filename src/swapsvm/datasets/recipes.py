"""Making a data set from its files. A recipe takes and returns training rows, and test rows or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import CsrMatrix

KDD_TRAINING_ROWS = 395_216  # of 494021, as in [SWAP14]
NORMAL, ATTACK = 1, 2
SIDE, FRAME = 16, 26  # pixels of a digit of usps, and of the frame of usps-ext


class Rows(NamedTuple):
    """Rows with their labels."""

    X: CsrMatrix  # load() makes it dense if the registry says so
    y: np.ndarray

    def take(self, chosen: np.ndarray) -> Rows:
        """Some of the rows."""
        return Rows(self.X[chosen], self.y[chosen])


Parts = tuple[Rows, Rows | None]


def as_distributed(train: Rows, test: Rows | None) -> Parts:
    """The rows as published."""
    return train, test


def unit_pixels(train: Rows, test: Rows | None) -> Parts:
    """Grey levels 0..255 to [0, 1]."""
    return divided(train, test, 255)


def unit_positions(train: Rows, test: Rows | None) -> Parts:
    """Pen positions 0..100 to [0, 1], where the widths that [SWAP14] tries are of the order of distances."""
    return divided(train, test, 100)


def divided(train: Rows, test: Rows | None, largest: float) -> Parts:
    """Divide all values by the largest."""
    for part in (train, test):
        if part:
            part.X.data /= largest
    return train, test


def kdd_split(whole: Rows, _: Rows | None) -> Parts:
    """A fixed random split, because that of [SWAP14] is not published; then ``scale_kdd``.

    The raw stream of PCG64 is the same in all versions of NumPy, unlike the methods of its generators.
    """
    order = np.argsort(np.random.PCG64(0).random_raw(whole.y.size), kind="stable")
    train, test = np.sort(order[:KDD_TRAINING_ROWS]), np.sort(order[KDD_TRAINING_ROWS:])
    return scale_kdd(whole.take(train), whole.take(test))


def kdd_attacks(train: Rows, test: Rows | None) -> Parts:
    """Normal connections against all attacks, as the two classes of KDD-Full in [SWAP14]; then ``scale_kdd``."""
    return scale_kdd(two_classes(train), test and two_classes(test))


def two_classes(part: Rows) -> Rows:
    """Merge all classes except the normal one."""
    return Rows(part.X, np.where(part.y == NORMAL, NORMAL, ATTACK))


def scale_kdd(train: Rows, test: Rows | None) -> Parts:
    """v -> log(1 + v) in columns that exceed 1 (bytes, seconds, counts), then each column divided by its maximum.

    No value is negative and every column contains 0, so this is min-max scaling to [0, 1], and zeros stay zeros.
    Columns and maxima are those of the training rows; test values may exceed 1.
    """
    largest = train.X.max(axis=0).toarray().ravel()
    heavy = largest > 1
    divisor = np.where(heavy, np.log1p(largest), largest)
    divisor[largest == 0] = 1
    for part in (train, test):
        if part:
            X = part.X
            logs = heavy[X.indices]
            X.data[logs] = np.log1p(X.data[logs])
            X.data /= divisor.astype(X.dtype)[X.indices]
    return train, test


def shifted_digits(train: Rows, test: Rows | None) -> Parts:
    """The digits 0 and 1 of usps at every position in a larger frame, position by position."""
    return shift(train), test and shift(test)


def shift(digits: Rows) -> Rows:
    """All shifts of all zeros and ones; background -1 becomes 0, so the result is sparse."""
    digits = digits.take(np.flatnonzero(digits.y <= 2))  # the label is the digit + 1
    X = sparse.csr_matrix((digits.X.toarray() + 1) / 2)
    places = np.arange(FRAME - SIDE + 1, dtype=np.int32)
    corners = np.add.outer(places * FRAME, places).ravel()
    row, column = np.divmod(X.indices, SIDE)
    indices = np.add.outer(corners, row * FRAME + column).ravel()
    starts = np.add.outer(np.arange(corners.size) * X.nnz, X.indptr[:-1]).ravel()
    shape = (corners.size * X.shape[0], FRAME**2)
    shifted = sparse.csr_matrix((np.tile(X.data, corners.size), indices, np.append(starts, indices.size)), shape=shape)
    return Rows(shifted, np.tile(digits.y, corners.size))


RECIPES: dict[str, Callable[[Rows, Rows | None], Parts]] = {
    recipe.__name__: recipe
    for recipe in (as_distributed, unit_pixels, unit_positions, kdd_split, kdd_attacks, shifted_digits)
}
