"""``swapsvm demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

from .parser import Verbs


def add_demo(verbs: Verbs) -> None:
    """Add the verb ``demo``."""
    parser = verbs.add("demo", "train every solver on scikit-learn's digits, print a table and draw a figure")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("swapsvm-demo.png"),
        metavar="FILE",
        help="file of the figure; the extension selects the format (default: %(default)s)",
    )
    parser.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo."""
    from ..demo import run

    run(arguments.output)
