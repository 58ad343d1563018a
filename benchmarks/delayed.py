"""Rows in pieces in memory behind an imaginary network: rounds, tasks and bytes take time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from swapsvm._core import StopToken
from swapsvm.arrays import Matrix
from swapsvm.passes import ShardedRows
from swapsvm.passes.blocks import Block, Meeting, TwoBlocks, pairs_of
from swapsvm.passes.sharded import Piece, Work

from .cluster_model import Network

LITTLE = 1 << 24  # kernel values that the client computes itself, as with Dask


class DelayedRows(ShardedRows):
    """Dense rows in equal pieces; each pass and each request for rows sleeps as long as the network would take."""

    is_sparse = False

    def __init__(self, X: np.ndarray, pieces: int, network: Network, room: int) -> None:
        self._pieces, self._network, self.room = np.array_split(X, pieces), network, room
        self.shape, self.dtype = X.shape, X.dtype
        self.offsets = np.cumsum([0, *(len(piece) for piece in self._pieces)])
        self.rounds = self.tasks = self.bytes_moved = 0
        self.values: Counter[str] = Counter()  # of the kernel, in passes, by verb

    def is_little(self, rows: int, vectors: int) -> bool:
        """As with Dask."""
        return rows * vectors <= LITTLE and super().is_little(rows, vectors)

    def perform(
        self, work: Work, pieces: Sequence[Piece], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Any]:
        numbers = [[values[piece.places] for values in by_row] for piece in pieces]
        found = [work.on(self._rows_of(piece), own, token) for piece, own in zip(pieces, numbers, strict=True)]
        if work.vectors is not None:
            self.values[work.verb.__name__] += work.vectors.shape[0] * sum(len(piece.places) for piece in pieces)
        sent = _bytes([work.vectors, *work.shared, *(array for own in numbers for array in own)])
        self._wait(len(pieces), sent + _bytes(found))
        return iter(found)

    def meet(
        self, meeting: Meeting, blocks: Sequence[Block], token: StopToken | None
    ) -> Iterator[tuple[TwoBlocks, tuple[np.ndarray, ...]]]:
        """A task for each block, and one for each pair of them, as with Dask."""
        self.passes += 1
        every = np.concatenate(self._pieces)
        found = []
        for places in pairs_of(len(blocks)):
            some = [blocks[place] for place in sorted(set(places))]
            found.append(meeting.of([every[block.rows] for block in some], [block.coef for block in some], token))
            self.values["symmetric"] += len(some[0].rows) * len(some[-1].rows) // (3 - len(some))
        self._wait(len(blocks) + len(found), _bytes([sums for parts in found for sums in parts]))
        return zip(pairs_of(len(blocks)), found, strict=True)

    def take(self, pieces: Sequence[Piece]) -> list[Matrix]:
        found = [self._rows_of(piece) for piece in pieces]
        self._wait(len(pieces), _bytes(found))
        return found

    def no_rows(self) -> Matrix:
        return np.empty((0, self.shape[1]), self.dtype)

    def _rows_of(self, piece: Piece) -> Matrix:
        rows = self._pieces[piece.number]
        return rows if piece.own is None else rows[piece.own]

    def _wait(self, tasks: int, moved: int) -> None:
        self.rounds, self.tasks, self.bytes_moved = self.rounds + 1, self.tasks + tasks, self.bytes_moved + moved
        network = self._network
        seconds = network.per_round + tasks * network.per_task + moved / network.bandwidth
        if seconds > 0:
            time.sleep(seconds)


def _bytes(values: Sequence[Any]) -> int:
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
