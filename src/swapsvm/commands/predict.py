"""``swapsvm predict DATA MODEL [OUTPUT]``."""

from __future__ import annotations

import argparse
import copy
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..container import require
from ..estimators import SVC
from ..files.label_lines import to_line
from ..files.reading import read_model
from ..writing import whole_file
from .data import add_data, read_data
from .parser import add_verb
from .speech import add_json, answer, say, warnings_in_lines

if TYPE_CHECKING:
    from .parser import Subcommands


def add_predict(subcommands: Subcommands) -> None:
    """The arguments."""
    parser = add_verb(subcommands, "predict", "predict the labels of rows, one a line, and score them if they have any")
    add_data(parser)
    parser.add_argument("model", metavar="MODEL", help="a model of `swapsvm train`, or of LIBSVM")
    parser.add_argument(
        "output",
        nargs="?",
        metavar="OUTPUT",
        help="output file for the labels, one a line; text with line breaks as a JSON string (default: stdout)",
    )
    add_json(parser)
    parser.set_defaults(run=run_predict)


def run_predict(arguments: argparse.Namespace) -> None:
    """Predict and, if there are labels to compare with, score."""
    model = read_model(arguments.model)
    X, y = read_data(arguments, model.n_features_in_)
    model, X = aligned(model, X)
    say(f"predicting {X.shape[0]} rows")
    started = time.perf_counter()
    with warnings_in_lines():
        predicted = model.predict(X)
    facts: dict[str, Any] = {"rows": len(predicted), "seconds": time.perf_counter() - started}
    score = ""
    if y is not None:
        right = int(agreement(predicted, y).sum())
        facts |= {"right": right, "accuracy": right / len(y)}
        score = f"accuracy = {100 * facts['accuracy']:.4g}% ({right}/{len(y)})\n"
    deliver(arguments, facts, predicted, score)


def aligned(model: SVC, X: Any) -> tuple[SVC, Any]:
    """Model and rows with as many features as the wider of them, if the rows are sparse: the others are zero."""
    if not sp.issparse(X):
        require(
            X.shape[1] == model.n_features_in_,
            f"the rows have {X.shape[1]} features, not the {model.n_features_in_} that the model was trained on",
        )
        return model, X
    require(model.kernel != "precomputed", "a precomputed kernel is dense: give its values as CSV, Parquet, npz or npy")
    width = max(X.shape[1], model.n_features_in_)
    return widened(model, width), with_columns(X, width)


def widened(model: SVC, n_features: int) -> SVC:
    """The model with further features, which were zero in all rows of the training."""
    if model.n_features_in_ == n_features:
        return model
    wide = copy.copy(model)
    wide.n_features_in_ = n_features
    wide.support_vectors_ = with_columns(sp.csr_matrix(model.support_vectors_), n_features)
    return wide


def with_columns(X: Any, n_columns: int) -> sp.csr_matrix:
    """The same entries in a wider matrix."""
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))


def agreement(predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels are equal; as text unless both are numbers."""
    if predicted.dtype.kind in "biuf" and labels.dtype.kind in "biuf":
        return np.asarray(predicted == labels)
    pairs = zip(predicted.tolist(), labels.tolist(), strict=True)
    return np.fromiter((str(ours) == str(theirs) for ours, theirs in pairs), bool, len(labels))


def deliver(arguments: argparse.Namespace, facts: dict[str, Any], predicted: np.ndarray, score: str) -> None:
    """Labels to the file, else among the facts or to stdout; the score where the labels are not."""
    lines = "".join(f"{to_line(label)}\n" for label in predicted.tolist())
    if arguments.output:
        with whole_file(arguments.output) as file:
            file.write(lines.encode())
        answer(arguments, {"output": arguments.output, **facts}, score)
    elif arguments.json:
        answer(arguments, {**facts, "labels": predicted}, score)
    else:
        sys.stdout.write(lines)
        sys.stderr.write(score)
