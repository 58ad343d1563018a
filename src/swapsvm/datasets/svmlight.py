"""Reading svmlight (LIBSVM) text piece by piece: plain, bzip2 or gzip, recognized by the first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import operator
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np
from scipy import sparse

from .._core import SvmlightReader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 1 << 18  # bytes
BLOCK = 1 << 20  # bytes of text whose rows are yielded together
OPENERS: dict[bytes, Callable[[IO[bytes]], io.BufferedIOBase]] = {
    b"BZh": bz2.BZ2File,
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
}
LARGEST_RATIO = 128  # of text to compressed bytes: published data sets reach 60
ALWAYS_ALLOWED = 1 << 22  # bytes of text, whatever the ratio

Source = str | os.PathLike[str] | bytes | BinaryIO


def read_svmlight(source: Source, n_features: int | None = None) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Read rows in svmlight (LIBSVM) format.

    A line is ``label index:value index:value ... # comment``.

    Parameters
    ----------
    source : path, bytes or binary file
        The text, plain or compressed by bzip2 or gzip. ``bytes`` are the content, not a path.
    n_features : int, optional
        Number of columns; by default the largest index that occurs.

    Returns
    -------
    X : csr_matrix of float64, shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,)

    Raises
    ------
    ValueError
        If an entry is malformed; the message has the file and the line. Indices start at 1 and increase within a row;
        labels and values are finite numbers; ``qid:`` is ignored.

    Examples
    --------
    >>> from swapsvm.datasets import read_svmlight
    >>> X, y = read_svmlight(b"+1 1:0.5 3:2 # first\\n-1 2:1\\n")
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    columns = 0 if n_features is None else operator.index(n_features)
    if columns < (n_features is not None):
        raise ValueError(f"n_features must be at least 1, not {n_features}")
    with content_errors_named(source):
        return parse(pieces(source), columns)


def parse(text: Iterable[bytes], n_features: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows and labels of a text in pieces; if ``n_features`` is 0, the largest index gives the columns."""
    reader = SvmlightReader(n_features)
    for piece in text:
        reader.feed(piece)
    return _finished(reader)


def blocks(source: Source, n_features: int = 0) -> Iterator[tuple[sparse.csr_matrix, np.ndarray]]:
    """Rows and labels, about a megabyte of text at a time; without ``n_features`` the blocks differ in columns."""
    reader, fed = SvmlightReader(n_features), 0
    with content_errors_named(source):
        for piece in pieces(source):
            lines, newline, rest = piece.rpartition(b"\n")
            reader.feed(lines + newline)
            fed += len(piece)
            if newline and fed >= BLOCK:  # between two lines
                yield _finished(reader)
                fed = 0
            reader.feed(rest)
        yield _finished(reader)


def _finished(reader: SvmlightReader) -> tuple[sparse.csr_matrix, np.ndarray]:
    labels, data, indices, indptr, columns = reader.finish()
    return sparse.csr_matrix((data, indices, indptr), shape=(len(labels), columns)), labels


def pieces(source: Source) -> Iterator[bytes]:
    """The uncompressed text."""
    with opened(source) as file, unpacked(file) as text:
        yield from iter(lambda: text.read(PIECE), b"")


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The source as a binary file; a file that the caller opened stays open."""
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            yield file
    elif isinstance(source, io.TextIOBase):
        raise ValueError("is open as text: open the file in binary mode")
    else:
        yield source


@contextmanager
def unpacked(file: BinaryIO) -> Iterator[BinaryIO]:
    """The file, decompressed if its first bytes say so; ``ValueError`` for a decompression bomb."""
    source = Counted(file)
    buffered = io.BufferedReader(source)
    head = buffered.peek(8)
    opener = next((opener for magic, opener in OPENERS.items() if head.startswith(magic)), None)
    yield io.BufferedReader(Bounded(opener(buffered), source), PIECE) if opener else buffered


class Counted(io.RawIOBase):
    """The rest of a binary file and, as far as known, its length. Closing this leaves the file open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._read, self.length = file, 0, 0
        if file.seekable():
            here = file.tell()
            self.length = file.seek(0, io.SEEK_END) - here
            file.seek(here)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]  # not in typing's BinaryIO
        self._read += count or 0
        self.length = max(self.length, self._read)
        return count


class Bounded(io.RawIOBase):
    """Decompressed text whose length must not exceed a multiple of the compressed bytes."""

    def __init__(self, text: io.BufferedIOBase, packed: Counted) -> None:
        self._text, self._packed, self._read = text, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._text.readinto(buffer)
        self._read += count
        if self._read > max(LARGEST_RATIO * self._packed.length, ALWAYS_ALLOWED):
            raise ValueError(
                f"expands to more than {LARGEST_RATIO} times its {self._packed.length} compressed bytes, like a "
                "decompression bomb: if the content is right, decompress it first"
            )
        return count


@contextmanager
def content_errors_named(source: Source, *others: type[Exception]) -> Iterator[None]:
    """Turn errors about the content into a ``ValueError`` that names the source; those of the system stay."""
    kinds: tuple[type[Exception], ...] = (ValueError, EOFError, OSError, zlib.error, *others)
    try:
        yield
    except kinds as error:
        if getattr(error, "errno", None) is not None:  # no such file, no permission
            raise
        if isinstance(error, UnicodeDecodeError):
            bad = error.object[error.start]
            raise ValueError(
                f"{name_of(source)}: is not UTF-8 text (it has the byte 0x{bad:02x}): save it as UTF-8"
            ) from None
        raise ValueError(f"{name_of(source)}: {error}") from None


def name_of(source: Source) -> str:
    """The name of the source in error messages."""
    if isinstance(source, bytes):
        return "<bytes>"
    return str(source) if isinstance(source, str | os.PathLike) else str(getattr(source, "name", "<file>"))
