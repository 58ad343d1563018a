"""The arguments that name a file of rows, and reading it."""

from __future__ import annotations

import argparse
import sys

from ..files.table import Request, Table
from ..files.tables import FORMATS, read_table
from .output import say


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add DATA and the options for reading it."""
    parser.add_argument("data", metavar="DATA", help="file of rows and labels, or - for stdin")
    parser.add_argument(
        "--format", choices=list(FORMATS), help="format of DATA (default: chosen by the extension, else svmlight)"
    )
    parser.add_argument(
        "--label", metavar="COLUMN", help="CSV, Parquet: label column, by name or number (1 is the first, -1 the last)"
    )
    parser.add_argument("--labels", metavar="FILE", help="npy: file of the labels (default: y.npy in the same folder)")


def read_data(arguments: argparse.Namespace, n_features: int | None = None) -> Table:
    """Read DATA; labels are optional if the number of features is given."""
    say(f"reading {arguments.data}")
    source = sys.stdin.buffer if arguments.data == "-" else arguments.data
    request = Request(arguments.label, arguments.labels, n_features)
    return read_table(source, arguments.format, request)
