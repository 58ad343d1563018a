"""Files and arrays that have been opened: their parts and their labels; checks and sizes that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..container import require
from .array_files import NUMBERS
from .budget import in_units
from .parts import Part, is_single


class Item(NamedTuple):
    """A file or array: its parts, and its labels if there are any."""

    name: str
    parts: Sequence[Part]
    y: np.ndarray | None

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(part.shape[0] for part in self.parts)


class Wanted(NamedTuple):
    """How to open files: the label column of Parquet, the number of features, whether labels are read, and a limit."""

    label: str | None
    n_features: int | None
    labels: bool
    memory_limit: int

    @property
    def part_bytes(self) -> int:
        """The size from which on rows are cut."""
        return max(self.memory_limit // 4, 1)


def check_matrix(name: str, shape: tuple[int, ...], dtype: np.dtype, hint: str = "") -> None:
    matrix = len(shape) == 2 and dtype.kind in NUMBERS
    require(matrix, f"{name}: is {len(shape)}-dimensional of {dtype}, not a matrix of numbers{hint}")


def check_fits(name: str, n_bytes: int, wanted: Wanted) -> None:
    """``ValueError`` for rows that cannot be cut and do not fit into the limit."""
    limit = wanted.memory_limit
    too_large = (
        f"takes {in_units(n_bytes)} in memory, more than memory_limit={limit} bytes: cut it with `swapsvm shard`"
    )
    require(n_bytes <= limit, f"{name}: {too_large}")


def csr_bytes(rows: int, entries: int, dtype: np.dtype) -> int:
    """Bytes of a CSR matrix with int32 indices."""
    return entries * (8 if is_single(dtype) else 12) + rows * 8


def cuts(rows: int, one: int, most: int) -> list[tuple[int, int]]:
    """Begin and end of parts of at most ``most`` bytes if a row takes ``one``: a power of two of rows, at least one."""
    if rows * one <= most:
        return [(0, rows)]
    step = 1 << (max(most // one, 1).bit_length() - 1)
    return [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]
