"""``swapsvm reduce MODEL DATA OUTPUT``."""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Matrix
from ..container import require
from ..estimators import SVC, SVR
from ..files.model_files import check_target, read_model, write_model
from ..files.table import Table
from ..reduction import OF_DETECTORS, reduce_support
from .info import facts_of, written_report
from .output import answer, say, warnings_in_lines
from .parser import Verbs, add_data, add_json
from .reading import Need, check_inputs_stay, read_any, read_data, rows_for
from .tasks import NOVELTY, REGRESS, checked_targets, task_of

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
    loss = "keep as few as lose at most this much accuracy, or R^2, on --validation (0.005 is half a percent)"
    goal.add_argument("--max-accuracy-loss", type=float, metavar="LOSS", help=loss)
    add = parser.add_argument
    add("--validation", metavar="FILE", help="file of rows and labels that measure that loss, in the format of DATA")
    add("--max-time", type=float, metavar="SECONDS", help="time limit; the gap reached by then is reported")
    add_json(parser)


def run_reduce(arguments: argparse.Namespace) -> None:
    """Reduce, save and report."""
    together = (arguments.max_accuracy_loss is None) == (arguments.validation is None)
    require(together, "--max-accuracy-loss and --validation FILE, the rows to measure it on, belong together")
    check_inputs_stay(arguments.output, arguments.data, arguments.labels, arguments.validation)
    model = reducible(read_model(arguments.model))
    check_target(arguments.output, model)
    if arguments.max_time is not None:
        model.set_params(max_time=arguments.max_time).check_parameters()
    (X, y), validation = read_rows(arguments, model)
    say(f"reducing {len(model.support_)} support vectors")
    started = time.perf_counter()
    limits = {name: getattr(arguments, name) for name in ("max_vectors", "max_accuracy_loss")}
    with warnings_in_lines():
        small = reduce_support(model, X, y, validation=validation, **limits)
    seconds = time.perf_counter() - started
    write_model(small, arguments.output)
    facts = {"model": arguments.output, **facts_of(small), "of": len(model.support_), "seconds": seconds}
    answer(arguments, facts, written_report(f"{facts['support_vectors']} of {facts['of']} support vectors", facts))


def reducible(model: BaseEstimator) -> SVC | SVR:
    """The model, which must be one that can be reduced."""
    found = getattr(model, "best_estimator_", model)
    if isinstance(found, SVC | SVR):
        return found
    way_out = "reduce its last step in Python, on the rows that reach it"
    if task_of(found) == NOVELTY:
        way_out = f"{OF_DETECTORS}. Train again with a smaller --slack"
    raise ValueError(f"only an SVC or SVR can be reduced, this is {type(found).__name__}: {way_out}")


def read_rows(arguments: argparse.Namespace, model: SVC | SVR) -> tuple[Labelled, Labelled | None]:
    """Training rows and validation rows, with the features of the model."""
    need = Need(model.n_features_in_)
    training = labelled(model, read_data(arguments, need), arguments.data)
    if not arguments.validation:
        return training, None
    return training, labelled(model, read_any(arguments.validation, arguments, need), arguments.validation)


def labelled(model: SVC | SVR, table: Table, name: str) -> Labelled:
    """Rows that fit the model, and their labels or, for a regression, numbers."""
    require(table.y is not None, f"{name}: has no labels, which a reduction needs")
    found = checked_targets(REGRESS, table.y, name) if task_of(model) == REGRESS else table.y
    return rows_for(model, table.X, name), np.asarray(found)
