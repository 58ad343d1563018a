"""``swapsvm datasets [fetch NAME ...]``."""

from __future__ import annotations

import argparse
import sys

from .parser import Verbs


def add_datasets(verbs: Verbs) -> None:
    """Add the verb ``datasets`` and its own verb ``fetch``."""
    text = "list the data sets of the registry and where their files are, or fetch some"
    parser = verbs.add("datasets", text, usage="swapsvm datasets [fetch NAME ...]")
    parser.set_defaults(run=list_datasets)
    subparsers = parser.add_subparsers(prog="swapsvm datasets", metavar="fetch")
    fetch = subparsers.add_parser("fetch", help="download missing files", description="Download missing files.")
    fetch.add_argument("names", nargs="+", metavar="NAME", help="data set, as listed by `swapsvm datasets`")
    fetch.set_defaults(run=fetch_datasets)


def list_datasets(arguments: argparse.Namespace) -> None:
    """Print the data sets."""
    from ..datasets.listing import listing

    sys.stdout.write(listing())


def fetch_datasets(arguments: argparse.Namespace) -> None:
    """Download the files that are missing and print where all of them are."""
    from ..datasets.loading import obtain
    from ..datasets.registry import find_entry

    for entry in [find_entry(name) for name in arguments.names]:
        for file in entry.files:
            sys.stdout.write(f"{file.name}: {obtain(file)}\n")
