"""Arrays in memory, and arrays that are mapped from files, as parts."""

from __future__ import annotations

import mmap
import os

import numpy as np

from ..arrays import Matrix
from ..columns import is_sparse
from ..container import require
from .csr_files import MOST_COLUMNS
from .items import Item, Wanted, check_matrix, csr_bytes, cuts
from .parts import ArrayPart, Part, Region, row_bytes, stamp_of

ARRAY_SHARD = 1 << 26  # bytes of the shards that an array is cut into


def open_array(name: str, X: Matrix, wanted: Wanted) -> Item:
    """Cut an array into parts; rows that are mapped from a file become regions of the file."""
    check_matrix(name, X.shape, X.dtype)
    if is_sparse(X):
        X = X.tocsr()
        require(X.shape[1] <= MOST_COLUMNS, f"{name}: has {X.shape[1]} columns: at most 2**31 - 1 are supported")
    ends = cuts(X.shape[0], _bytes_of_a_row(X), min(wanted.part_bytes, ARRAY_SHARD))
    return Item(name, [_part(name, X, begin, end) for begin, end in ends], None)


def _bytes_of_a_row(X: Matrix) -> int:
    """Of a CSR matrix the mean, rounded up."""
    if not is_sparse(X):
        return row_bytes(X.shape[1], X.dtype)
    return -(-csr_bytes(X.shape[0], X.nnz, X.dtype) // max(X.shape[0], 1))


def _part(name: str, X: Matrix, begin: int, end: int) -> Part:
    shape = (end - begin, X.shape[1])
    offset = _file_offset(X) if isinstance(X, np.memmap) else None
    if not isinstance(X, np.memmap) or offset is None:
        return ArrayPart(name=name, shape=shape, dtype=X.dtype, first=begin, sparse=is_sparse(X), source=X)
    path = os.path.abspath(str(X.filename))
    return Region(
        name=name,
        shape=shape,
        dtype=X.dtype,
        first=begin,
        path=path,
        stamp=stamp_of(path),
        whole=(X.shape[0], X.shape[1]),
        offset=offset,
        order="C" if X.flags.c_contiguous else "F",
    )


def _file_offset(X: np.memmap) -> int | None:
    """The byte of its file at which a mapped array, or a view of one, begins; None if the file does not hold it."""
    owner: object = X
    while isinstance(owner, np.ndarray):
        owner = owner.base
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    if not (isinstance(owner, mmap.mmap) and X.filename and X.size and contiguous) or X.mode == "c":  # private pages
        return None
    start = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
    return int(X.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data + start)
