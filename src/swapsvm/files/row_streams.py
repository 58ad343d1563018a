"""Files as streams of blocks of rows, which can be read more than once, each time at a steady memory.

svmlight text, CSV, Parquet and npy are read piece by piece; npz cannot be, and is read as a whole.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import Matrix
from ..columns import is_sparse
from ..container import require
from ..datasets import Shards
from ..datasets.array_files import mapped, member_names, parser_errors_named
from ..datasets.budget import memory_share
from ..datasets.labels import labels_file
from ..datasets.parquet_files import parquet_blocks, plan_parquet
from ..datasets.svmlight import blocks
from .array_tables import read_npz
from .csv_tables import csv_blocks
from .table import Request
from .tables import format_of

PIECE = 1 << 20  # bytes of a block, about

Block = tuple[Matrix, np.ndarray | None]  # rows and labels


class Stream(NamedTuple):
    """A source of rows: its name, how to read it, and whether its labels are cells of text that can be numbers."""

    name: str
    read: Callable[[], Iterator[Block]]
    cells: bool = False

    def blocks(self, most: int = PIECE) -> Iterator[Block]:
        """The rows, at most this many bytes at a time, about, and at most a megabyte."""
        for X, y in self.read():
            step = max(1, X.shape[0] * min(most, PIECE) // max(bytes_in(X), 1))
            for begin in range(0, X.shape[0], step):
                inside = slice(begin, begin + step)
                yield (X, y) if step >= X.shape[0] else (X[inside], None if y is None else y[inside])


def bytes_in(X: Matrix) -> int:
    """Bytes of the arrays of a matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else int(X.nbytes)


def stream_of(source: str | os.PathLike[str], label: str | None, memory: int) -> Stream:
    """A file by its extension, or a folder of shards."""
    name = os.fspath(source)
    require(name != "-", "standard input cannot be read twice: name a file")
    if os.path.isdir(source):
        return Stream(name, lambda: _of_shards(Shards(source, label=label, memory_limit=memory)))
    return STREAMS[format_of(source)](Path(source), label, memory)


def _svmlight(path: Path, label: str | None, memory: int) -> Stream:
    return Stream(str(path), lambda: blocks(path))


def _csv(path: Path, label: str | None, memory: int) -> Stream:
    return Stream(str(path), lambda: csv_blocks(path, Request(label)), cells=True)


def _parquet(path: Path, label: str | None, memory: int) -> Stream:
    def read() -> Iterator[Block]:
        plan = plan_parquet(path, lambda names: Request(label).column(names, named=True))
        return parquet_blocks(path, plan, plan.dtype)

    return Stream(str(path), read)


def _npy(path: Path, label: str | None, memory: int) -> Stream:
    """Labels are in NAME.labels.npy, or else in y.npy in the same folder."""
    other = path.with_name("y.npy")
    foreign = other.exists() and other != path and not labels_file(path).exists()

    def read() -> Iterator[Block]:
        return _of_shards(Shards([path], y=mapped(other) if foreign else None, memory_limit=memory))

    return Stream(str(path), read)


def _npz(path: Path, label: str | None, memory: int) -> Stream:
    """Arrays X and y, or a CSR matrix with its labels in NAME.labels.npy."""

    def read() -> Iterator[Block]:
        with parser_errors_named(path, "npz"), zipfile.ZipFile(path) as archive:
            dense = "X" in member_names(archive)
        if dense:
            return iter([read_npz(path, Request())])
        return _of_shards(Shards([path], memory_limit=memory_share(1)))

    return Stream(str(path), read)


def _of_shards(shards: Shards) -> Iterator[Block]:
    for k, (begin, end) in enumerate(zip(shards.offsets, shards.offsets[1:], strict=False)):
        yield shards.read(k), None if shards.y is None else shards.y[begin:end]


STREAMS: dict[str, Callable[[Path, str | None, int], Stream]] = {
    "svmlight": _svmlight,
    "csv": _csv,
    "parquet": _parquet,
    "npz": _npz,
    "npy": _npy,
}
