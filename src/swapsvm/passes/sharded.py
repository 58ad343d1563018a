"""A matrix whose rows lie in pieces elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeGuard

import numpy as np

from .._core import Stopped, StopToken
from ..arrays import Matrix
from ..columns import is_sparse, stacked
from .blocks import Below, Block, Meeting, TwoBlocks, pairs_of
from .look import Look, look_at, moments, sum_of_looks
from .verbs import Arithmetic, ColumnsVerb, Stack

Places = tuple[np.ndarray, Any]  # of the rows that a pass was asked for, and what it found for them
KEPT_PART = 4  # rows brought here are kept in one part in this many of the room
LITTLE_PART = 4  # rows that take less than this part of that are brought here instead of passed over
BLOCKS, MOST_BLOCKS = 8, 32  # into which rows that are multiplied with each other are cut: some work for each worker
LEAST_BLOCK, WHOLE_BLOCK = 2048, 16384  # rows of such a block; beyond, there are more of them


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of one piece: their places in a list of rows, and in the piece (None: all of them, in order)."""

    number: int
    places: np.ndarray
    own: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Work:
    """What to do with each piece: a verb on a stack of vectors and rows, or a function of the rows alone."""

    verb: Callable[..., Any]
    how: Arithmetic | None
    vectors: Matrix | None
    shared: tuple[Any, ...]

    def on(self, rows: Matrix, by_row: Sequence[np.ndarray], token: StopToken | None = None) -> Any:
        """Do it."""
        if self.how is None:
            return self.verb(rows, *self.shared, *by_row)
        return self.verb(Stack(self.vectors, rows, self.how, token), *self.shared, *by_row)


class Columns(Protocol):
    """Kernel values of some rows with some vectors, which are kept where the rows are."""

    def each(
        self, verb: ColumnsVerb, shared: tuple[Any, ...], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Places]:
        """What a verb makes of ``KeptColumns``, piece by piece, with the places of the rows in their list."""


class ShardedRows(ABC):
    """Rows that lie in pieces elsewhere.

    ``X[rows]`` brings some of them here, ``each`` works on them where they are. Results come in the order of the
    pieces, so they do not depend on who computes them, and when.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype
    is_sparse: bool
    offsets: np.ndarray  # of the pieces, and the number of rows
    room: int  # bytes for rows that are brought here
    passes = 0  # made so far, over all rows or some of them

    @abstractmethod
    def perform(
        self, work: Work, pieces: Sequence[Piece], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Any]:
        """What work makes of each piece, in their order; ``by_row`` has numbers for each place."""

    @abstractmethod
    def take(self, pieces: Sequence[Piece]) -> list[Matrix]:
        """Rows of some pieces."""

    def __len__(self) -> int:
        return self.shape[0]

    def pieces_of(self, rows: np.ndarray) -> list[Piece]:
        """The pieces that have some of these rows."""
        ascending = bool(np.all(rows[1:] >= rows[:-1]))
        order = np.arange(len(rows)) if ascending else np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows, self.offsets.astype(rows.dtype), sorter=None if ascending else order)
        return [
            self._piece(number, order[first:last], rows)
            for number, (first, last) in enumerate(pairwise(ends))
            if first < last
        ]

    def _piece(self, number: int, places: np.ndarray, rows: np.ndarray) -> Piece:
        own, size = rows[places] - self.offsets[number], self.offsets[number + 1] - self.offsets[number]
        whole = len(own) == size and bool(np.all(own == np.arange(size)))
        return Piece(number, places, None if whole else own)

    def each(
        self, work: Work, rows: np.ndarray, by_row: Sequence[np.ndarray] = (), token: StopToken | None = None
    ) -> Iterator[Places]:
        """What work makes of these rows, piece by piece, with their places in the list."""
        pieces = self.pieces_of(rows)
        self.passes += 1
        for piece, found in zip(pieces, self.perform(work, pieces, by_row, token), strict=True):
            yield piece.places, found
            if token is not None and token.stopped:
                raise Stopped

    def meet(
        self, meeting: Meeting, blocks: Sequence[Block], token: StopToken | None
    ) -> Iterator[tuple[TwoBlocks, tuple[np.ndarray, ...]]]:
        """What becomes of each pair of blocks; to each block, the others come in their order.

        As many blocks as there is room for stay here while the others pass by, each of which is then read once.
        """
        self.passes += 1
        together = self._held_together(max(len(block.rows) for block in blocks))
        for first in range(0, len(blocks), together):
            yield from self._meet_held(meeting, blocks, range(first, min(first + together, len(blocks))), token)

    def _meet_held(
        self, meeting: Meeting, blocks: Sequence[Block], places: range, token: StopToken | None
    ) -> Iterator[tuple[TwoBlocks, tuple[np.ndarray, ...]]]:
        held, first = [blocks[place] for place in places], places.start
        here = Below((self._brought(block.rows) for block in held), held, len(blocks[0].rows))
        coefs, own = [block.coef for block in held], pairs_of(len(held))
        for (one, other), found in zip(own, meeting.among(here.held, coefs, own, token), strict=True):
            yield (first + one, first + other), found
        for place in range(places.stop, len(blocks)):
            both, coef = here.over(self._brought(blocks[place].rows)), blocks[place].coef
            pairs = [(one, len(held)) for one in range(len(held))]
            for one, found in enumerate(meeting.among(both, [*coefs, coef], pairs, token), first):
                yield (one, place), found

    def _held_together(self, rows: int) -> int:
        """Number of blocks of this many rows that stay here, beside the rows that are kept.

        Another one is read, and has a place below them; below sparse rows it makes a copy of all.
        """
        blocks = int(self.room * (KEPT_PART - 1) / KEPT_PART / max(self.bytes_of(rows), 1.0))
        return max((blocks - 3) // 2 if self.is_sparse else blocks - 2, 1)

    def keep_columns(self, work: Work, rows: np.ndarray) -> Columns | None:
        """The kernel values of rows and vectors, kept where the rows are; None if there is no room for them."""
        return None

    def each_row(self, work: Work, by_row: Sequence[np.ndarray] = ()) -> list[Any]:
        """The same for all rows, in order."""
        return [found for _, found in self.each(work, np.arange(len(self)), by_row)]

    def bytes_of(self, rows: int) -> float:
        """Of this many rows."""
        if self.is_sparse:
            return rows * (8 + (4 + self.dtype.itemsize) * self.look.entries / max(len(self), 1))
        return float(rows * self.shape[1] * self.dtype.itemsize)

    def is_little(self, rows: int, vectors: int) -> bool:
        """Whether this many rows are brought here instead of passed over, and this many kernel values of each."""
        return self._is_small(rows)

    def _is_small(self, rows: int) -> bool:
        return self.bytes_of(rows) <= self.room / KEPT_PART / LITTLE_PART

    # ---- rows that are brought here ------------------------------------------------------------------------------

    def __getitem__(self, rows: np.ndarray | slice) -> Matrix:
        """These rows. They are kept for a while, since a working set asks for its rows again and again."""
        listed = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        if self._all_kept:
            return self._kept[1][listed]
        wanted = listed if bool(np.all(listed[1:] > listed[:-1])) else np.unique(listed)
        if self.bytes_of(len(wanted)) > self.room / KEPT_PART:
            return self._fetched(wanted)[np.searchsorted(wanted, listed)]
        numbers, kept = self._with(wanted)
        return kept[np.searchsorted(numbers, listed)]

    def expect(self, rows: np.ndarray) -> None:
        """Bring rows that will be asked for in parts, all at once, if they can be kept."""
        wanted = np.zeros(0, np.int64) if self._all_kept else np.unique(rows).astype(np.int64)
        if self.bytes_of(len(wanted)) <= self.room / KEPT_PART:
            self._with(wanted)

    def _with(self, wanted: np.ndarray) -> tuple[np.ndarray, Matrix]:
        """Numbers and rows that are kept, these among them."""
        numbers, kept = self._kept
        missing = np.setdiff1d(wanted, numbers, assume_unique=True)
        if not len(missing):
            return numbers, kept
        if self._is_small(len(self)):  # all at once: each later request would be a round trip
            self._kept = np.arange(len(self)), self._fetched(np.arange(len(self)))
            return self._kept
        if self.bytes_of(len(numbers) + len(missing)) > self.room / KEPT_PART:
            own = np.isin(numbers, wanted)
            numbers, kept = numbers[own], kept[own]
        joined = np.concatenate([numbers, missing])
        order = np.argsort(joined)
        self._kept = joined[order], stacked([kept, self._fetched(missing)])[order]
        return self._kept

    @property
    def _all_kept(self) -> bool:
        return len(self._kept[0]) == len(self)

    @property
    def _kept(self) -> tuple[np.ndarray, Matrix]:
        return self.__dict__.get("_kept_rows") or (np.zeros(0, np.int64), self._fetched(np.zeros(0, np.int64)))

    @_kept.setter
    def _kept(self, rows: tuple[np.ndarray, Matrix]) -> None:
        self.__dict__["_kept_rows"] = rows

    def _brought(self, rows: np.ndarray) -> Matrix:
        """Ascending rows, which are not kept."""
        return self._kept[1][rows] if self._all_kept else self._fetched(rows)

    def _fetched(self, rows: np.ndarray) -> Matrix:
        """Ascending rows."""
        pieces = self.pieces_of(rows)
        return stacked(self.take(pieces)) if pieces else self.no_rows()

    @abstractmethod
    def no_rows(self) -> Matrix:
        """A matrix of these columns without rows."""

    # ---- what is known of all rows -------------------------------------------------------------------------------

    @cached_property
    def look(self) -> Look:
        """A first look at all rows, which checks them."""
        looks = self.each(Work(look_at, None, None, ()), np.arange(len(self)))
        return sum_of_looks(look.from_row(int(places[0])) for places, look in looks)

    def some_columns(self, places: tuple[int, ...]) -> SomeColumns:
        """A group of columns of all rows."""
        return SomeColumns(self, places)

    def column_moments(
        self, shares: np.ndarray, places: tuple[int, ...] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each column, of rows with these shares; sparse columns that are empty may be missing."""
        shift = 0.0 if self.is_sparse else self[np.zeros(1, np.int64)][0].astype(np.float64)
        parts = self.each_row(Work(moments, None, None, (shift,)), (shares,))
        mean, square = sum(part[0] for part in parts), sum(part[1] for part in parts)
        if is_sparse(mean):
            mean, square = mean.tocsr(), square.tocsr()
            filled = np.union1d(mean.indices, square.indices) if places is None else np.array(places)
            mean, square = (np.asarray(sums[:, filled].todense()).ravel() for sums in (mean, square))
        means, variances = np.asarray(mean + shift, np.float64), np.maximum(square - mean**2, 0.0).astype(np.float64)
        if places is None or self.is_sparse:
            return means, variances
        return means[list(places)], variances[list(places)]

    def affordable(self, rows: np.ndarray) -> Iterable[slice]:
        """Parts of a list of rows that can be brought here at a time."""
        step = max(int(self.room / KEPT_PART / max(self.bytes_of(1), 1.0)), 1)
        return [slice(first, first + step) for first in range(0, len(rows), step)]

    def blocks(self, rows: np.ndarray, coef: np.ndarray) -> list[Block]:
        """Cut ascending rows into blocks for ``meet``, two of which can be brought here.

        Neither the pieces nor who works on them count, so that sums do not depend on them.
        """
        wanted = max(LEAST_BLOCK, min(-(-len(rows) // BLOCKS), WHOLE_BLOCK), len(rows) // MOST_BLOCKS)
        most = int(self.room / KEPT_PART / 2 / max(self.bytes_of(1), 1.0))
        step = max(min(wanted, most), 1)
        parts = (slice(first, first + step) for first in range(0, len(rows), step))
        return [Block(rows[part], coef[part]) for part in parts]

    def map(self, function: Callable[[Matrix], np.ndarray]) -> np.ndarray:
        """What a function makes of all rows, piece by piece, in their order."""
        return np.concatenate(self.each_row(Work(function, None, None, ())))


@dataclass(frozen=True, eq=False)
class SomeColumns:
    """A group of columns of rows that lie elsewhere, as far as a rule for gamma looks at them."""

    rows: ShardedRows
    places: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.places)

    def column_moments(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each of the columns, of rows with these shares."""
        return self.rows.column_moments(shares, self.places)

    def __getitem__(self, some: slice) -> Matrix:
        return self.rows[some][:, list(self.places)]


def is_sharded(X: object) -> TypeGuard[ShardedRows]:
    """Whether the rows of a matrix lie elsewhere."""
    return isinstance(X, ShardedRows)
