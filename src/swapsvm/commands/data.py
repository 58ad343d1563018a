"""The arguments that say where the rows are, and the rows."""

from __future__ import annotations

import argparse
import sys

from ..files.table import Request, Table
from ..files.tables import FORMATS, read_table
from .speech import say


def add_data(parser: argparse.ArgumentParser) -> None:
    """DATA and how to read it."""
    parser.add_argument("data", metavar="DATA", help="a file of rows and labels, or - for stdin")
    parser.add_argument(
        "--format", choices=list(FORMATS), help="of DATA; by default what its ending says, else svmlight"
    )
    parser.add_argument(
        "--label", metavar="COLUMN", help="CSV, Parquet: name or place (1, ... or -1 for the last) of the labels"
    )
    parser.add_argument("--labels", metavar="FILE", help="npy: the npy file of the labels (default: y.npy beside DATA)")


def read_data(arguments: argparse.Namespace, n_features: int | None = None) -> Table:
    """The rows; labels may be missing if the number of features is known."""
    say(f"reading {arguments.data}")
    source = sys.stdin.buffer if arguments.data == "-" else arguments.data
    request = Request(arguments.label, arguments.labels, n_features)
    return read_table(source, arguments.format, request)
