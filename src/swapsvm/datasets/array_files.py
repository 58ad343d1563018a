"""npy files and members of npz archives, read only after their header has been compared with their size.

Nothing is ever unpickled. Whatever a parser raises for a malformed file becomes a ``ValueError`` with its name.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ..container import require

LARGEST_RATIO = 1032  # of content to compressed bytes: the limit of deflate
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}  # by npy version
NUMBERS, NUMBERS_OR_TEXT = "biuf", "biufU"  # kinds of NumPy types
PIECE = 1 << 20  # bytes


class Layout(NamedTuple):
    """Shape, type and order of an array in a file, and the byte at which its values begin."""

    shape: tuple[int, ...]
    dtype: np.dtype
    order: Literal["F", "C"]
    offset: int


class UnsuitableError(ValueError):
    """A file that can be read, but whose content is not what a fit takes."""


@contextmanager
def parser_errors_named(path: Path | str, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises into a ``ValueError`` that names the file."""
    try:
        yield
    except (ImportError, KeyboardInterrupt):
        raise
    except UnsuitableError as error:
        raise UnsuitableError(f"{path}: {error}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{path}: is not a readable {kind} file: {error}") from None


def layout_of(file: IO[bytes], size: int, kinds: str = NUMBERS_OR_TEXT) -> Layout:
    """Read the header of an npy file of that size, which must hold the array and nothing else."""
    version = npy.read_magic(file)
    require(version in HEADER_READERS, f"its npy version {version} is unknown")
    shape, fortran, dtype = HEADER_READERS[version](file)
    require(not dtype.hasobject, "it holds Python objects, which are never loaded: save numbers or text")
    require(dtype.kind in kinds and dtype.itemsize, f"its type {dtype} is neither numbers nor text")
    require(all(size >= 0 for size in shape), f"its shape {shape} is impossible")
    room = size - file.tell()
    require(math.prod(shape) * dtype.itemsize == room, f"an array {shape} of {dtype} does not take {room} bytes")
    return Layout(shape, dtype, "F" if fortran else "C", file.tell())


def npy_layout(path: Path | str) -> Layout:
    """Read the header of an npy file."""
    with Path(path).open("rb") as file, parser_errors_named(path, "npy"):
        return layout_of(file, os.fstat(file.fileno()).st_size)


def mapped(path: Path | str) -> np.ndarray:
    """The array of an npy file, memory-mapped."""
    shape, dtype, order, offset = npy_layout(path)
    if 0 in shape:  # nothing to map
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape, order)


def member_names(archive: zipfile.ZipFile) -> list[str]:
    """The names of the arrays of an npz archive."""
    return [info.filename.removesuffix(".npy") for info in archive.infolist()]


def member_layout(archive: zipfile.ZipFile, name: str, kinds: str = NUMBERS_OR_TEXT) -> Layout:
    """Read the header of an array of an npz archive."""
    info = archive.getinfo(f"{name}.npy")
    packed = min(info.compress_size, os.stat(str(archive.filename)).st_size)
    require(info.file_size <= LARGEST_RATIO * packed, f"{info.filename} has an impossible size")
    with archive.open(info) as file:
        return layout_of(file, info.file_size, kinds)


def read_member(archive: zipfile.ZipFile, name: str, kinds: str = NUMBERS_OR_TEXT) -> np.ndarray:
    """Read an array of an npz archive; memory for the array only."""
    shape, dtype, order, offset = member_layout(archive, name, kinds)
    values = np.empty(math.prod(shape), dtype)
    with archive.open(f"{name}.npy") as file:
        file.read(offset)
        _fill(values.view(np.uint8), file)
    return values.reshape(shape, order=order)


def _fill(content: np.ndarray, file: IO[bytes]) -> None:
    """Read exactly these bytes and the end of the file, where zipfile compares the checksum."""
    done = 0
    while piece := file.read(PIECE):
        content[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    require(done == len(content), f"it has {done} of {len(content)} bytes")
