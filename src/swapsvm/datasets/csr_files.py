"""CSR matrices in npz archives, as ``scipy.sparse.save_npz`` writes them, and checks of their arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..container import require
from .array_files import NUMBERS, Layout, member_layout, member_names, parser_errors_named, read_member

MEMBERS = ("data", "indices", "indptr")
MOST_COLUMNS = np.iinfo(np.int32).max


class CsrHeader(NamedTuple):
    """What an archive declares about its matrix."""

    shape: tuple[int, int]
    dtype: np.dtype
    n_entries: int


def csr_header(path: Path | str) -> CsrHeader:
    """Read what is small: format and shape, and the headers of the three arrays."""
    with parser_errors_named(path, "npz"), zipfile.ZipFile(path) as archive:
        shape = _shape(archive)
        data, indices, indptr = (member_layout(archive, name, NUMBERS) for name in MEMBERS)
        _check_layouts(shape, data, indices, indptr)
    return CsrHeader(shape, data.dtype, data.shape[0])


def read_csr(path: Path | str) -> sparse.csr_array:
    """Read the matrix, with int32 indices; every index is checked."""
    with parser_errors_named(path, "npz"), zipfile.ZipFile(path) as archive:
        shape = _shape(archive)
        data, indices, indptr = (read_member(archive, name, NUMBERS) for name in MEMBERS)
        check_csr(data, indices, indptr, shape)
    return csr_of(data, indices, indptr, shape)


def csr_of(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """A CSR matrix with int32 indices, unless it has more than 2**31 entries; SciPy gives both arrays one type."""
    kind = np.int32 if len(data) <= MOST_COLUMNS else np.int64
    return sparse.csr_array((data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)), shape=shape)


def _shape(archive: zipfile.ZipFile) -> tuple[int, int]:
    """The shape of the matrix of an archive, which must be CSR."""
    names = member_names(archive)
    complete = {"format", "shape", *MEMBERS} <= {*names}
    require(complete, f"it has no CSR matrix as scipy.sparse.save_npz writes it, only {names[:8]}")
    kind = read_member(archive, "format", "SU").item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    require(kind == "csr", f"its matrix is stored as {kind}: convert it to CSR (X.tocsr()) and save it again")
    shape = read_member(archive, "shape", "iu")
    require(shape.shape == (2,) and (shape >= 0).all(), f"its shape {shape.tolist()} is not that of a matrix")
    rows, columns = map(int, shape)
    require(columns <= MOST_COLUMNS, f"it has {columns} columns: at most 2**31 - 1 are supported")
    return rows, columns


def _check_layouts(shape: tuple[int, int], data: Layout, indices: Layout, indptr: Layout) -> None:
    require(indptr.shape == (shape[0] + 1,), f"indptr is not {shape[0] + 1} integers")
    require(len(data.shape) == 1 and data.shape == indices.shape, "indices and data differ in length")


def check_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless the three arrays are a CSR matrix of that shape."""
    n_rows, n_columns = shape
    require(are_integers(indptr, (n_rows + 1,)), f"indptr is not {n_rows + 1} integers")
    require(data.ndim == 1 and are_integers(indices, data.shape), "indices and data differ in length")
    require(indptr[0] == 0 and indptr[-1] == len(data), "indptr does not span the data")
    require((np.diff(indptr.astype(np.int64)) >= 0).all(), "indptr decreases")
    inside = len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_columns)
    require(inside, f"indices are not all within the {n_columns} columns")


def are_integers(values: np.ndarray, shape: tuple[int, ...] | None = None) -> bool:
    """Whether these are integers that fit into 64 bits, of this shape if one is given."""
    whole = values.dtype.kind in "iu" and np.can_cast(values.dtype, np.int64)
    return whole and shape in (None, values.shape)
