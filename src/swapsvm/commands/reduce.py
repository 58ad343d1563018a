"""``swapsvm reduce MODEL DATA OUTPUT``."""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..arrays import Matrix
from ..container import require
from ..estimators import SVC
from ..files.model_files import check_target, read_model, write_model
from ..files.table import Request, Table
from ..files.tables import read_table
from ..reduction import reduce_support
from .info import facts_of, written_report
from .output import answer, say, warnings_in_lines
from .parser import Verbs, add_data, add_json, read_data
from .predict import aligned

Labelled = tuple[Matrix, np.ndarray]  # rows and labels


def add_reduce(verbs: Verbs) -> None:
    """Add the verb ``reduce``."""
    text = "reduce a model to few support vectors, optimize their coefficients over the training rows, and save it"
    parser = verbs.add("reduce", text, run_reduce)
    parser.add_argument("model", metavar="MODEL", help="model file of `swapsvm train`")
    add_data(parser)
    parser.add_argument("output", metavar="OUTPUT", help="output file: .libsvm for LIBSVM's text, .onnx for ONNX")
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--max-vectors", type=int, metavar="N", help="largest number of support vectors to keep")
    loss = "keep as few as possible while losing at most this much accuracy on --validation (0.005 is half a percent)"
    goal.add_argument("--max-accuracy-loss", type=float, metavar="LOSS", help=loss)
    add = parser.add_argument
    add("--validation", metavar="FILE", help="file of rows and labels that measure the accuracy, in the format of DATA")
    add("--max-time", type=float, metavar="SECONDS", help="time limit; the gap reached by then is reported")
    add_json(parser)


def run_reduce(arguments: argparse.Namespace) -> None:
    """Reduce, save and report."""
    model = read_model(arguments.model)
    check_target(arguments.output, str(model.kernel))
    if arguments.max_time is not None:
        model.set_params(max_time=arguments.max_time)
    model, (X, y), validation = read_rows(arguments, model)
    say(f"reducing {len(model.support_)} support vectors")
    started = time.perf_counter()
    limits = {name: getattr(arguments, name) for name in ("max_vectors", "max_accuracy_loss")}
    with warnings_in_lines():
        small = reduce_support(model, X, y, validation=validation, **limits)
    seconds = time.perf_counter() - started
    write_model(small, arguments.output)
    facts = {"model": arguments.output, **facts_of(small), "of": len(model.support_), "seconds": seconds}
    answer(arguments, facts, written_report(f"{facts['support_vectors']} of {facts['of']} support vectors", facts))


def read_rows(arguments: argparse.Namespace, model: SVC) -> tuple[SVC, Labelled, Labelled | None]:
    """Model, training rows and validation rows, all with the number of features of the widest."""
    X, y = with_labels(read_data(arguments, model.n_features_in_), arguments.data)
    model, X = aligned(model, X)
    if not arguments.validation:
        return model, (X, y), None
    request = Request(arguments.label, None, model.n_features_in_)
    rows, labels = with_labels(read_table(arguments.validation, arguments.format, request), arguments.validation)
    model, rows = aligned(model, rows)
    model, X = aligned(model, X)
    return model, (X, y), (rows, labels)


def with_labels(table: Table, name: str) -> Labelled:
    """Rows and labels of a table that must have labels."""
    require(table.y is not None, f"{name}: has no labels, which a reduction needs")
    return table.X, np.asarray(table.y)
