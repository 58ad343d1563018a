"""Tables in Parquet files, read in batches of rows.

A few hundred bytes of Parquet can stand for gigabytes: a value is stored once, with the number of its repetitions. So
sizes are compared with that of the file before anything is read, and text stays dictionary-encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..container import require
from ..datasets.svmlight import Source
from .array_tables import LARGEST_RATIO, checked_table, parser_errors_named, path_of
from .table import Request, Table

if TYPE_CHECKING:
    from pyarrow import Array, DataType
    from pyarrow.parquet import FileMetaData, ParquetFile

ALWAYS_ALLOWED = 1 << 24  # bytes of content, whatever the size of the file
BATCH = 1 << 16  # rows
MOST_SHARED, MOST_IN_BATCH = 1024, 1 << 26  # rows and bytes if text is stored as differences


class Plan(NamedTuple):
    """What to read: column names, index of the label column, whether labels are text, and rows per batch."""

    names: list[str]
    at: int | None
    text: bool
    batch: int

    @property
    def dictionaries(self) -> list[str] | None:
        """Columns to read as dictionaries; pyarrow has none for text that is stored as differences."""
        return [self.names[self.at]] if self.at is not None and self.text and self.batch == BATCH else None


def read_parquet(source: Source, request: Request) -> Table:
    """Read columns of numbers, and a label column of numbers or text."""
    path = path_of(source, "Parquet")
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "swapsvm[parquet]"') from None
    with path.open("rb") as opened, parser_errors_named(path, "Parquet"):
        with parquet.ParquetFile(opened) as file:
            plan = _plan(file, request)
            _check_sizes(file.metadata, path.stat().st_size)
        opened.seek(0)
        with parquet.ParquetFile(opened, read_dictionary=plan.dictionaries) as file:
            X, y = _read(file, plan)
    return checked_table(path, X, y, path)


def _plan(file: ParquetFile, request: Request) -> Plan:
    """The columns, which must be numbers; the label column can be text."""
    names, types = list(file.schema_arrow.names), file.schema_arrow.types
    at = request.column(names, named=True)
    for place, (name, column) in enumerate(zip(names, types, strict=True)):
        if place == at:
            require(_kind(column), f"label column {name!r} has type {column}, which is neither numbers nor text")
        else:
            require(_kind(column) == "number", f"column {name!r} has type {column}, which is not a number")
    if at is None or _kind(types[at]) == "number":
        return Plan(names, at, False, BATCH)
    return Plan(names, at, True, _rows_at_a_time(file.metadata, at))


def _check_sizes(metadata: FileMetaData, n_bytes: int) -> None:
    """``ValueError`` if the declared size of the content is out of proportion to the size of the file."""
    most = max(LARGEST_RATIO * n_bytes, ALWAYS_ALLOWED)
    cells = metadata.num_rows * max(metadata.num_columns, 1)
    require(8 * cells <= most, f"it has {cells} cells, which is too many for a file of its size")
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    total = sum(group.column(place).total_uncompressed_size for group in groups for place in range(group.num_columns))
    require(0 <= total <= most, f"it has {total} bytes of content, which is too many for a file of its size")


def _rows_at_a_time(metadata: FileMetaData, label: int) -> int:
    """Few rows if labels are stored as differences from the previous one: each can be as long as the column."""
    chunks = [metadata.row_group(group).column(label) for group in range(metadata.num_row_groups)]
    lengths = [chunk.total_uncompressed_size for chunk in chunks if "DELTA_BYTE_ARRAY" in chunk.encodings]
    return max(1, min(MOST_SHARED, MOST_IN_BATCH // max(lengths, default=1))) if any(lengths) else BATCH


def _kind(column: DataType) -> str:
    """``"number"``, ``"text"`` or nothing."""
    from pyarrow import types

    values = column.value_type if types.is_dictionary(column) else column
    if types.is_integer(values) or types.is_floating(values) or types.is_boolean(values):
        return "number"
    return "text" if types.is_string(values) or types.is_large_string(values) else ""


def _read(file: ParquetFile, plan: Plan) -> tuple[np.ndarray, np.ndarray | None]:
    n_rows, features = file.metadata.num_rows, [place for place in range(len(plan.names)) if place != plan.at]
    X, labels, done = np.empty((n_rows, len(features))), [], 0
    seen: dict[str, str] = {}
    for batch in file.iter_batches(plan.batch):
        require(done + batch.num_rows <= n_rows, f"it has more rows than the {n_rows} it declares")
        for place, column in enumerate(features):
            X[done : done + batch.num_rows, place] = _numbers(f"column {plan.names[column]!r}", batch.column(column))
        if plan.at is not None:
            what, values = f"label column {plan.names[plan.at]!r}", batch.column(plan.at)
            labels.append(_texts(what, values, seen) if plan.text else _numbers(what, values))
        done += batch.num_rows
    require(done == n_rows, f"it has {done} of the {n_rows} rows it declares")
    return X, None if plan.at is None else np.concatenate(labels or [np.empty(0)])


def _numbers(what: str, column: Array) -> np.ndarray:
    require(column.null_count == 0, f"{what} has {column.null_count} missing values")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _texts(what: str, column: Array, seen: dict[str, str]) -> np.ndarray:
    """Text as objects; equal labels share one."""
    from pyarrow import array

    require(column.null_count == 0, f"{what} has {column.null_count} missing values")
    column = column if hasattr(column, "dictionary") else column.dictionary_encode()
    used, places = np.unique(column.indices.to_numpy(zero_copy_only=False), return_inverse=True)
    texts = column.dictionary.take(array(used)).to_pylist()
    require(None not in texts, f"{what} has missing values")
    objects = np.empty(len(texts), dtype=object)
    objects[:] = [seen.setdefault(text, text) for text in texts]
    return objects[places]
