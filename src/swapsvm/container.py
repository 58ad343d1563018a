"""A file format for a header and arrays.

    magic      12 bytes   kind of file; as in PNG, a non-ASCII byte and both line ends reveal a transfer as text
    version     4 bytes   version of the format
    length      8 bytes   length of the whole file
    header      8 bytes   length of the header
    ...                   the header: JSON in ASCII; its ``arrays`` list name, type and shape of each array
    ...                   the arrays in that order, C-contiguous
    checksum   32 bytes   SHA-256 of everything before it

All numbers are little-endian. A reader checks the prefix, then the checksum, and only then reads the rest. Nothing in a
file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias

import numpy as np

from .writing import PathLike, whole_file

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
PREFIX = struct.Struct("<12sIQQ")
CHECKSUM = hashlib.sha256().digest_size
PIECE = 1 << 20  # bytes
TYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|U[0-9]{1,9})")


def require(condition: object, complaint: str) -> None:
    """Raise ``ValueError`` with the complaint unless the condition holds."""
    if not condition:
        raise ValueError(complaint)


def as_mapping(value: Json) -> dict[str, Json]:
    """The value, which must be a JSON object."""
    return value if isinstance(value, dict) else _malformed(value, "an object")


def as_list(value: Json) -> list[Json]:
    """The value, which must be a JSON list."""
    return value if isinstance(value, list) else _malformed(value, "a list")


def as_text(value: Json) -> str:
    """The value, which must be JSON text."""
    return value if isinstance(value, str) else _malformed(value, "text")


def as_sizes(value: Json) -> tuple[int, ...]:
    """The value, which must be a list of non-negative integers, as a tuple."""
    sizes = tuple(size for size in as_list(value) if type(size) is int and size >= 0)
    require(len(sizes) == len(as_list(value)), f"it has an impossible shape or list of sizes {value!r}")
    return sizes


def _malformed(value: Json, wanted: str) -> NoReturn:
    raise ValueError(f"its header is malformed: {str(value)[:40]!r} is not {wanted}")


@dataclass(frozen=True)
class Format:
    """A kind of file: its first bytes, its newest version, its name in error messages, its oldest version.

    By default only the newest version can be read.
    """

    magic: bytes
    version: int
    name: str
    oldest: int | None = None

    def write(self, path: PathLike, header: Mapping[str, Json], arrays: Mapping[str, np.ndarray]) -> None:
        """Write a header and arrays; the file is written completely or not at all."""
        stored = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
        listing = [{"name": name, "type": a.dtype.str, "shape": a.shape} for name, a in stored.items()]
        text = json.dumps({**header, "arrays": listing}, allow_nan=False).encode("ascii")
        length = PREFIX.size + len(text) + sum(array.nbytes for array in stored.values()) + CHECKSUM
        digest = hashlib.sha256()
        prefix = PREFIX.pack(self.magic, self.version, length, len(text))
        with whole_file(path) as file:
            for piece in (prefix, text, *map(_bytes, stored.values())):
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())

    def read_header(self, file: BinaryIO) -> tuple[dict[str, Json], int]:
        """Verify the checksum; return the header and the number of bytes of the arrays after it."""
        size = os.fstat(file.fileno()).st_size
        _, length = self._check_prefix(file.read(PREFIX.size), size)
        _check_digest(file, size)
        file.seek(PREFIX.size)
        return as_mapping(json.loads(file.read(length))), size - PREFIX.size - length - CHECKSUM

    def read(self, file: BinaryIO) -> tuple[dict[str, Json], dict[str, np.ndarray]]:
        """The header and the arrays."""
        header, room = self.read_header(file)
        listing = [_name_type_shape(as_mapping(entry)) for entry in as_list(header["arrays"])]
        total = sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in listing)
        require(total == room, f"its arrays take {total} bytes, but the file has {room}")
        return header, {name: _read_array(file, dtype, shape) for name, dtype, shape in listing}

    def read_version(self, file: BinaryIO) -> int:
        """The version of the format, without a look at the rest; the file is left at its beginning."""
        version, _ = self._check_prefix(file.read(PREFIX.size), os.fstat(file.fileno()).st_size)
        file.seek(0)
        return version

    def _check_prefix(self, prefix: bytes, size: int) -> tuple[int, int]:
        """The version, and the length of the header, of a file with this prefix and size."""
        require(prefix[: len(self.magic)] == self.magic, f"is not {self.name}")
        require(len(prefix) == PREFIX.size, "is truncated: it ends within its prefix")
        _, version, length, header_length = PREFIX.unpack(prefix)
        newer = f"was written by a newer swapsvm (format {version}; this one reads up to {self.version})"
        older = f"was written by an older swapsvm (format {version}; this one reads format {self.version})"
        require(version <= self.version, f"{newer}: upgrade swapsvm")
        require(version > 0, f"is damaged: format {version} does not exist")
        require(version >= (self.oldest or self.version), f"{older}: remove it")
        require(size >= length, f"is truncated: it has {size} of {length} bytes")
        require(size == length, f"is damaged: it has {size} bytes instead of {length}")
        require(PREFIX.size + header_length + CHECKSUM <= size, "is damaged: its header is longer than the file")
        return int(version), int(header_length)


@contextmanager
def faults_named(path: PathLike) -> Iterator[None]:
    """Turn errors about the content of a file into a ``ValueError`` that names the file."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"{path}: its header lacks {missing}") from None
    except (TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path}: its header is malformed: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def opened(path: PathLike) -> Iterator[BinaryIO]:
    """The file, opened for reading; errors about its content name it."""
    with Path(path).open("rb") as file, faults_named(path):
        require(file.seekable(), "is a pipe, which cannot be read twice: save its content to a file first")
        yield file


def check_text(texts: np.ndarray) -> None:
    """Raise ``ValueError`` unless fixed-width text is Unicode: NumPy only checks values that are taken out."""
    codes = np.ascontiguousarray(texts).view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))
    require(not codes.size or codes.max() <= 0x10FFFF, "it has text that is not valid Unicode")


def _check_digest(file: BinaryIO, size: int) -> None:
    """Raise unless the last bytes are the checksum of all bytes before them."""
    file.seek(0)
    digest, left = hashlib.sha256(), size - CHECKSUM
    while left:
        piece = file.read(min(PIECE, left))
        require(piece, "is truncated: it became shorter while being read")
        digest.update(piece)
        left -= len(piece)
    require(file.read() == digest.digest(), "is damaged: its checksum does not match")


def _name_type_shape(entry: dict[str, Json]) -> tuple[str, np.dtype, tuple[int, ...]]:
    name, kind = as_text(entry["name"]), entry["type"]
    require(isinstance(kind, str) and TYPE.fullmatch(kind), f"it has an array of unknown type {kind!r}")
    sizes = as_sizes(entry["shape"])
    require(len(sizes) <= 2, f"it has an array of impossible shape {sizes}")
    return name, np.dtype(as_text(kind)), sizes


def _read_array(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    array = np.frombuffer(file.read(dtype.itemsize * math.prod(shape)), dtype).reshape(shape)
    if dtype.kind == "U" and array.size:
        check_text(array)
    return array.astype(dtype.newbyteorder("="))  # a copy: writable, aligned, native byte order


def _bytes(array: np.ndarray) -> memoryview | bytes:
    """The bytes of the array, without a copy."""
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""
