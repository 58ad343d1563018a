"""``swapsvm predict DATA MODEL [OUTPUT]``."""

from __future__ import annotations

import argparse
import copy
import sys
import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..arrays import CsrMatrix, Matrix
from ..container import require
from ..estimators import SVC
from ..files.label_lines import to_line
from ..files.model_files import read_model
from ..writing import whole_file
from .output import Facts, answer, say, warnings_in_lines
from .parser import Verbs, add_data, add_json, add_memory, add_model, read_data


def add_predict(verbs: Verbs) -> None:
    """Add the verb ``predict``."""
    text = "predict the labels of rows and, if the rows have labels, print the accuracy"
    parser = verbs.add("predict", text, run_predict)
    add_data(parser)
    add_memory(parser)
    add_model(parser)
    output = "output file, one label per line; text with line breaks as a JSON string (default: stdout)"
    parser.add_argument("output", nargs="?", metavar="OUTPUT", help=output)
    add_json(parser)


def run_predict(arguments: argparse.Namespace) -> None:
    """Predict and, if the rows have labels, score."""
    model = read_model(arguments.model)
    X, y = read_data(arguments, model.n_features_in_)
    model, X = aligned(model, X)
    say(f"predicting {X.shape[0]} rows")
    started = time.perf_counter()
    with warnings_in_lines():
        predicted = model.predict(X)
    facts: Facts = {"rows": len(predicted), "seconds": time.perf_counter() - started}
    score = ""
    if y is not None:
        right = int(agreement(predicted, y).sum())
        facts |= {"right": right, "accuracy": right / len(y)}
        score = f"accuracy = {100 * right / len(y):.4g}% ({right}/{len(y)})\n"
    deliver(arguments, facts, predicted, score)


def aligned(model: SVC, X: Matrix) -> tuple[SVC, Matrix]:
    """Model and rows with the same number of features: sparse rows or the model are extended with zeros."""
    theirs, ours = X.shape[1], model.n_features_in_
    if not sp.issparse(X):
        require(theirs == ours, f"the rows have {theirs} features, not the {ours} that the model was trained on")
        return model, X
    require(model.kernel != "precomputed", "a precomputed kernel must be dense: use CSV, Parquet, npz or npy")
    return widened(model, max(theirs, ours)), with_columns(X, max(theirs, ours))


def widened(model: SVC, n_features: int) -> SVC:
    """The model with additional features, which were zero in all training rows."""
    if model.n_features_in_ == n_features:
        return model
    wide = copy.copy(model)
    wide.n_features_in_ = n_features
    rows = with_columns(sp.csr_matrix(model.support_vectors_), n_features)
    wide.model_ = replace(model.model_, vectors=replace(model.model_.vectors, rows=rows))
    return wide


def with_columns(X: CsrMatrix, n_columns: int) -> sp.csr_matrix:
    """The same entries in a wider matrix."""
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))


def agreement(predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels are equal, compared as text unless both are numbers."""
    if predicted.dtype.kind in "biuf" and labels.dtype.kind in "biuf":
        return np.asarray(predicted == labels)
    pairs = zip(predicted.tolist(), labels.tolist(), strict=True)
    return np.fromiter((str(ours) == str(theirs) for ours, theirs in pairs), bool, len(labels))


def deliver(arguments: argparse.Namespace, facts: Facts, predicted: np.ndarray, score: str) -> None:
    """Write labels to the file if one is named, else to stdout; the score goes where the labels do not."""
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
