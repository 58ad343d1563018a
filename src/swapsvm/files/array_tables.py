"""Tables as arrays: npy, memory-mapped, and npz.

Whatever a parser raises for a malformed file becomes a ``ValueError`` with the name of the file.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.lib import format as npy

from ..container import check_text, require
from ..datasets.svmlight import Source
from .table import Request, Table, as_integers

Layout = tuple[tuple[int, ...], np.dtype, Literal["F", "C"]]  # shape, type and order of an array
LARGEST_RATIO = 1032  # of content to compressed bytes: the limit of deflate
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}  # by npy version


@contextmanager
def parser_errors_named(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises into a ``ValueError`` that names the file."""
    try:
        yield
    except (ImportError, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{path}: is not a readable {kind} file: {error}") from None


def path_of(source: Source, kind: str) -> Path:
    """The path of a source that must not be a stream."""
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"{kind} cannot be read from a stream: name a file")
    return Path(source)


def read_npy(source: Source, request: Request) -> Table:
    """Memory-map X; read y from ``request.labels`` or from y.npy in the same folder."""
    path = path_of(source, "npy")
    labels = Path(request.labels) if request.labels else path.with_name("y.npy")
    if not labels.exists() and request.n_features is None:
        raise ValueError(f"{path}: the labels file {labels} does not exist: name it with --labels")
    X = _mapped(path)
    y = np.array(_mapped(labels)) if labels.exists() and labels != path else None
    return checked_table(path, X, y, labels)


def read_npz(source: Source, request: Request) -> Table:
    """Read the arrays X and y of an archive."""
    path = path_of(source, "npz")
    with parser_errors_named(path, "npz"), zipfile.ZipFile(path) as archive:
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        require("X" in names, f"it has no array X, only {names[:8]}")
        require("y" in names or request.n_features is not None, f"it has no array y with the labels, only {names[:8]}")
        arrays = {name: _member(archive, f"{name}.npy") for name in ("X", "y") if name in names}
    return checked_table(path, arrays["X"], arrays.get("y"), path)


def _mapped(path: Path) -> np.ndarray:
    with path.open("rb") as file, parser_errors_named(path, "npy"):
        shape, dtype, order = _layout(file, os.fstat(file.fileno()).st_size)
        if 0 in shape:  # nothing to map
            return np.empty(shape, dtype)
        return np.memmap(file, dtype, "r", file.tell(), shape, order)


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    info = archive.getinfo(name)
    packed = min(info.compress_size, os.stat(str(archive.filename)).st_size)
    require(info.file_size <= LARGEST_RATIO * packed, f"{name} has an impossible size")
    with archive.open(info) as file:
        shape, dtype, order = _layout(file, info.file_size)
        return np.frombuffer(file.read(), dtype).reshape(shape, order=order)


def _layout(file: IO[bytes], size: int) -> Layout:
    """Read the header of an npy file of that size, which must hold the array and nothing else."""
    version = npy.read_magic(file)
    require(version in HEADER_READERS, f"its npy version {version} is unknown")
    shape, fortran, dtype = HEADER_READERS[version](file)
    require(not dtype.hasobject, "it holds Python objects, which are never loaded: save numbers or text")
    require(dtype.kind in "biufU" and dtype.itemsize, f"its type {dtype} is neither numbers nor text")
    require(all(size >= 0 for size in shape), f"its shape {shape} is impossible")
    room = size - file.tell()
    require(math.prod(shape) * dtype.itemsize == room, f"an array {shape} of {dtype} does not take {room} bytes")
    return shape, dtype, "F" if fortran else "C"


def checked_table(path: Path, X: np.ndarray, y: np.ndarray | None, labels: Path) -> Table:
    """X, which must be a matrix of numbers, and y, if any, from the file ``labels``."""
    matrix = X.ndim == 2 and X.dtype.kind in "biuf"
    require(matrix, f"{path}: X is {X.ndim}-dimensional of {X.dtype}, not a matrix of numbers")
    return Table(X, None if y is None else _checked_labels(labels, y, len(X)))


def _checked_labels(path: Path, y: np.ndarray, n_rows: int) -> np.ndarray:
    """y, which must be numbers or text, one per row."""
    require(y.shape == (n_rows,), f"{path}: the labels have shape {y.shape}, not ({n_rows},), one per row")
    if y.dtype.kind == "U":
        check_text(y)
    if y.dtype.kind == "f":
        require(np.isfinite(y).all(), f"{path}: the labels are not all finite")
        return as_integers(y)
    text = y.dtype == object and all(isinstance(label, str) for label in y)
    require(text or y.dtype.kind in "biuU", f"{path}: labels of type {y.dtype} are neither numbers nor text")
    return y
