"""Parquet files of numbers and one column of labels, read in batches of rows.

A few hundred bytes of Parquet can stand for gigabytes: a value is stored once, with the number of its repetitions. So
sizes are compared with that of the file before anything is read, and text stays dictionary-encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..container import require
from ..extras import needed_by
from .array_files import LARGEST_RATIO, UnsuitableError, parser_errors_named

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch
    from pyarrow.parquet import FileMetaData, ParquetFile

ALWAYS_ALLOWED = 1 << 24  # bytes of content, whatever the size of the file
BATCH = 1 << 16  # rows
MOST_SHARED, MOST_IN_BATCH = 1024, 1 << 26  # rows and bytes if text is stored as differences
Chooser = Callable[[Sequence[str]], int | None]  # the index of the label column among these names, if there is one


class Plan(NamedTuple):
    """What to read: column names, index of the label column, whether labels are text, and rows per batch.

    ``rows`` has the number of rows of each row group; ``dtype`` is the smallest type that holds the features.
    """

    names: list[str]
    at: int | None
    text: bool
    batch: int
    rows: list[int]
    dtype: np.dtype

    @property
    def features(self) -> list[int]:
        """Indices of the columns that are no labels."""
        return [place for place in range(len(self.names)) if place != self.at]

    @property
    def dictionaries(self) -> list[str] | None:
        """Columns to read as dictionaries; pyarrow has none for text that is stored as differences."""
        return [self.names[self.at]] if self.at is not None and self.text and self.batch == BATCH else None


def plan_parquet(path: Path | str, choose: Chooser) -> Plan:
    """Read the metadata of a file and check its sizes and types."""
    with _opened(path) as file:
        plan = _plan(file, choose)
        _check_sizes(file.metadata, Path(path).stat().st_size)
    return plan


def read_parquet_table(path: Path | str, plan: Plan) -> tuple[np.ndarray, np.ndarray | None]:
    """Features in float64 and labels of all rows."""
    X, parts, done = np.empty((sum(plan.rows), len(plan.features))), [], 0
    for rows, labels in parquet_blocks(path, plan, np.dtype(np.float64)):
        X[done : done + len(rows)] = rows
        parts.append(labels)
        done += len(rows)
    found = [labels for labels in parts if labels is not None]
    return X, None if plan.at is None else np.concatenate(found or [np.empty(0)])


def parquet_blocks(path: Path | str, plan: Plan, dtype: np.dtype) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Features and labels, one batch at a time."""
    seen: dict[str, str] = {}
    with _opened(path, plan.dictionaries) as file:
        for batch in _counted(file.iter_batches(plan.batch), sum(plan.rows)):
            X = np.empty((batch.num_rows, len(plan.features)), dtype)
            _fill(X, batch, plan, plan.features)
            yield X, None if plan.at is None else _labels(plan, batch.column(plan.at), seen)


def read_parquet_features(path: Path | str, plan: Plan, groups: Sequence[int]) -> np.ndarray:
    """Features of some row groups in ``plan.dtype``."""
    names = [plan.names[place] for place in plan.features]
    X, done = np.empty((sum(plan.rows[group] for group in groups), len(names)), plan.dtype), 0
    with _opened(path) as file:
        for batch in _counted(file.iter_batches(BATCH, row_groups=list(groups), columns=names), len(X)):
            _fill(X[done : done + batch.num_rows], batch, plan, [batch.schema.names.index(name) for name in names])
            done += batch.num_rows
    return X


def read_parquet_labels(path: Path | str, plan: Plan) -> np.ndarray | None:
    """The label column only."""
    if plan.at is None:
        return None
    parts, name = [np.empty(0)], plan.names[plan.at]
    seen: dict[str, str] = {}
    with _opened(path, plan.dictionaries) as file:
        for batch in _counted(file.iter_batches(plan.batch, columns=[name]), sum(plan.rows)):
            parts.append(_labels(plan, batch.column(batch.schema.names.index(name)), seen))
    return np.concatenate(parts[1:] or parts)


@contextmanager
def _opened(path: Path | str, dictionaries: list[str] | None = None) -> Iterator[ParquetFile]:
    with needed_by("a Parquet file"):
        from pyarrow import parquet
    with Path(path).open("rb") as opened, parser_errors_named(path, "Parquet"):  # noqa: SIM117
        with parquet.ParquetFile(opened, read_dictionary=dictionaries) as file:
            yield file


def _plan(file: ParquetFile, choose: Chooser) -> Plan:
    """The columns, which must be numbers; the label column can be text."""
    names, types = list(file.schema_arrow.names), file.schema_arrow.types
    at = choose(names)
    for place, (name, column) in enumerate(zip(names, types, strict=True)):
        if place == at:
            suits(_kind(column), f"label column {name!r} has type {column}, which is neither numbers nor text")
        else:
            way_out = "leave it out, encode it as numbers, or choose it as the label column with --label"
            suits(_kind(column) == "number", f"column {name!r} has type {column}, which is not a number: {way_out}")
    text = at is not None and _kind(types[at]) == "text"
    batch = _rows_at_a_time(file.metadata, at) if at is not None and text else BATCH
    rows = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    return Plan(names, at, text, batch, rows, _feature_type([t for place, t in enumerate(types) if place != at]))


def _feature_type(types: Sequence[DataType]) -> np.dtype:
    """float32 if all features are, else float64."""
    return np.dtype(np.float32 if types and all(str(column) == "float" for column in types) else np.float64)


def _check_sizes(metadata: FileMetaData, n_bytes: int) -> None:
    """``ValueError`` if the declared size of the content is out of proportion to the size of the file."""
    most = max(LARGEST_RATIO * n_bytes, ALWAYS_ALLOWED)
    cells = metadata.num_rows * max(metadata.num_columns, 1)
    require(8 * cells <= most, f"it has {cells} cells, which is too many for a file of its size")
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    total = sum(group.column(place).total_uncompressed_size for group in groups for place in range(group.num_columns))
    require(0 <= total <= most, f"it has {total} bytes of content, which is too many for a file of its size")
    counts = [group.num_rows for group in groups]
    declared = f"its row groups have {counts[:8]} rows, which are not the {metadata.num_rows} it declares"
    require(min(counts, default=0) >= 0 and sum(counts) == metadata.num_rows, declared)


def _rows_at_a_time(metadata: FileMetaData, label: int) -> int:
    """Few rows if labels are stored as differences from the previous one: each can be as long as the column."""
    chunks = [metadata.row_group(group).column(label) for group in range(metadata.num_row_groups)]
    lengths = [chunk.total_uncompressed_size for chunk in chunks if "DELTA_BYTE_ARRAY" in chunk.encodings]
    return max(1, min(MOST_SHARED, MOST_IN_BATCH // max(lengths, default=1))) if any(lengths) else BATCH


def _kind(column: DataType) -> str:
    """``"number"``, ``"text"`` or nothing."""
    with needed_by("a Parquet file"):
        from pyarrow import types

    values = column.value_type if types.is_dictionary(column) else column
    if types.is_integer(values) or types.is_floating(values) or types.is_boolean(values):
        return "number"
    return "text" if types.is_string(values) or types.is_large_string(values) else ""


def _counted(batches: Iterator[RecordBatch], n_rows: int) -> Iterator[RecordBatch]:
    """The batches, which must have exactly this many rows."""
    done = 0
    for batch in batches:
        done += batch.num_rows
        require(done <= n_rows, f"it has more rows than the {n_rows} it declares")
        yield batch
    require(done == n_rows, f"it has {done} of the {n_rows} rows it declares")


def _fill(X: np.ndarray, batch: RecordBatch, plan: Plan, places: Sequence[int]) -> None:
    """Copy the feature columns of a batch, which are at these places."""
    for place, (column, found) in enumerate(zip(plan.features, places, strict=True)):
        X[:, place] = _numbers(f"column {plan.names[column]!r}", batch.column(found))


def _labels(plan: Plan, column: Array, seen: dict[str, str]) -> np.ndarray:
    """The values of the label column; equal texts share one object, which ``seen`` holds."""
    what = f"label column {plan.names[plan.at or 0]!r}"
    return _texts(what, column, seen) if plan.text else _numbers(what, column)


def _numbers(what: str, column: Array) -> np.ndarray:
    _check_filled(what, column.null_count)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _check_filled(what: str, missing: int) -> None:
    suits(missing == 0, f"{what} has {missing} missing values: leave such rows out, or fill them in")


def suits(condition: object, complaint: str) -> None:
    """Raise ``UnsuitableError`` with the complaint unless the condition holds."""
    if not condition:
        raise UnsuitableError(complaint)


def _texts(what: str, column: Array, seen: dict[str, str]) -> np.ndarray:
    """Text as objects; equal labels share one."""
    with needed_by("a Parquet file"):
        from pyarrow import array

    _check_filled(what, column.null_count)
    column = column if hasattr(column, "dictionary") else column.dictionary_encode()
    used, places = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
    texts = column.dictionary.take(array(used)).to_pylist()
    _check_filled(what, texts.count(None))
    objects = np.empty(len(texts), dtype=object)
    objects[:] = [seen.setdefault(text, text) for text in texts]
    return objects[places]
