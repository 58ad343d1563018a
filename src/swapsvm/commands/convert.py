"""``swapsvm convert MODEL OUTPUT``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..files.model_files import check_target, read_model, write_model
from .output import add_json, answer
from .parser import Verbs


def add_convert(verbs: Verbs) -> None:
    """Add the verb ``convert``."""
    parser = verbs.add("convert", "write a model in another format, chosen by the extension of the output file")
    parser.add_argument("model", metavar="MODEL", help="model file of `swapsvm train` or of LIBSVM")
    parser.add_argument(
        "output", metavar="OUTPUT", help="output file: .libsvm for LIBSVM's text, .onnx for ONNX, else swapsvm's format"
    )
    add_json(parser)
    parser.set_defaults(run=run_convert)


def run_convert(arguments: argparse.Namespace) -> None:
    """Read and write."""
    model = read_model(arguments.model)
    check_target(arguments.output, str(model.kernel))
    write_model(model, arguments.output)
    facts = {"model": arguments.model, "output": arguments.output, "bytes": Path(arguments.output).stat().st_size}
    answer(arguments, facts, f"{arguments.output}: {facts['bytes']} bytes\n")
