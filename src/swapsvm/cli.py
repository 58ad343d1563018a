"""The command ``swapsvm``: one subcommand per verb.

A subcommand is a function that adds its parser to the others and names, as ``run``, the function that does the work.
What a user can mend (``ValueError``, ``OSError``, too little memory, a missing extra) ends as one line on stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__
from .commands.completion import add_completion
from .commands.models import add_convert, add_info
from .commands.parser import BAD_REQUEST, INTERRUPTED, Parser, add_verb
from .commands.predict import add_predict
from .commands.reduce import add_reduce
from .commands.train import add_train, with_weights
from .commands.tune import add_tune

if TYPE_CHECKING:
    from .commands.parser import Subcommands


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 if all went well, 2 if the request cannot be served, 130 after Ctrl-C.
    """
    try:
        arguments = make_parser().parse_args(with_weights(sys.argv[1:] if argv is None else argv))
        arguments.run(arguments)
    except SystemExit as end:  # argparse ends so after --help, --version and its errors
        return int(end.code or 0)
    except MemoryError as error:
        sys.stderr.write(f"swapsvm: error: this needs more memory than there is ({one_line(error)})\n")
        return BAD_REQUEST
    except (ImportError, OSError, ValueError) as error:
        sys.stderr.write(f"swapsvm: error: {one_line(error)}\n")
        return BAD_REQUEST
    except KeyboardInterrupt:
        sys.stderr.write("swapsvm: interrupted\n")
        return INTERRUPTED
    return 0


def one_line(error: Exception) -> str:
    """The message without its line breaks; of files that the system refuses, without its error number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def make_parser() -> Parser:
    """The parser of all subcommands."""
    parser = Parser(prog="swapsvm", description="Certified kernel support vector machines.")
    parser.add_argument("--version", action="version", version=f"swapsvm {__version__}")
    subcommands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for add in VERBS:
        add(subcommands)
    return parser


def add_datasets(subcommands: Subcommands) -> None:
    """``swapsvm datasets [fetch NAME ...]``."""
    text = "list the data sets of the registry and where their files are, or fetch some"
    usage = "swapsvm datasets [fetch NAME ...]"
    datasets = subcommands.add_parser("datasets", help=text, description=f"{text[0].upper()}{text[1:]}.", usage=usage)
    datasets.set_defaults(run=list_datasets)
    verbs = datasets.add_subparsers(prog="swapsvm datasets", metavar="fetch")
    fetch = verbs.add_parser("fetch", help="download what is missing of data sets", description="Download data sets.")
    fetch.add_argument("names", nargs="+", metavar="NAME", help="a data set, as `swapsvm datasets` names it")
    fetch.set_defaults(run=fetch_datasets)


def list_datasets(arguments: argparse.Namespace) -> None:
    """Print the table of data sets."""
    from .datasets.listing import table

    sys.stdout.write(table())


def fetch_datasets(arguments: argparse.Namespace) -> None:
    """Get the files of the data sets and say where they are."""
    from .datasets.loading import obtain
    from .datasets.registry import find_entry

    for entry in [find_entry(name) for name in arguments.names]:
        for file in entry.files:
            sys.stdout.write(f"{file.name}: {obtain(file)}\n")


def add_demo(subcommands: Subcommands) -> None:
    """``swapsvm demo``."""
    text = "train every solver on scikit-learn's digits, print a table and draw a figure"
    demo = add_verb(subcommands, "demo", text)
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("swapsvm-demo.png"),
        metavar="FILE",
        help="where the figure goes; the ending gives the format (default: %(default)s)",
    )
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo."""
    from .demo import run

    run(arguments.output)


def add_reproduce(subcommands: Subcommands) -> None:
    """``swapsvm reproduce``."""
    text = "run the study of the paper and write a report to hold beside it"
    reproduce = add_verb(subcommands, "reproduce", text)
    scale = reproduce.add_mutually_exclusive_group()
    scale.add_argument("--quick", action="store_true", help="small sets, all methods, within three minutes (default)")
    scale.add_argument("--paper", action="store_true", help="everything that is here or can be downloaded: hours")
    reproduce.add_argument("--only", metavar="NAMES", help="groups (web,adult,medium,large,protein) or data sets")
    reproduce.add_argument("--methods", metavar="NAMES", help="some of cvm,fw,mfw,swap,swap2,block")
    reproduce.add_argument("--experiments", metavar="NAMES", help="some of those in the report, such as paper,relative")
    reproduce.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (default: %(default)s)")
    reproduce.add_argument("--budget", type=float, metavar="SECONDS", help="limit of a run; longer ones are cut")
    reproduce.add_argument("--repetitions", type=int, metavar="N", help="of the paper's protocol, with other seeds")
    reproduce.add_argument("--tune", action="store_true", help="tune C and gamma again, with CVM")
    reproduce.add_argument(
        "--output",
        type=Path,
        default=Path("reproduction"),
        metavar="FOLDER",
        help="raw results and report; called again, it goes on from there (default: %(default)s)",
    )
    reproduce.set_defaults(run=run_reproduce)


def run_reproduce(arguments: argparse.Namespace) -> None:
    """Run the study."""
    from .study.protocol import EXPERIMENTS, FULL, METHODS, QUICK, data_named, named
    from .study.reproduce import reproduce

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
    reproduce(scale, arguments.output, arguments.jobs, arguments.tune)


VERBS = (
    add_train,
    add_predict,
    add_tune,
    add_reduce,
    add_info,
    add_convert,
    add_datasets,
    add_demo,
    add_reproduce,
    add_completion,
)
