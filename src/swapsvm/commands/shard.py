"""``swapsvm shard INPUT... FOLDER``."""

from __future__ import annotations

import argparse
import time

from ..datasets.budget import in_units
from ..files.sharding import FORMATS, MEMORY, TYPES, write_shards
from .output import ProgressLine, answer
from .parser import Verbs, add_json

EPILOG = (
    "svmlight text, CSV, Parquet and npy are read twice, piece by piece: first counted and checked, then written. npz,"
    " which can be compressed, is read as a whole. FOLDER then has part-00000.npy (dense) or part-00000.npz (CSR) with"
    " part-00000.labels.npy, and so on; swapsvm.datasets.Shards opens it. It appears when it is complete."
)


def add_shard(verbs: Verbs) -> None:
    """Add the verb ``shard``."""
    parser = verbs.add("shard", "cut and convert large files of rows and labels into a folder of shards", run_shard)
    parser.epilog = EPILOG
    add = parser.add_argument
    inputs = "svmlight text (also .gz, .bz2), CSV, Parquet, npy or npz, chosen by the extension; or a folder of shards"
    add("inputs", nargs="+", metavar="INPUT", help=inputs)
    add("folder", metavar="FOLDER", help="folder to write, which must not exist or be empty")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--rows", type=int, metavar="N", help="rows of a shard")
    memory = "memory for rows, about, beside that of the program; a shard takes a quarter of it (default: %(default)s)"
    size.add_argument("--memory", default=MEMORY, metavar="BYTES", help=memory)
    sparse = "dense or CSR (default: npz for svmlight and CSR input if at least half of the values are zero, else npy)"
    add("--format", choices=FORMATS, help=sparse)
    add("--dtype", choices=TYPES, help="type of the values (default: float32 if all input is, else float64)")
    add("--label", metavar="COLUMN", help="CSV, Parquet: label column, by name or number (1 is the first, -1 the last)")
    add("--force", action="store_true", help="replace FOLDER if it has nothing but shards")
    add_json(parser)


def run_shard(arguments: argparse.Namespace) -> None:
    """Cut, write and report."""
    started = time.perf_counter()
    options = {name: getattr(arguments, name) for name in ("rows", "memory", "format", "dtype", "label", "force")}
    with ProgressLine() as line:
        written = write_shards(arguments.inputs, arguments.folder, progress=lambda *at: line.show(said(*at)), **options)
    facts = {"folder": arguments.folder, **written._asdict(), "seconds": time.perf_counter() - started}
    sizes = f"{written.rows} rows x {written.features} features"
    files = f"{written.shards} {written.format} {'shard' if written.shards == 1 else 'shards'}"
    answer(arguments, facts, f"{arguments.folder}: {sizes} in {files}, {in_units(written.bytes)}\n")


def said(done: str, rows: int, total: int | None) -> str:
    """Progress as a line."""
    return f"{done} {rows} rows" if total is None else f"{done} {rows} of {total} rows"
