"""``swapsvm datasets [fetch NAME ...]``."""

from __future__ import annotations

import argparse
import sys

from ..datasets.files import find
from ..datasets.loading import obtain
from ..datasets.registry import Entry, find_entry, registry
from .output import Facts, answer
from .parser import Verbs, add_json

HEADER = ("name", "rows", "test rows", "features", "classes", "where")


def add_datasets(verbs: Verbs) -> None:
    """Add the verb ``datasets`` and its own verb ``fetch``."""
    text = "list the data sets of the registry and where their files are, or fetch some"
    parser = verbs.add("datasets", text, list_datasets, usage="swapsvm datasets [fetch NAME ...]")
    add_json(parser)
    subparsers = parser.add_subparsers(prog="swapsvm datasets", metavar="fetch")
    fetch = subparsers.add_parser("fetch", help="download missing files", description="Download missing files.")
    fetch.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")
    fetch.add_argument("names", nargs="+", metavar="NAME", help="data set, as listed by `swapsvm datasets`")
    fetch.set_defaults(run=fetch_datasets)


def list_datasets(arguments: argparse.Namespace) -> None:
    """Print one line per data set, text aligned to the left and numbers to the right."""
    answer(arguments, {"datasets": [facts_of(entry) for entry in registry().values()]}, table())


def facts_of(entry: Entry) -> Facts:
    """Name, sizes and files of a data set; files that are missing are null."""
    names = ("name", "rows", "test_rows", "features", "classes")
    files = {file.name: found and str(found) for file in entry.files for found in [find(file)]}
    return {**{name: getattr(entry, name) for name in names}, "files": files}


def table() -> str:
    """One line per data set."""
    lines = [HEADER, *map(cells_of, registry().values())]
    name_width, *widths, _ = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for name, *sizes, place in lines:
        numbers = (size.rjust(width) for size, width in zip(sizes, widths, strict=True))
        text += "  ".join([name.ljust(name_width), *numbers, place]) + "\n"
    return text


def cells_of(entry: Entry) -> tuple[str, ...]:
    """Name, sizes, and the folders of the files or the names of missing files."""
    sizes = (f"{size:,}" if size else "-" for size in (entry.rows, entry.test_rows, entry.features, entry.classes))
    paths = {file.name: find(file) for file in entry.files}
    missing = [name for name, path in paths.items() if path is None]
    folders = sorted({str(path.parent) for path in paths.values() if path})
    return (entry.name, *sizes, f"missing: {', '.join(missing)}" if missing else ", ".join(folders))


def fetch_datasets(arguments: argparse.Namespace) -> None:
    """Download the files that are missing and print where all of them are."""
    files = [file for entry in [find_entry(name) for name in arguments.names] for file in entry.files]
    if arguments.json:
        answer(arguments, {"files": {file.name: str(obtain(file)) for file in files}}, "")
        return
    for file in files:
        sys.stdout.write(f"{file.name}: {obtain(file)}\n")
