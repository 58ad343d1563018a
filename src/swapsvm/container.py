"""Arrays and a header in one file: a prefix, a header in JSON, arrays as they lie in memory, a checksum.

    magic      12 bytes   what the file is: as in PNG, a byte beyond ASCII and both line ends show a transfer as text
    version     4 bytes   of the format
    length      8 bytes   of the whole file
    header      8 bytes   length of the header
    ...                   the header: JSON in ASCII; its ``arrays`` list name, type and shape of each array
    ...                   the arrays, in that order, C-contiguous
    checksum   32 bytes   SHA-256 of everything before it

All numbers are little-endian. A reader looks at the prefix, then at the checksum, and only then at the rest. Nothing in
a file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .writing import PathLike, whole_file

PREFIX = struct.Struct("<12sIQQ")
CHECKSUM = hashlib.sha256().digest_size
PIECE = 1 << 20  # bytes
TYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|U[0-9]{1,9})")


def require(condition: Any, complaint: str) -> None:
    """``ValueError`` with the complaint, unless the condition holds."""
    if not condition:
        raise ValueError(complaint)


@dataclass(frozen=True)
class Format:
    """What a kind of files begins with, up to which version it is known, and what it is called."""

    magic: bytes
    version: int
    name: str

    def write(self, path: PathLike, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """A file with this header, of what JSON has, and these arrays; it appears as a whole or not at all."""
        stored = {name: _little_endian(values) for name, values in arrays.items()}
        listing = [{"name": name, "type": a.dtype.str, "shape": a.shape} for name, a in stored.items()]
        text = json.dumps({**header, "arrays": listing}, allow_nan=False).encode("ascii")
        length = PREFIX.size + len(text) + sum(array.nbytes for array in stored.values()) + CHECKSUM
        digest = hashlib.sha256()
        with whole_file(path) as file:
            for piece in (
                PREFIX.pack(self.magic, self.version, length, len(text)),
                text,
                *map(_bytes, stored.values()),
            ):
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())

    def read_header(self, file: BinaryIO) -> tuple[dict[str, Any], int]:
        """The header, and how many bytes of arrays come after it, once the checksum is found right."""
        size = os.fstat(file.fileno()).st_size
        length = self._check_prefix(file.read(PREFIX.size), size)
        _check_digest(file, size)
        file.seek(PREFIX.size)
        header = json.loads(file.read(length))
        require(isinstance(header, dict), "its header is malformed: it is not an object")
        return header, size - PREFIX.size - length - CHECKSUM

    def read(self, file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The header and the arrays."""
        header, room = self.read_header(file)
        listing = [(entry["name"], _type(entry["type"]), _shape(entry["shape"])) for entry in header["arrays"]]
        total = sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in listing)
        require(total == room, f"its arrays take {total} bytes but {room} are there")
        return header, {name: _read_array(file, dtype, shape) for name, dtype, shape in listing}

    def _check_prefix(self, prefix: bytes, size: int) -> int:
        """The length of the header of a file that begins so and is so long."""
        require(prefix[: len(self.magic)] == self.magic, f"is not {self.name}")
        require(len(prefix) == PREFIX.size, "is truncated: it ends within its first bytes")
        _, version, length, header_length = PREFIX.unpack(prefix)
        require(
            version <= self.version,
            f"was written by a newer swapsvm (format {version}; this one reads up to {self.version}): upgrade swapsvm",
        )
        require(version == self.version, f"is damaged: there is no format {version}")
        require(size >= length, f"is truncated: {size} of {length} bytes are there")
        require(size == length, f"is damaged: it has {size} bytes instead of {length}")
        require(PREFIX.size + header_length + CHECKSUM <= size, "is damaged: its header is longer than the file")
        return int(header_length)


@contextmanager
def faults_named(path: PathLike) -> Iterator[None]:
    """Whatever is wrong with the content of a file as a ``ValueError`` that names the file."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"{path}: its header lacks {missing}") from None
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path}: its header is malformed: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def opened(path: PathLike) -> Iterator[BinaryIO]:
    """The file to read, its faults named."""
    with Path(path).open("rb") as file, faults_named(path):
        yield file


def check_text(texts: np.ndarray) -> None:
    """``ValueError`` unless text of fixed width is Unicode: NumPy looks only when a value is taken out."""
    codes = np.ascontiguousarray(texts).view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))
    require(not codes.size or codes.max() <= 0x10FFFF, "it has text that is not Unicode")


def _check_digest(file: BinaryIO, size: int) -> None:
    """Nothing, unless the last bytes are not the checksum of all before them."""
    file.seek(0)
    digest, left = hashlib.sha256(), size - CHECKSUM
    while left:
        piece = file.read(min(PIECE, left))
        require(piece, "is truncated: it became shorter while it was read")
        digest.update(piece)
        left -= len(piece)
    require(file.read() == digest.digest(), "is damaged: its checksum does not match")


def _type(name: Any) -> np.dtype:
    require(isinstance(name, str) and TYPE.fullmatch(name), f"it has an array of unknown type {name!r}")
    return np.dtype(name)


def _shape(sizes: Any) -> tuple[int, ...]:
    require(
        isinstance(sizes, list) and len(sizes) <= 2 and all(type(size) is int and size >= 0 for size in sizes),
        f"it has an array of impossible shape {sizes!r}",
    )
    return tuple(sizes)


def _read_array(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    array = np.frombuffer(file.read(dtype.itemsize * math.prod(shape)), dtype).reshape(shape)
    if dtype.kind == "U" and array.size:
        check_text(array)
    return array.astype(dtype.newbyteorder("="))  # a copy: writable, aligned, in the machine's order


def _little_endian(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _bytes(array: np.ndarray) -> Any:
    """The memory of the array: no copy."""
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""
