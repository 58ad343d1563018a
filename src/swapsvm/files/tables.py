"""Rows and labels from a file of any format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..container import require
from ..datasets import read_svmlight
from ..datasets.labels import as_integers
from ..datasets.svmlight import Source, name_of
from .array_tables import read_npy, read_npz
from .csv_tables import read_csv
from .parquet_tables import read_parquet
from .table import Request, Table

EXTENSIONS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".npy": "npy"}
PACKED = (".gz", ".bz2")


def read_table(source: Source, format: str | None = None, request: Request | None = None) -> Table:
    """Read rows and labels.

    Parameters
    ----------
    source : path or binary file
        Text can be compressed by gzip or bzip2. Parquet, npz and npy need a path.
    format : {"svmlight", "csv", "parquet", "npz", "npy"}, optional
        By default chosen by the extension, else svmlight.
    request : Request, optional
        Where the labels are, and whether they are required.

    Returns
    -------
    Table
        ``X``, CSR for svmlight and memory-mapped for npy (SVC uses float32 and float64 in C order without copying);
        ``y``, None if there are no labels. Labels that are whole numbers are integers.

    Raises
    ------
    ValueError
        If the file is malformed; the message has its name and, for text, the line.
    """
    name = format or format_of(source)
    require(name in FORMATS, f"format {name!r} is unknown: use one of {list(FORMATS)}")
    table = FORMATS[name](source, request or Request())
    require(table.X.shape[0] > 0, f"{name_of(source)}: has no rows")
    require(table.X.shape[1] > 0, f"{name_of(source)}: has no features")
    return table


def format_of(source: Source) -> str:
    """The format that the extension stands for."""
    path = Path(name_of(source).lower())
    extension = Path(path.stem).suffix if path.suffix in PACKED else path.suffix
    return EXTENSIONS.get(extension, "svmlight")


def _read_svmlight(source: Source, request: Request) -> Table:
    X, y = read_svmlight(source)
    return Table(X, as_integers(y))


FORMATS: dict[str, Callable[[Source, Request], Table]] = {
    "svmlight": _read_svmlight,
    "csv": read_csv,
    "parquet": read_parquet,
    "npz": read_npz,
    "npy": read_npy,
}
