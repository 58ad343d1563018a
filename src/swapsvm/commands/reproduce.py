"""``swapsvm reproduce``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .parser import Verbs

if TYPE_CHECKING:
    from ..study.protocol import Scale


def add_reproduce(verbs: Verbs) -> None:
    """Add the verb ``reproduce``."""
    parser = verbs.add("reproduce", "run the study of the paper and write a report that compares the results")
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", action="store_true", help="small sets, all methods, within three minutes (default)")
    scale.add_argument("--paper", action="store_true", help="all sets that are here or can be downloaded: takes hours")
    add = parser.add_argument
    add("--only", metavar="NAMES", help="groups (web,adult,medium,large,protein) or data sets to run")
    add("--methods", metavar="NAMES", help="methods to run: some of cvm,fw,mfw,swap,swap2,block")
    add("--experiments", metavar="NAMES", help="experiments to run, as the report names them, such as paper,relative")
    add("--jobs", type=int, default=1, metavar="N", help="number of runs at a time (default: %(default)s)")
    add("--budget", type=float, metavar="SECONDS", help="time limit of a run; longer runs are cut")
    add("--repetitions", type=int, metavar="N", help="repetitions of the paper's protocol, each with its own seed")
    add("--tune", action="store_true", help="tune C and gamma again, with CVM")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("reproduction"),
        metavar="FOLDER",
        help="folder of raw results and report; a second call continues the first (default: %(default)s)",
    )
    parser.set_defaults(run=run_reproduce)


def run_reproduce(arguments: argparse.Namespace) -> None:
    """Run the study."""
    from ..study.reproduce import reproduce

    reproduce(scale_of(arguments), arguments.output, arguments.jobs, arguments.tune)


def scale_of(arguments: argparse.Namespace) -> Scale:
    """What to run."""
    from ..study.protocol import EXPERIMENTS, FULL, METHODS, QUICK, data_named, named

    scale = FULL if arguments.paper else QUICK
    if arguments.only:
        scale = replace(scale, data=data_named(arguments.only.split(",")))
    if arguments.methods:
        scale = replace(scale, methods=named("--methods", arguments.methods.split(","), METHODS))
    if arguments.experiments:
        scale = replace(scale, experiments=named("--experiments", arguments.experiments.split(","), EXPERIMENTS))
    if arguments.budget is not None:
        scale = replace(scale, budget=arguments.budget)
    if arguments.repetitions is not None:
        scale = replace(scale, repetitions=arguments.repetitions)
    return scale
