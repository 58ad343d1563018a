"""``swapsvm reduce MODEL DATA OUTPUT``."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..container import require
from ..estimators import reduce_support
from ..files.reading import check_goal, read_model, write_model
from ..files.table import Request, Table
from ..files.tables import read_table
from .data import add_data, read_data
from .parser import add_verb
from .predict import aligned
from .speech import add_json, answer, say, warnings_in_lines
from .train import facts_of

if TYPE_CHECKING:
    from ..estimators import SVC
    from .parser import Subcommands


def add_reduce(subcommands: Subcommands) -> None:
    """The arguments."""
    text = "keep few support vectors of a model, optimize their coefficients over its training rows, and save it"
    parser = add_verb(subcommands, "reduce", text)
    parser.add_argument("model", metavar="MODEL", help="a model of `swapsvm train`")
    add_data(parser)
    parser.add_argument("output", metavar="OUTPUT", help="where to; .libsvm: LIBSVM's text, .onnx: ONNX")
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--max-vectors", type=int, metavar="N", help="support vectors to keep, at most")
    loss = "as few as lose no more than this part of the accuracy on --validation (0.005 is half a percent)"
    goal.add_argument("--max-accuracy-loss", type=float, metavar="PART", help=loss)
    add = parser.add_argument
    add("--validation", metavar="FILE", help="rows and labels to measure the accuracy on, in the format of DATA")
    add("--max-time", type=float, metavar="SECONDS", help="stop then, and report the gap that was reached")
    add_json(parser)
    parser.set_defaults(run=run_reduce)


def run_reduce(arguments: argparse.Namespace) -> None:
    """Reduce, save and report."""
    model = read_model(arguments.model)
    check_goal(arguments.output, str(model.kernel))
    if arguments.max_time is not None:
        model.set_params(max_time=arguments.max_time)
    model, request = request_of(arguments, model)
    say(f"reducing {len(model.support_)} support vectors")
    started = time.perf_counter()
    with warnings_in_lines():
        small = reduce_support(model, **request)
    seconds = time.perf_counter() - started
    write_model(small, arguments.output)
    facts = {"model": arguments.output, **facts_of(small), "of": len(model.support_), "seconds": seconds}
    answer(arguments, facts, report(facts))


def request_of(arguments: argparse.Namespace, model: SVC) -> tuple[SVC, dict[str, Any]]:
    """What is asked of ``reduce_support``; model and sparse rows have as many features as the widest of them."""
    request: dict[str, Any] = {name: getattr(arguments, name) for name in ("max_vectors", "max_accuracy_loss")}
    X, y = with_labels(read_data(arguments, model.n_features_in_), arguments.data)
    model, X = aligned(model, X)
    if arguments.validation:
        table = read_table(arguments.validation, arguments.format, Request(arguments.label, None, model.n_features_in_))
        rows, labels = with_labels(table, arguments.validation)
        model, rows = aligned(model, rows)
        model, X = aligned(model, X)
        request["validation"] = (rows, labels)
    return model, {"X": X, "y": y, **request}


def with_labels(table: Table, name: str) -> tuple[Any, np.ndarray]:
    """Rows and labels, which must be there."""
    require(table.y is not None, f"{name}: has no labels")
    return table.X, np.asarray(table.y)


def report(facts: dict[str, Any]) -> str:
    """Two lines for people."""
    return (
        f"{facts['support_vectors']} of {facts['of']} support vectors; "
        f"relative gap {facts['relative_gap']:.2g} ({facts['stop_reason']}); {facts['seconds']:.2f} s\n"
        f"model: {facts['model']}\n"
    )
