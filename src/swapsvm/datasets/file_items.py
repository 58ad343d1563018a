"""Shards in files, opened by their extension. Only headers are read; svmlight text, which has none, is scanned.

What is larger than a quarter of the memory limit is cut into several parts, if its format permits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..container import require
from .array_files import npy_layout
from .csr_files import csr_header
from .items import Item, Wanted, check_fits, check_matrix, csr_bytes, cuts
from .labels import ENDING, as_integers, checked_labels, label_column, read_labels
from .parquet_files import Plan, plan_parquet, read_parquet_labels
from .parts import CsrPart, ParquetPart, Region, Stamp, TextPart, row_bytes, stamp_of
from .svmlight import blocks

PACKED = (".gz", ".bz2")


class File(NamedTuple):
    """A file to open: its name as given, its absolute path, and its size and time."""

    name: str
    path: str
    stamp: Stamp


def open_file(source: str | os.PathLike[str], wanted: Wanted) -> Item:
    """Open a file by its extension."""
    opener = opener_of(Path(source))
    path = os.path.abspath(source)
    require(not os.path.isdir(path), f"{source}: is a folder: name it alone, or name files")
    return opener(File(os.fspath(source), path, stamp_of(path)), wanted)


def opener_of(path: Path) -> Callable[[File, Wanted], Item]:
    """What opens files with this extension."""
    extension = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if extension in PACKED else extension
    allowed = TEXTS if extension in PACKED else OPENERS
    known = ", ".join(filter(None, OPENERS))
    way_out = "; convert it with `swapsvm shard`" if inner in (".csv", ".tsv") else ""
    require(inner in allowed, f"{path}: is not a shard: the extension must be one of {known}{way_out}")
    return OPENERS[inner]


def _open_npy(file: File, wanted: Wanted) -> Item:
    shape, dtype, order, offset = npy_layout(file.path)
    hint = f"; labels belong in NAME{ENDING} beside NAME.npy" if len(shape) == 1 else ""
    check_matrix(file.name, shape, dtype, hint)
    rows, columns = shape
    parts = [
        Region(
            name=file.name,
            shape=(end - begin, columns),
            dtype=dtype,
            first=begin,
            path=file.path,
            stamp=file.stamp,
            whole=(rows, columns),
            offset=offset,
            order=order,
        )
        for begin, end in cuts(rows, row_bytes(columns, dtype), wanted.part_bytes)
    ]
    return Item(file.name, parts, read_labels(file.path, rows) if wanted.labels else None)


def _open_npz(file: File, wanted: Wanted) -> Item:
    shape, dtype, entries = csr_header(file.path)
    check_fits(file.name, csr_bytes(shape[0], entries, dtype), wanted)
    part = CsrPart(name=file.name, shape=shape, dtype=dtype, sparse=True, path=file.path, stamp=file.stamp)
    return Item(file.name, [part], read_labels(file.path, shape[0]) if wanted.labels else None)


def _open_text(file: File, wanted: Wanted) -> Item:
    """Count rows, and find the largest index, without holding the rows."""
    labels, largest, entries = [], 0, 0
    for X, y in blocks(file.path, wanted.n_features or 0):
        labels.append(y)
        largest, entries = max(largest, X.shape[1]), entries + X.nnz
    targets, dtype = np.concatenate(labels), np.dtype(np.float64)
    shape = (len(targets), largest)
    check_fits(file.name, csr_bytes(len(targets), entries, dtype), wanted)
    part = TextPart(name=file.name, shape=shape, dtype=dtype, sparse=True, path=file.path, stamp=file.stamp)
    return Item(file.name, [part], as_integers(targets))


def _open_parquet(file: File, wanted: Wanted) -> Item:
    def choose(names: Sequence[str]) -> int | None:
        require(len({*names}) == len(names), "two of its columns have the same name")
        return label_column(names, wanted.label, wanted.n_features if wanted.labels else len(names))

    plan = plan_parquet(file.path, choose)
    labels = read_parquet_labels(file.path, plan) if wanted.labels else None
    parts = list(_parquet_parts(file, plan, wanted))
    rows = sum(plan.rows)
    return Item(file.name, parts, None if labels is None else checked_labels(file.name, labels, rows))


def _parquet_parts(file: File, plan: Plan, wanted: Wanted) -> Iterator[ParquetPart]:
    """Consecutive row groups together, as many as fit."""
    columns = len(plan.features)
    first = begin = 0
    while begin < max(len(plan.rows), 1):
        end, rows = begin, 0
        while end < len(plan.rows) and (end == begin or _fits(rows + plan.rows[end], columns, plan, wanted)):
            rows, end = rows + plan.rows[end], end + 1
        check_fits(file.name, rows * row_bytes(columns, plan.dtype), wanted)
        yield ParquetPart(
            name=file.name,
            shape=(rows, columns),
            dtype=plan.dtype,
            first=first,
            path=file.path,
            stamp=file.stamp,
            plan=plan,
            groups=range(begin, end),
        )
        first, begin = first + rows, max(end, begin + 1)


def _fits(rows: int, columns: int, plan: Plan, wanted: Wanted) -> bool:
    return rows * row_bytes(columns, plan.dtype) <= wanted.part_bytes


TEXTS = dict.fromkeys((".svm", ".libsvm", ".svmlight", ".txt", ""), _open_text)
OPENERS: dict[str, Callable[[File, Wanted], Item]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".parquet": _open_parquet,
    ".pq": _open_parquet,
    **TEXTS,
}
