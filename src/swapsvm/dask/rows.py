"""The rows of a Dask collection, on the workers of a cluster."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import Client, KilledWorker, wait

from .._core import Stopped, StopToken, usable_threads
from ..arrays import Matrix
from ..gram import largest_automatic_cache
from ..passes import ShardedRows
from ..passes.blocks import Block, Meeting, TwoBlocks, pairs_of
from ..passes.sharded import KEPT_PART, Piece, Places, Work
from ..passes.verbs import ColumnsVerb
from . import tasks
from .parts import ClusterError, results_of

SENT_APART = 1 << 16  # bytes; larger arrays are sent to the workers once, not with each task
SENT = 4  # of them that are kept for the next pass
LITTLE = 1 << 25  # kernel values of a thread here that take less time than a round trip to the workers
LIGHT = 1 << 28  # kernel values, for each thread of the workers, of a pass that pieces of a worker make together
BATCH_PART = 16  # of a worker's memory: pieces that are worked on together take at most one part in this many
BATCH = 1 << 28  # bytes of such pieces where workers have no limit
COLUMNS_PART = 4  # of the workers' memory: kernel values with landmarks are kept in one part in this many
AHEAD = 4  # times the threads here that workers must have before passes take less time than a fit here
TOGETHER = 16  # results, at most, of one round trip
ATTEMPTS = 5  # to compute a piece whose data were lost with a worker
WAIT = 0.2  # seconds between two looks at the token
FRAGMENTED, FEW_ROWS = 1000, 1000  # parts, and rows of a part on average, that call for a warning
UNEVEN = 10  # times the mean that the largest part may be


@dataclass
class Asked:
    """Batches of pieces that were submitted, and results of pieces that have arrived."""

    batches: Sequence[Sequence[Piece]]
    submit: Callable[[Sequence[Piece]], Any]
    futures: list[Any] = field(default_factory=list)  # None: its results have arrived
    ready: dict[int, Any] = field(default_factory=dict)  # by number of the piece

    def begin(self) -> None:
        self.futures = [self.submit(batch) for batch in self.batches]
        self.place_of = {piece.number: place for place, batch in enumerate(self.batches) for piece in batch}

    def receive(self, place: int, results: Sequence[Any]) -> None:
        self.futures[place] = None
        self.ready.update(zip((piece.number for piece in self.batches[place]), results, strict=True))


@dataclass(frozen=True, eq=False)
class Pair(Piece):
    """Blocks of rows that are multiplied with each other. Its places are those of the blocks in a list."""

    rows: int


@dataclass(frozen=True, eq=False)
class KeptOnWorkers:
    """Kernel values of rows of some pieces with vectors, one future for each piece."""

    rows: DaskRows
    pieces: Sequence[Piece]
    kept: dict[int, Any]
    count: int  # of the vectors

    def each(
        self, verb: ColumnsVerb, shared: tuple[Any, ...], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Places]:
        """A pass over them."""
        for piece, found in zip(self.pieces, self.rows.with_columns(self, verb, shared, by_row, token), strict=True):
            yield piece.places, found


class DaskRows(ShardedRows):
    """Rows as futures, one for each part of a collection."""

    def __init__(self, client: Client, parts: Sequence[Any]) -> None:
        self._client, self.tasks, self.rounds = client, 0, 0
        self.bytes_sent = self.bytes_received = 0  # to and from all workers: arrays, without what Dask adds
        found = results_of([client.submit(tasks.describe, part) for part in parts], "X")
        self._check(found)
        self.names = found[0].names
        self.is_sparse = found[0].sparse
        self.dtype = np.dtype(np.float32 if all(part.single for part in found) else np.float64)
        self.counts = [part.shape[0] for part in found]
        self._sizes = [part.bytes for part in found]
        self.offsets = np.cumsum([0, *self.counts])
        self.shape = int(self.offsets[-1]), found[0].shape[1]
        self.room = largest_automatic_cache()
        self._threads_here, self._threads_there = usable_threads(0), sum(client.nthreads().values())
        names = [f"part {k} of X" for k in range(len(parts))]
        self._pieces = [
            client.submit(tasks.as_matrix, part, name, self.dtype.str) for part, name in zip(parts, names, strict=True)
        ]
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [limit for worker in workers if (limit := worker.get("memory_limit"))]
        self._limits, self._memory = sorted(set(limits)), sum(limits)
        self._sent: OrderedDict[bytes, Any] = OrderedDict()
        self._warn()

    @staticmethod
    def _check(found: Sequence[tasks.Described]) -> None:
        if not found:
            raise ValueError("X has no parts")
        first = found[0]
        for k, part in enumerate(found):
            if len(part.shape) != 2:
                raise ValueError(f"part {k} of X has the shape {part.shape}: rows and columns are needed")
            if part.shape[1] != first.shape[1]:
                raise ValueError(f"part {k} of X has {part.shape[1]} columns, and part 0 has {first.shape[1]}")
            if part.sparse != first.sparse:
                raise ValueError(f"part {k} of X is {'sparse' if part.sparse else 'dense'}, and part 0 is not")
            if part.names != first.names:
                raise ValueError(f"part {k} of X has the columns {part.names}, and part 0 has {first.names}")
        if not any(part.shape[0] for part in found):
            raise ValueError(f"X has no rows in its {len(found)} parts")

    def _warn(self) -> None:
        rows, parts = self.shape[0], len(self.counts)
        if parts > FRAGMENTED and rows < FEW_ROWS * parts:
            warnings.warn(
                f"X has {parts} parts of {rows // parts} rows on average: each pass is one task for each of them. "
                "Larger parts, as from X.rechunk or X.repartition, take less time.",
                stacklevel=2,
            )
        workers = len(self._client.nthreads())
        if workers > 1 and max(self.counts) > UNEVEN * rows / parts:
            warnings.warn(
                f"the largest part of X has {max(self.counts)} of {rows} rows: others wait for its worker in each pass",
                stacklevel=2,
            )

    def is_little(self, rows: int, vectors: int) -> bool:
        """Few kernel values as well: more of them are computed sooner by all workers."""
        return rows * vectors <= LITTLE * self._threads_here and super().is_little(rows, vectors)

    def fit_here(self) -> bool:
        """Whether a fit of all rows here takes less time than passes over them.

        Passes take up to twice the processor time of a fit in memory, and wait for the network.
        """
        return sum(self._sizes) <= self.room / KEPT_PART and self._threads_there <= AHEAD * self._threads_here

    def brought(self) -> Matrix:
        """All rows, here."""
        return self._fetched(np.arange(len(self)))

    # ---- passes --------------------------------------------------------------------------------------------------

    def perform(
        self, work: Work, pieces: Sequence[Piece], by_row: Sequence[np.ndarray], token: StopToken | None
    ) -> Iterator[Any]:
        batches = self._batches(pieces, 1 if work.vectors is None else work.vectors.shape[0])
        how = (
            None if work.how is None else replace(work.how, threads=max(1, self._threads_there // max(len(batches), 1)))
        )
        keys = [_key_of(value) for value in (work.vectors, *work.shared)]

        def submit(batch: Sequence[Piece]) -> Any:
            vectors, *shared = map(self._apart, (work.vectors, *work.shared), keys)
            numbers = [[values[piece.places] for values in by_row] for piece in batch]
            self.bytes_sent += _bytes_in(vectors, *shared, *chain(*numbers))
            return self._submit(tasks.perform, batch, vectors, work.verb, how, shared, numbers)

        return self._results(pieces, Asked(batches, submit), token)

    def meet(
        self, meeting: Meeting, blocks: Sequence[Block], token: StopToken | None
    ) -> Iterator[tuple[TwoBlocks, tuple[np.ndarray, ...]]]:
        """Blocks are cut out of the pieces by the workers, and each pair of them is a task."""
        held = [self._submit(tasks.joined, self.pieces_of(block.rows)) for block in blocks]
        pairs = [_pair(number, places, blocks) for number, places in enumerate(pairs_of(len(blocks)))]
        shared = replace(meeting, how=replace(meeting.how, threads=max(1, self._threads_there // len(pairs))))
        self.passes += 1

        def submit(batch: Sequence[Piece]) -> Any:
            places = batch[0].places
            coefs = [blocks[place].coef for place in places]
            self.bytes_sent += _bytes_in(*coefs)
            return self._submitted(batch[0], tasks.meet, shared, [held[place] for place in places], coefs)

        found = self._results(pairs, Asked([[pair] for pair in pairs], submit), token)
        return zip(pairs_of(len(blocks)), found, strict=True)

    def keep_columns(self, work: Work, rows: np.ndarray) -> KeptOnWorkers | None:
        """As futures: Dask computes again what is lost with a worker, and spills what is too much."""
        if work.how is None or work.vectors is None:
            return None
        count = work.vectors.shape[0]
        if 4 * count * len(rows) > self._memory / COLUMNS_PART:
            return None
        pieces = self.pieces_of(rows)
        how = replace(work.how, threads=max(1, self._threads_there // max(len(pieces), 1)))
        vectors = self._apart(work.vectors, _key_of(work.vectors))
        own = [None if piece.own is None else tasks.packed(piece.own, self.counts[piece.number]) for piece in pieces]
        kept = {
            piece.number: self._submitted(
                piece, tasks.columns_of, self._pieces[piece.number], some, vectors, how, work.shared
            )
            for piece, some in zip(pieces, own, strict=True)
        }
        return KeptOnWorkers(self, pieces, kept, count)

    def with_columns(
        self,
        columns: KeptOnWorkers,
        verb: ColumnsVerb,
        shared: tuple[Any, ...],
        by_row: Sequence[np.ndarray],
        token: StopToken | None,
    ) -> Iterator[Any]:
        """A pass over kept kernel values, as ``perform`` makes one over rows."""
        batches = self._batches(columns.pieces, columns.count)
        size = columns.count, max(1, self._threads_there // max(len(batches), 1))
        self.passes += 1

        def submit(batch: Sequence[Piece]) -> Any:
            numbers = [[values[piece.places] for values in by_row] for piece in batch]
            self.bytes_sent += _bytes_in(*shared, *chain(*numbers))
            kept = [columns.kept[piece.number] for piece in batch]
            return self._submitted(batch[0], tasks.with_columns, kept, size, verb, shared, numbers)

        return self._results(columns.pieces, Asked(batches, submit), token)

    def take(self, pieces: Sequence[Piece]) -> list[Matrix]:
        asked = Asked(self._batches(pieces, 1), lambda batch: self._submit(tasks.taken, batch))
        return list(self._results(pieces, asked, None))

    def no_rows(self) -> Matrix:
        if self.is_sparse:
            return sp.csr_array((0, self.shape[1]), dtype=self.dtype)
        return np.empty((0, self.shape[1]), self.dtype)

    def _submit(self, task: Any, batch: Sequence[Piece], *arguments: Any) -> Any:
        own = [None if piece.own is None else tasks.packed(piece.own, self.counts[piece.number]) for piece in batch]
        self.bytes_sent += _bytes_in(*own)
        return self._submitted(batch[0], task, [self._pieces[piece.number] for piece in batch], own, *arguments)

    def _submitted(self, piece: Piece, task: Any, *arguments: Any) -> Any:
        self.tasks += 1
        try:
            return self._client.submit(task, *arguments, pure=False)
        except Exception:
            self._check_client(piece)
            raise

    def _batches(self, pieces: Sequence[Piece], vectors: int) -> list[list[Piece]]:
        """What one task works on: the pieces of a worker if the pass takes little time, else each alone.

        A task costs some milliseconds of the scheduler and the client, however little it does.
        """
        light = vectors * sum(len(piece.places) for piece in pieces) <= LIGHT * self._threads_there
        if not (light and all(future.done() for future in self._pieces)):
            return [[piece] for piece in pieces]
        batches: dict[int, list[Piece]] = {}
        for piece in pieces:
            batches.setdefault(self._group_of[piece.number], []).append(piece)
        return list(batches.values())

    @cached_property
    def _group_of(self) -> list[int]:
        """A group for each piece, named by its first: they are on one worker, and take little of its memory."""
        most = min(self._limits, default=BATCH * BATCH_PART) / BATCH_PART
        holders = self._client.who_has(self._pieces)
        groups: list[int] = []
        bytes_of_last, last = dict[str, float](), dict[str, int]()
        for future, size in zip(self._pieces, self._sizes, strict=True):
            worker = next(iter(holders.get(future.key) or [future.key]))
            if worker not in last or bytes_of_last[worker] + size > most:
                last[worker], bytes_of_last[worker] = len(groups), 0.0
            bytes_of_last[worker] += size
            groups.append(last[worker])
        return groups

    def _apart(self, value: Any, key: bytes | None) -> Any:
        """A value, or, of a large array, which has a key, a future that all workers can read."""
        if key is None:
            return value
        if key not in self._sent:
            self._sent[key] = self._client.scatter(value, broadcast=True, hash=False)
            self.bytes_sent += _bytes(value) * len(self._client.nthreads())
        self._sent.move_to_end(key)
        while len(self._sent) > SENT:
            self._sent.popitem(last=False)
        return self._sent[key]

    def _results(self, pieces: Sequence[Piece], asked: Asked, token: StopToken | None) -> Iterator[Any]:
        """Results in the order of the pieces; what was lost with a worker is asked for again."""
        self.rounds += bool(pieces)
        asked.begin()
        try:
            for piece in pieces:
                if piece.number not in asked.ready:
                    self._receive(asked, asked.place_of[piece.number], token)
                yield self._received(asked.ready.pop(piece.number))
        finally:
            pending = [future for future in asked.futures if future is not None]
            if pending:
                self._client.cancel(pending)

    def _receive(self, asked: Asked, place: int, token: StopToken | None) -> None:
        """Wait for a batch, and take all that is finished by then in one round trip."""
        batch = asked.batches[place]
        self._wait(asked.futures[place], batch[0], token)
        found = self._together(asked.futures[place : place + TOGETHER])
        for number, results in enumerate(found, place):
            asked.receive(number, results)
        if not found and len(batch) == 1:
            asked.receive(place, self._again(asked, place, batch[0], token))
        elif not found:  # one by one, they say what is wrong
            self.__dict__.pop("_group_of", None)
            asked.receive(place, [self._again(asked, place, piece, token)[0] for piece in batch])

    def _together(self, futures: Sequence[Any]) -> list[Any]:
        """Results of the first of these futures as far as they are finished; none if anything is wrong."""
        finished = list(takewhile(lambda future: future.status == "finished", futures))
        try:
            return self._client.gather(finished)
        except Exception:
            return []

    def _again(self, asked: Asked, place: int, piece: Piece, token: StopToken | None) -> Any:
        """The result of one piece, asked for again as often as it is lost."""
        if len(asked.batches[place]) > 1:
            asked.futures[place] = asked.submit([piece])
        for _ in range(ATTEMPTS):
            try:
                return self._result(asked.futures[place], piece, token)
            except CancelledError:
                self._check_client(piece)
                self._sent.clear()
                asked.futures[place] = asked.submit([piece])
        raise self._lost(piece)

    def _received(self, found: Any) -> Any:
        self.bytes_received += _bytes_in(found)
        return found

    def _wait(self, future: Any, piece: Piece, token: StopToken | None) -> None:
        while not future.done():
            try:
                wait([future], timeout=WAIT)
            except TimeoutError:
                self._check_client(piece)
            except CancelledError:  # its data were lost, as its result will say
                return
            if token is not None and token.stopped:
                raise Stopped

    def _result(self, future: Any, piece: Piece, token: StopToken | None) -> Any:
        self._wait(future, piece, token)
        try:
            return future.result()
        except KilledWorker:
            raise self._killed(piece) from None
        except MemoryError as error:
            raise self._killed(piece) from error

    # ---- what is said when things fail ---------------------------------------------------------------------------

    def _about(self, piece: Piece) -> str:
        if isinstance(piece, Pair):
            return f"{piece.rows} rows of X"
        first, last = self.offsets[piece.number], self.offsets[piece.number + 1]
        size = self.bytes_of(int(last - first)) / 2**20 if not self.is_sparse else 0.0
        return f"part {piece.number} of X (rows {first} to {last - 1}" + (f", {size:.3g} MiB)" if size else ")")

    def _killed(self, piece: Piece) -> ClusterError:
        shown = ", ".join(f"{limit / 2**20:.0f} MiB" for limit in self._limits) or "unknown"
        return ClusterError(
            f"workers died while they computed with {self._about(piece)}; their memory limit is {shown}. Cut X into "
            "smaller parts, or start workers with more memory (memory_limit=). A checkpoint continues the fit."
        )

    def _lost(self, piece: Piece) -> ClusterError:
        return ClusterError(
            f"{self._about(piece)} was lost and cannot be computed again. Data that were scattered or persisted by "
            "hand die with their worker: pass a collection that Dask can compute."
        )

    def _check_client(self, piece: Piece) -> None:
        if self._client.status != "running":
            raise ClusterError(
                f"the connection to the Dask scheduler was lost ({self._client.status}) before {self._about(piece)} "
                "was computed. Fit again with a new client; with checkpoint=... the fit goes on where it was."
            )


def _pair(number: int, places: tuple[int, int], blocks: Sequence[Block]) -> Pair:
    distinct = np.unique(places)
    return Pair(number, distinct, None, sum(len(blocks[place].rows) for place in distinct))


def _key_of(value: Any) -> bytes | None:
    """A digest of a large array; None for what is sent with each task."""
    if _bytes_in(value) < SENT_APART:
        return None
    return hashlib.blake2b(pickle.dumps(value, protocol=5), digest_size=16).digest()


def _bytes_in(*values: Any) -> int:
    """Of the arrays among some values."""
    return sum(_bytes(value) for value in values if isinstance(value, np.ndarray) or sp.issparse(value))


def _bytes(value: Any) -> int:
    return int(value.data.nbytes + value.indices.nbytes if sp.issparse(value) else value.nbytes)
