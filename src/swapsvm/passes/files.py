"""Rows in files, read piece by piece: one piece is computed with while the next is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core import StopToken
from ..arrays import Matrix
from ..columns import is_sparse, stacked
from ..datasets import Shards
from .sharded import Piece, ShardedRows, Work

ROOM = 2  # part of the limit for rows that are held for longer than a piece; kernel values have another quarter
PIECE = 16  # part of it for one piece, of which there are up to four: read ahead, present, and two copies in a stack
FEW = 8  # rows of a piece fewer than one in this many are read by themselves
WHOLE = 4  # data up to this part of the limit are read at once, and stay in memory


@dataclass(frozen=True)
class Span:
    """Consecutive rows of a shard."""

    shard: int
    first: int
    last: int


class FileRows(ShardedRows):
    """The rows of some shards within a limit of memory."""

    def __init__(self, shards: Shards) -> None:
        self.shards, self.shape, self.dtype = shards, shards.shape, np.dtype(shards.dtype)
        self.is_sparse, self.room = shards.is_sparse, shards.memory_limit // ROOM
        self._pieces = list(self._cut())
        self.offsets = np.cumsum([0, *(sum(span.last - span.first for span in spans) for spans in self._pieces)])
        self.bytes_read = 0

    def _cut(self) -> Iterator[list[Span]]:
        """Pieces of about equal size: small shards are joined, large ones cut."""
        most = self._rows_of_a_piece()
        spans: list[Span] = []
        for shard, count in enumerate(self.shards.counts):
            for first in range(0, count, most):
                span = Span(shard, first, min(first + most, count))
                if spans and sum(each.last - each.first for each in spans) + span.last - span.first > most:
                    yield spans
                    spans = []
                spans.append(span)
        if spans:
            yield spans

    def _rows_of_a_piece(self) -> int:
        """Sparse rows are taken to be like those of the first shard."""
        first = next((shard for shard, count in enumerate(self.shards.counts) if count), None)
        if self.is_sparse and first is not None:
            rows = self.shards.read(first)
            bytes_of_a_row = _bytes(rows) / rows.shape[0]
        else:
            bytes_of_a_row = self.shape[1] * self.dtype.itemsize
        return max(int(self.shards.memory_limit / PIECE / max(bytes_of_a_row, 1.0)), 1)

    def perform(
        self, work: Work, pieces: Sequence[Piece], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Any]:
        if not pieces:
            return
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self._read, pieces[0])
            for place, piece in enumerate(pieces):
                rows = coming.result()
                if place + 1 < len(pieces):
                    coming = ahead.submit(self._read, pieces[place + 1])
                yield work.on(rows, [numbers[piece.places] for numbers in by_row], token)
                del rows

    def take(self, pieces: Sequence[Piece]) -> list[Matrix]:
        return [self._read(piece) for piece in pieces]

    def _read(self, piece: Piece) -> Matrix:
        spans = self._pieces[piece.number]
        own = piece.own
        parts = [self._span(span) for span in spans] if own is None else list(self._some(spans, own))
        rows = parts[0] if len(parts) == 1 else stacked(parts)
        self.bytes_read += _bytes(rows)
        return rows

    def _span(self, span: Span) -> Matrix:
        if (span.first, span.last) == (0, self.shards.counts[span.shard]):
            return self.shards.read(span.shard)
        return self.shards.take(span.shard, np.arange(span.first, span.last))

    def _some(self, spans: Sequence[Span], own: np.ndarray) -> Iterator[Matrix]:
        """Rows of a piece, ascending."""
        begin = 0
        for span in spans:
            size = span.last - span.first
            here = own[(own >= begin) & (own < begin + size)] - begin
            begin += size
            if not len(here):
                continue
            few = len(here) * FEW < size
            yield self.shards.take(span.shard, here + span.first) if few else self._span(span)[here]

    def no_rows(self) -> Matrix:
        if self.is_sparse:
            return sp.csr_array((0, self.shape[1]), dtype=self.dtype)
        return np.empty((0, self.shape[1]), self.dtype)


def _bytes(rows: Matrix) -> int:
    return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes if is_sparse(rows) else rows.nbytes)


def opened(shards: Shards) -> Matrix | FileRows:
    """The rows of shards: a matrix in memory if it takes a small part of the limit, else pieces."""
    rows = FileRows(shards)
    return all_rows(shards) if rows.bytes_of(len(shards)) <= shards.memory_limit / WHOLE else rows


def all_rows(shards: Shards) -> Matrix:
    """The rows of all shards in one matrix."""
    return stacked([shards.read(k) for k in range(len(shards.counts))])
