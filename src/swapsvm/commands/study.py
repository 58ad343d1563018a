"""``swapsvm demo`` and ``swapsvm reproduce``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .parser import Verbs

if TYPE_CHECKING:
    from ..study.schedule import Scale


def add_demo(verbs: Verbs) -> None:
    """Add the verb ``demo``."""
    text = "train every solver on scikit-learn's digits and print a table, in a few seconds"
    add = verbs.add("demo", text, run_demo).add_argument
    figure = "also draw a figure; the extension of its file selects the format"
    add("--figure", type=Path, metavar="FILE", help=figure)


def run_demo(arguments: argparse.Namespace) -> None:
    """Import and run the demo."""
    from ..demo import run

    run(arguments.figure)


def add_reproduce(verbs: Verbs) -> None:
    """Add the verb ``reproduce``."""
    text = "run the study of the paper and write a report that compares the results"
    parser = verbs.add("reproduce", text, run_reproduce)
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", action="store_true", help="small sets, all methods, within three minutes (default)")
    scale.add_argument("--paper", action="store_true", help="all sets that are here or can be downloaded: takes days")
    add = parser.add_argument
    add("--only", metavar="NAMES", help="groups (web,adult,medium,large,protein) or data sets to run")
    add("--methods", metavar="NAMES", help="methods to run: cvm,fw,mfw,swap,swap2,block, and others of today")
    add("--experiments", metavar="NAMES", help="experiments to run, such as paper-3,paper-full,relative,today")
    add("--jobs", type=int, default=1, metavar="N", help="number of runs at a time (default: %(default)s)")
    add(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="limit of every run, in CPU seconds (default of --paper: by cell)",
    )
    add("--repetitions", type=int, metavar="N", help="repetitions of a cell at most, each with its own seed")
    add("--tune", action="store_true", help="tune C and gamma again, with CVM and the block engine")
    output = "folder of raw results and report; a second call continues the first (default: %(default)s)"
    add("--output", type=Path, default=Path("reproduction"), metavar="FOLDER", help=output)


def run_reproduce(arguments: argparse.Namespace) -> None:
    """Import and run the study."""
    from ..study.reproduce import reproduce

    reproduce(scale_of(arguments), arguments.output, arguments.jobs, arguments.tune)


def scale_of(arguments: argparse.Namespace) -> Scale:
    """What to run."""
    from ..study.protocol import EXPERIMENTS, TODAY, data_named, named
    from ..study.schedule import FULL, QUICK

    changes = {name: getattr(arguments, name) for name in ("budget", "repetitions")}
    if arguments.only:
        changes["data"] = data_named(arguments.only.split(","))
    if arguments.methods:
        changes["methods"] = named("--methods", arguments.methods.split(","), TODAY)
    if arguments.experiments:
        changes["experiments"] = named("--experiments", arguments.experiments.split(","), EXPERIMENTS)
    scale = FULL if arguments.paper else QUICK
    return replace(scale, **{name: value for name, value in changes.items() if value is not None})
