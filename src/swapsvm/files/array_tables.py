"""Tables as arrays: npy, used where it lies; npz; Parquet.

Parsers of others raise what they like at malformed files; here all of it is a ``ValueError`` with the name of the file.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ..container import check_text, require
from .table import Request, Table, tidied

LARGEST_RATIO = 1032  # of contents to compressed bytes: deflate's own limit
ALWAYS_ALLOWED = 1 << 24  # bytes


class Layout(NamedTuple):
    """Of an array in a file: shape, order and type, and where its numbers begin."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    offset: int


@contextmanager
def _faults_named(path: Any, kind: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path}: is not a readable {kind} file: {error}") from None


def _path(source: Any, kind: str) -> Path:
    require(isinstance(source, str | os.PathLike), f"{kind} cannot be read from a stream: name a file")
    return Path(source)


# ---- npy and npz -------------------------------------------------------------------------------------------------


def read_npy(source: Any, request: Request) -> Table:
    """X memory-mapped, so that only what is looked at is read; y from ``request.labels`` or y.npy beside it."""
    path = _path(source, "npy")
    labels = Path(request.labels) if request.labels else path.with_name("y.npy")
    if not labels.exists() and request.n_features is None:
        raise ValueError(f"{path}: there is no {labels} with the labels: name the file with --labels")
    X = _checked_rows(path, _mapped(path))
    y = _checked_labels(labels, np.array(_mapped(labels)), len(X)) if labels.exists() and labels != path else None
    return Table(X, y)


def read_npz(source: Any, request: Request) -> Table:
    """The arrays X and y of an archive."""
    path = _path(source, "npz")
    with _faults_named(path, "npz"), zipfile.ZipFile(path) as archive:
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        require("X" in names, f"it has no array X, only {names[:8]}")
        require("y" in names or request.n_features is not None, f"it has no array y with the labels, only {names[:8]}")
        arrays = {name: _member(archive, f"{name}.npy") for name in ("X", "y") if name in names}
    X = _checked_rows(path, arrays["X"])
    return Table(X, _checked_labels(path, arrays["y"], len(X)) if "y" in arrays else None)


def _mapped(path: Path) -> np.ndarray:
    with path.open("rb") as file, _faults_named(path, "npy"):
        layout = _layout(file, os.fstat(file.fileno()).st_size)
        if 0 in layout.shape:  # nothing to map
            return np.empty(layout.shape, layout.dtype)
        order = "F" if layout.fortran else "C"
        return np.memmap(file, layout.dtype, "r", layout.offset, layout.shape, order)  # type: ignore[call-overload]


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    info = archive.getinfo(name)
    require(info.file_size <= LARGEST_RATIO * info.compress_size, f"{name} has an impossible size")
    with archive.open(info) as file:
        layout = _layout(file, info.file_size)  # type: ignore[arg-type]
        values = np.frombuffer(file.read(), layout.dtype)
    return values.reshape(layout.shape, order="F" if layout.fortran else "C")


def _layout(file: BinaryIO, size: int) -> Layout:
    """The layout of an npy file of that size, which must hold exactly the array."""
    version = npy.read_magic(file)
    require(version in ((1, 0), (2, 0)), f"its npy version {version} is unknown")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read_header(file)
    require(not dtype.hasobject, "it holds Python objects, which only execution would load: save numbers or text")
    require(dtype.kind in "biufU" and dtype.itemsize, f"its type {dtype} is not one of numbers or text")
    require(all(size >= 0 for size in shape), f"its shape {shape} is impossible")
    layout = Layout(shape, fortran, dtype, file.tell())
    room = size - layout.offset
    require(math.prod(shape) * dtype.itemsize == room, f"an array {shape} of {dtype} does not take {room} bytes")
    return layout


# ---- Parquet -----------------------------------------------------------------------------------------------------


def read_parquet(source: Any, request: Request) -> Table:
    """Columns of numbers, one of them, or one of text, being the labels."""
    path = _path(source, "Parquet")
    parquet = _import_parquet()
    with path.open("rb") as opened, _faults_named(path, "Parquet"), parquet.ParquetFile(opened) as file:
        names = file.schema_arrow.names
        cells = file.metadata.num_rows * max(len(names), 1)
        most = max(LARGEST_RATIO * path.stat().st_size, ALWAYS_ALLOWED)
        require(8 * cells <= most, f"it has {cells} cells, which is too many for a file of its size")
        at = request.column(names, named=True)
        table = file.read()
        X = np.empty((table.num_rows, len(names) - (at is not None)))
        for place, column in enumerate(place for place in range(len(names)) if place != at):
            X[:, place] = _column(names[column], table.column(column))
        y = None if at is None else _label_column(names[at], table.column(at))
    return Table(_checked_rows(path, X), None if y is None else _checked_labels(path, y, len(X)))


def _import_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "swapsvm[parquet]"') from None
    return parquet


def _column(name: str, column: Any) -> np.ndarray:
    require(column.null_count == 0, f"column {name!r} has {column.null_count} missing values")
    values = np.asarray(column.to_numpy())
    require(values.dtype.kind in "biuf", f"column {name!r} is of type {column.type}, not of numbers")
    return values


def _label_column(name: str, column: Any) -> np.ndarray:
    require(column.null_count == 0, f"label column {name!r} has {column.null_count} missing values")
    return np.asarray(column.to_numpy())


# ---- both --------------------------------------------------------------------------------------------------------


def _checked_rows(path: Path, X: np.ndarray) -> np.ndarray:
    require(X.ndim == 2 and X.dtype.kind in "biuf", f"{path}: X is {X.ndim}-dimensional of {X.dtype}, not a table")
    return X


def _checked_labels(path: Path, y: np.ndarray, n_rows: int) -> np.ndarray:
    require(y.shape == (n_rows,), f"{path}: the labels have shape {y.shape}, not ({n_rows},) as the rows")
    if y.dtype.kind == "U":
        check_text(y)
    if y.dtype.kind == "f":
        require(np.isfinite(y).all(), f"{path}: the labels are not all finite")
        return tidied(y)
    text = y.dtype == object and all(isinstance(label, str) for label in y)
    require(text or y.dtype.kind in "biuU", f"{path}: labels of type {y.dtype} are neither numbers nor text")
    return y
