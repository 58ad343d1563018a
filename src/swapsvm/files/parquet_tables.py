"""Tables in Parquet files."""

from __future__ import annotations

from ..datasets.parquet_files import plan_parquet, read_parquet_table
from ..datasets.svmlight import Source
from .array_tables import checked_table, path_of
from .table import Request, Table


def read_parquet(source: Source, request: Request) -> Table:
    """Read columns of numbers, and a label column of numbers or text."""
    path = path_of(source, "Parquet")
    plan = plan_parquet(path, lambda names: request.column(names, named=True))
    X, y = read_parquet_table(path, plan)
    return checked_table(path, X, y, path)
