"""What runs on the workers: pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays import Matrix
from ..columns import stacked
from ..passes import Arithmetic
from ..passes.blocks import Meeting
from ..passes.sharded import Work
from ..passes.verbs import KeptColumns, Stack, column_numbers


class Described(NamedTuple):
    """What is known of a part without its rows."""

    shape: tuple[int, ...]
    single: bool
    sparse: bool
    bytes: int
    names: list[str] | None


def describe(part: Any) -> Described:
    """Of a part of a collection as it comes."""
    sparse = sp.issparse(part)
    single = all(dtype == np.float32 for dtype in _dtypes(part))
    shape = tuple(map(int, part.shape if sparse else np.shape(part)))
    number = (4 if single else 8) + 4 * sparse  # and the column of a sparse one
    return Described(shape, single, sparse, number * (part.nnz if sparse else math.prod(shape)), names_of(part))


def names_of(part: Any) -> list[str] | None:
    """Of the columns of a frame, if all are strings."""
    names = list(getattr(part, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def _dtypes(part: Any) -> list[Any]:
    """Of the columns of a frame, or of an array."""
    return list(part.dtypes) if hasattr(part, "dtypes") else [getattr(part, "dtype", None)]


def as_matrix(part: Any, name: str, dtype: str) -> Matrix:
    """A part as the core takes it, or an error that names it."""
    try:
        return _as_csr(part, dtype) if sp.issparse(part) else _as_dense(part, dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _as_csr(part: Any, dtype: str) -> sp.csr_array:
    rows = sp.csr_array(part).astype(dtype)
    rows.sum_duplicates()
    _check_finite(rows.data, lambda entry: int(np.searchsorted(rows.indptr, entry, side="right")) - 1)
    return rows


def _as_dense(part: Any, dtype: str) -> np.ndarray:
    values = part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)
    if np.iscomplexobj(values):
        raise ValueError("complex numbers are not supported")
    rows = np.ascontiguousarray(values, dtype=dtype)
    _check_finite(rows, lambda entry: entry // max(rows.shape[1], 1))
    return rows


def _check_finite(values: np.ndarray, row_of: Callable[[int], int]) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = row_of(int(np.argmin(finite.ravel())))
        raise ValueError(f"row {row} contains NaN or infinity: kernel values need finite numbers")


def perform(
    pieces: Sequence[Matrix],
    own: Sequence[np.ndarray | None],
    vectors: Matrix | None,
    verb: Callable[..., Any],
    how: Arithmetic | None,
    shared: Sequence[Any],
    by_row: Sequence[Sequence[np.ndarray]],
) -> list[Any]:
    """A pass over some pieces; ``own``: some of the rows of each, as ``packed`` gives them."""
    work = Work(verb, how, vectors, tuple(shared))
    return [work.on(some_of(*piece), numbers) for *piece, numbers in zip(pieces, own, by_row, strict=True)]


def columns_of(
    rows: Matrix, own: np.ndarray | None, vectors: Matrix, how: Arithmetic, shared: Sequence[Any]
) -> np.ndarray:
    """Kernel values of some rows of a piece with vectors, to be kept."""
    return column_numbers(Stack(vectors, some_of(rows, own), how), *shared)


def with_columns(
    kept: Sequence[np.ndarray],
    size: tuple[int, int],
    verb: Callable[..., Any],
    shared: Sequence[Any],
    by_row: Sequence[Sequence[np.ndarray]],
) -> list[Any]:
    """A pass over kept kernel values; ``size`` has the number of vectors, and that of threads."""
    return [verb(KeptColumns(numbers, *size), *shared, *values) for numbers, values in zip(kept, by_row, strict=True)]


def joined(pieces: Sequence[Matrix], own: Sequence[np.ndarray | None]) -> Matrix:
    """Some of the rows of some pieces, below each other."""
    return stacked(taken(pieces, own))


def meet(meeting: Meeting, blocks: Sequence[Matrix], coefs: Sequence[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
    """The products of one or two blocks."""
    return [meeting.of(blocks, coefs)]


def taken(pieces: Sequence[Matrix], own: Sequence[np.ndarray | None]) -> list[Matrix]:
    """Some of the rows of each piece."""
    return [some_of(*piece) for piece in zip(pieces, own, strict=True)]


def some_of(rows: Matrix, own: np.ndarray | None) -> Matrix:
    """Some of the rows of a piece, as ``packed`` gives them."""
    if own is None:
        return rows
    return rows[np.flatnonzero(np.unpackbits(own, count=rows.shape[0])) if own.dtype == np.uint8 else own]


def packed(own: np.ndarray, size: int) -> np.ndarray:
    """Numbers of rows of a part of this size, in few bytes: one bit for each row of the part, or 32 for each number."""
    numbers = own.astype(np.int32)
    if len(own) * 32 <= size or not bool(np.all(own[1:] > own[:-1])):
        return numbers
    is_own = np.zeros(size, bool)
    is_own[numbers] = True
    return np.packbits(is_own)


def column(part: Any) -> np.ndarray:
    """Labels, targets or weights of a part."""
    values = np.asarray(part)
    return values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
