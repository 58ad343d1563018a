"""``swapsvm info MODEL`` and ``swapsvm convert MODEL OUTPUT``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.label_lines import to_line
from ..files.native import read_header
from ..files.reading import check_goal, format_of_model, read_model, write_model
from .parser import add_verb
from .speech import add_json, answer
from .train import facts_of

if TYPE_CHECKING:
    from .parser import Subcommands

MOST_SHOWN = 12  # classes


def add_info(subcommands: Subcommands) -> None:
    """The arguments."""
    parser = add_verb(subcommands, "info", "say what a model is and what its certificate says")
    parser.add_argument("model", metavar="MODEL", help="a model of `swapsvm train`, or of LIBSVM")
    add_json(parser)
    parser.set_defaults(run=run_info)


def run_info(arguments: argparse.Namespace) -> None:
    """Print the facts, one a line."""
    facts = {"model": arguments.model, **file_facts(arguments.model), **facts_of(read_model(arguments.model))}
    width = max(map(len, facts))
    answer(arguments, facts, "".join(f"{name.replace('_', ' '):{width}}  {shown(v)}\n" for name, v in facts.items()))


def file_facts(path: str) -> dict[str, Any]:
    """What the file itself says."""
    format = format_of_model(path)
    written_by = f"swapsvm {read_header(path)['versions']['swapsvm']}" if format == "native" else "LIBSVM or for it"
    return {"format": format, "written_by": written_by, "bytes": Path(path).stat().st_size}


def shown(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, np.ndarray):
        listed = ", ".join(to_line(item) for item in value[:MOST_SHOWN].tolist())
        return f"{listed}, ... ({len(value)})" if len(value) > MOST_SHOWN else listed
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def add_convert(subcommands: Subcommands) -> None:
    """The arguments."""
    parser = add_verb(subcommands, "convert", "write a model in another format, by the ending of the new file")
    parser.add_argument("model", metavar="MODEL", help="a model of `swapsvm train`, or of LIBSVM")
    parser.add_argument(
        "output", metavar="OUTPUT", help=".libsvm: LIBSVM's text, .onnx: ONNX, anything else: swapsvm's own format"
    )
    add_json(parser)
    parser.set_defaults(run=run_convert)


def run_convert(arguments: argparse.Namespace) -> None:
    """Read and write."""
    model = read_model(arguments.model)
    check_goal(arguments.output, str(model.kernel))
    write_model(model, arguments.output)
    facts = {"model": arguments.model, "output": arguments.output, "bytes": Path(arguments.output).stat().st_size}
    answer(arguments, facts, f"{arguments.output}: {facts['bytes']} bytes\n")
