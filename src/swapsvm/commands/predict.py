"""``swapsvm predict DATA MODEL [OUTPUT]``."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..arrays import Matrix
from ..container import require
from ..datasets import Shards
from ..files.label_lines import to_line
from ..files.libsvm import import_libsvm
from ..files.model_files import format_of_model, read_model
from ..files.steps import first_step
from ..writing import whole_file
from .output import Facts, answer, say, warn, warnings_in_lines
from .parser import Verbs, add_data, add_json, add_memory, add_model
from .reading import Need, check_inputs_stay, needs_all_rows, read_data, rows_for
from .scores import is_known, score_of
from .tasks import CLASSIFY, REGRESS, machine_of, task_of


def add_predict(verbs: Verbs) -> None:
    """Add the verb ``predict``."""
    text = "predict the labels of rows and, if the rows have labels, print the score"
    parser = verbs.add("predict", text, run_predict)
    parser.epilog = (
        "The score of classes is the accuracy; of numbers the mean squared error and R^2; of outliers their share and,"
        " if all labels are 1 or -1, the accuracy for both kinds of rows."
        " Several outputs of a regression are separated by commas."
    )
    add_data(parser)
    add_memory(parser)
    add_model(parser)
    output = "output file, one prediction per line; text with line breaks as a JSON string (default: stdout)"
    parser.add_argument("output", nargs="?", metavar="OUTPUT", help=output)
    add_json(parser)


def run_predict(arguments: argparse.Namespace) -> None:
    """Predict and, if the rows have labels, score."""
    check_inputs_stay(arguments.output, arguments.data, arguments.labels, arguments.model)
    model = read_model(arguments.model)
    task = task_of(machine_of(model))
    whole = needs_all_rows(model)
    require(
        not whole or arguments.memory is None, "--memory: a pipeline or a precomputed kernel needs all rows in memory"
    )
    read, y = read_data(arguments, Need(first_step(model).n_features_in_, labels=False), sharded=not whole)
    model = with_room(model, arguments, read)
    X = rows_for(model, read, arguments.data)
    say(f"predicting {X.shape[0]} rows")
    started = time.perf_counter()
    with warnings_in_lines():
        predicted = model.predict(X)
    facts: Facts = {"rows": len(predicted), "seconds": time.perf_counter() - started}
    if y is not None and task == CLASSIFY:
        warn_of_other_labels(arguments.data, y, model.classes_)
    score = score_of(task, predicted, y)
    name = "values" if task == REGRESS else "labels"
    deliver(arguments, {**facts, **score.facts}, name, predicted, score.text)


def with_room(model: BaseEstimator, arguments: argparse.Namespace, X: Matrix | Shards) -> BaseEstimator:
    """A model of LIBSVM's text with all features of these rows: how many it was trained on, the text does not tell."""
    n_features = first_step(model).n_features_in_
    if format_of_model(arguments.model) != "libsvm" or not sp.issparse(X) or X.shape[1] <= n_features:
        return model
    found = f"{arguments.data}: has a feature {X.shape[1]}"
    warn(f"{found}; {arguments.model} mentions {n_features}, the others are 0 there")
    return import_libsvm(arguments.model, X.shape[1])


def warn_of_other_labels(name: str, y: np.ndarray, classes: np.ndarray) -> None:
    """Say so if no label of the rows is a class of the model: an accuracy of 0 does not tell why."""
    if not is_known(y, classes):
        theirs, ours = (", ".join(f"{label!s:.20}" for label in some[:3]) for some in (np.unique(y), classes))
        warn(f"{name}: none of the labels ({theirs}) is a class of the model ({ours}): see --label")


def deliver(arguments: argparse.Namespace, facts: Facts, name: str, predicted: np.ndarray, score: str) -> None:
    """Write predictions to the file if one is named, else to stdout; the score goes where they do not."""
    lines = "".join(f"{line_of(row)}\n" for row in predicted.tolist())
    if arguments.output:
        with whole_file(arguments.output) as file:
            file.write(lines.encode())
        answer(arguments, {"output": arguments.output, **facts}, score)
    elif arguments.json:
        answer(arguments, {**facts, name: predicted}, score)
    else:
        sys.stdout.write(lines)
        sys.stderr.write(score)


def line_of(prediction: object) -> str:
    """One prediction, or those of several outputs, separated by commas."""
    return ",".join(map(to_line, prediction)) if isinstance(prediction, list) else to_line(prediction)
