"""Where the rows of a shard are: a region of a file, an npz or Parquet file, svmlight text, or an array in memory.

A part reads its rows as they are stored. ``Shards`` converts and checks them. Parts of files hold no data: they can be
pickled, and read the file again in another process, where it must not have changed since it was opened.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, Literal

import numpy as np

from ..arrays import Matrix
from .csr_files import read_csr
from .parquet_files import Plan, read_parquet_features
from .svmlight import read_svmlight

Stamp = tuple[int, int]  # size and time of the last change


def stamp_of(path: str) -> Stamp:
    """What differs once a file has been changed."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True, kw_only=True, eq=False)
class Part(ABC):
    """Rows of a file or an array.

    Attributes
    ----------
    name : str
        The file or array in messages.
    first : int
        The number of rows of the file or array before these.
    shape : (int, int)
        Rows and columns; of svmlight text the largest index.
    dtype : numpy.dtype
        As stored.
    sparse : bool
    """

    name: str
    shape: tuple[int, int]
    dtype: np.dtype
    first: int = 0
    sparse: bool = False

    @abstractmethod
    def read(self) -> Matrix:
        """All rows, as they are stored."""

    def take(self, rows: np.ndarray) -> Matrix:
        """Some rows, as they are stored."""
        return self.read()[rows]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayPart(Part):
    """Rows of an array in memory."""

    source: Matrix

    def read(self) -> Matrix:
        """A view of a dense array; SciPy copies the rows of a CSR matrix."""
        return self.source[self.first : self.first + self.shape[0]]

    def take(self, rows: np.ndarray) -> Matrix:
        """Copy these rows."""
        return self.source[self.first + rows]


@dataclass(frozen=True, kw_only=True, eq=False)
class FilePart(Part):
    """Rows of a file, with its absolute path and its size and time when it was opened."""

    path: str
    stamp: Stamp

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """``ValueError`` if the file has been changed since it was opened, also meanwhile."""
        self._check_stamp()
        yield
        self._check_stamp()

    def _check_stamp(self) -> None:
        if stamp_of(self.path) != self.stamp:
            raise ValueError(f"{self.name}: has been changed since it was opened: open the shards again")


@dataclass(frozen=True, kw_only=True, eq=False)
class Region(FilePart):
    """Rows of a dense array that lies uncompressed in a file, from byte ``offset`` on."""

    whole: tuple[int, int]
    offset: int
    order: Literal["C", "F"]

    def read(self) -> np.ndarray:
        """Read instead of mapping: pages of a map count as memory of the process."""
        if self.order == "F":
            return np.asarray(self.take(np.arange(self.shape[0])))
        count, begin = self.shape[0] * self.shape[1], self.first * self.shape[1] * self.dtype.itemsize
        with self.unchanged():
            values = np.fromfile(self.path, self.dtype, count, offset=self.offset + begin)
            if len(values) != count:
                raise ValueError(f"{self.name}: ends after {len(values)} of {count} values")
        return values.reshape(self.shape)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read runs of consecutive rows; of columns that lie together, map the file."""
        with self.unchanged():
            if 0 in self.shape or not len(rows):
                return np.empty((len(rows), self.shape[1]), self.dtype)
            if self.order == "F":
                whole = np.memmap(self.path, self.dtype, "r", self.offset, self.whole, self.order)
                return np.ascontiguousarray(np.asarray(whole)[self.first + rows])
            with open(self.path, "rb") as file:
                ends = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1), len(rows)]
                return np.concatenate([self._run(file, rows[first:last]) for first, last in pairwise(ends)])

    def _run(self, file: BinaryIO, rows: np.ndarray) -> np.ndarray:
        file.seek(self.offset + (self.first + int(rows[0])) * self.shape[1] * self.dtype.itemsize)
        values = np.fromfile(file, self.dtype, len(rows) * self.shape[1])
        if len(values) != len(rows) * self.shape[1]:
            raise ValueError(f"{self.name}: ends before row {int(rows[-1])}")
        return values.reshape(len(rows), self.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class CsrPart(FilePart):
    """The CSR matrix of an npz archive."""

    def read(self) -> Matrix:
        """Read the arrays of the archive."""
        with self.unchanged():
            return read_csr(self.path)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextPart(FilePart):
    """The rows of svmlight text, plain or compressed."""

    def read(self) -> Matrix:
        """Parse the text."""
        with self.unchanged():
            return read_svmlight(self.path, self.shape[1] or None)[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetPart(FilePart):
    """Consecutive row groups of a Parquet file."""

    plan: Plan
    groups: range

    def read(self) -> np.ndarray:
        """Read the row groups."""
        with self.unchanged():
            return read_parquet_features(self.path, self.plan, self.groups)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read only the row groups that hold these rows, one at a time."""
        taken = np.empty((len(rows), self.shape[1]), self.dtype)
        begin = 0
        for group in self.groups:
            inside = (rows >= begin) & (rows < begin + self.plan.rows[group])
            if inside.any():
                with self.unchanged():
                    taken[inside] = read_parquet_features(self.path, self.plan, [group])[rows[inside] - begin]
            begin += self.plan.rows[group]
        return taken


def row_bytes(columns: int, dtype: np.dtype) -> int:
    """Bytes of a dense row, which is converted to double unless it is in single precision."""
    return columns * (4 if is_single(dtype) else 8)


def is_single(dtype: np.dtype) -> bool:
    """Whether this is single precision, in any byte order."""
    return dtype.kind == "f" and dtype.itemsize == 4
