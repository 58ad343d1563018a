"""``swapsvm train DATA MODEL``."""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite

from ..arrays import Matrix
from ..container import require
from ..datasets import Shards
from ..estimators import SVC
from ..files.model_files import check_labels, check_target, write_model
from .info import facts_of, written_report
from .output import answer, note, say, warn, warnings_in_lines
from .parser import INTERRUPTED, Parser, Verbs, add_data, add_json, add_memory, add_quiet
from .reading import Need, check_inputs_stay, check_label_is_known, fitted_to, has_columns, read_data
from .scores import score_of
from .tasks import CLASSIFY, NOVELTY, Model, check_folds, checked_targets, task_of
from .training_options import add_fit, add_problem, add_task, class_weights, estimator_of, number_of_features

EPILOG = (
    "C weights the squared loss (C/2 times the sum of squares), so the best C differs from LIBSVM's."
    " TOL is the relative duality gap P / D - 1 that is certified for the model. -w LABEL WEIGHT can be written"
    " -wLABEL WEIGHT, as in LIBSVM. A precomputed kernel is a square matrix in CSV, Parquet, npz or npy."
    " Ctrl-C ends the training: the model so far is saved with its certificate, and the exit code is 130."
)
SPLIT = "cross-validation "


def add_train(verbs: Verbs) -> None:
    """Add the verb ``train``; its short options are those of LIBSVM."""
    text = "train a model on a file of rows and labels, and save it"
    parser = verbs.add("train", text, run_train)
    parser.epilog = EPILOG
    add_data(parser)
    model = "output file: .libsvm for LIBSVM's text, .onnx for ONNX; omit with -v"
    parser.add_argument("model", nargs="?", metavar="MODEL", help=model)
    add_task(parser)
    folds = "print the score of N-fold cross-validation; save no model"
    parser.add_argument("-v", "--folds", type=int, metavar="N", help=folds)
    add_memory(parser)
    add_features(parser)
    add_quiet(parser)
    add_json(parser)
    add_problem(parser)
    add_fit(parser)


def add_features(parser: Parser) -> None:
    """Add the option ``--features``."""
    text = "svmlight: number of features, if DATA lacks the last ones (default: the largest index in DATA)"
    parser.add_argument("--features", type=number_of_features, metavar="N", help=text)


def run_train(arguments: argparse.Namespace) -> int:
    """Train, or cross-validate."""
    model = estimator_of(arguments)
    check_request(arguments, model)
    X, y = read_training(arguments)
    if arguments.folds is None:
        check_labels(arguments.model, model, y)
    if isinstance(model, SVC):
        model.set_params(class_weight=class_weights(getattr(arguments, "weight", []), np.asarray(y)))
    say(f"training on {X.shape[0]} rows x {X.shape[1]} features")
    with warnings_in_lines(to_continue(model)):
        if arguments.folds is None:
            return train(arguments, model, X, y)
        cross_validate(arguments, model, X, np.asarray(y))
        return 0


def check_request(arguments: argparse.Namespace, model: Model) -> None:
    """Refuse, before anything is read, what cannot be done."""
    folds = arguments.folds
    require(arguments.model or folds is not None, "MODEL is missing: name the output file, or cross-validate with -v N")
    require(folds is None or model.checkpoint is None, "--checkpoint cannot be combined with -v")
    require(folds is None or folds >= 2, f"-v {folds}: cross-validation needs at least 2 folds")
    no_score = "-v: a detector has no score to cross-validate; `swapsvm predict` compares it with labels 1 and -1"
    require(folds is None or task_of(model) != NOVELTY, no_score)
    if task_of(model) == NOVELTY:
        check_label_is_known(arguments)
    if folds is not None and arguments.model:
        note(f"-v saves no model: {arguments.model} is not written")
    elif arguments.model:
        check_inputs_stay(arguments.model, arguments.data, arguments.labels)
        check_target(arguments.model, model)


def read_training(arguments: argparse.Namespace) -> tuple[Matrix, np.ndarray | None]:
    """Rows and what is to be learned from their labels."""
    task, folds = arguments.task, getattr(arguments, "folds", None)
    X, y = read_data(arguments, Need(labels=task != NOVELTY), sharded=True)
    in_files = isinstance(X, Shards)
    require(folds is None or not in_files, "-v needs rows in memory: DATA is a folder, or --memory is set")
    usable = not sp.issparse(X) or getattr(arguments, "kernel", None) != "precomputed"
    require(usable, "a precomputed kernel must be dense: use CSV, Parquet, npz or npy")
    if not in_files:
        check_finite(X, arguments.data)
    if arguments.features is not None and not in_files:
        X = fitted_to(arguments.features, X, arguments.data, of="--features asks for")
    return X, checked_targets(task, y, arguments.data, has_columns(arguments))


def check_finite(X: Matrix, name: str) -> None:
    """Refuse rows to learn from that have NaN or infinity."""
    try:
        assert_all_finite(X.data if sp.issparse(X) else X)
    except ValueError:
        way_out = "leave these rows out, or fit a pipeline with an imputer in Python"
        raise ValueError(f"{name}: has values that are NaN or infinite: {way_out}") from None


def train(arguments: argparse.Namespace, model: Model, X: Matrix, y: np.ndarray | None) -> int:
    """Fit, save and report. After Ctrl-C the model so far is saved."""
    started = time.perf_counter()
    model.set_params(verbose=int(not arguments.quiet), on_interrupt="keep").fit(X, y)
    model.set_params(verbose=0, on_interrupt="raise")
    seconds = time.perf_counter() - started
    write_model(model, arguments.model)
    facts = {"model": arguments.model, "rows": X.shape[0], **facts_of(model), "seconds": seconds}
    head = f"{facts['support_vectors']} of {facts['rows']} rows are support vectors"
    answer(arguments, facts, written_report(head, facts))
    if model.stop_reason_ != "interrupted":
        return 0
    warn(f"interrupted: {arguments.model} is the model so far")
    return INTERRUPTED


def to_continue(model: Model) -> str:
    """How to go on after Ctrl-C."""
    if getattr(model, "max_vectors", None) is not None:  # --checkpoint cannot be combined with it
        return "train again and let it run longer"
    if model.checkpoint is not None:
        return f"run the same command again: it resumes from {model.checkpoint}"
    return "train with --checkpoint FILE: the same command then resumes where Ctrl-C ended it"


def cross_validate(arguments: argparse.Namespace, model: Model, X: Matrix, y: np.ndarray) -> None:
    """Report how the models of the other folds predict each row."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    started, task = time.perf_counter(), task_of(model)
    check_folds(task, arguments.folds, y)
    splitter = StratifiedKFold if task == CLASSIFY else KFold
    folds = splitter(arguments.folds, shuffle=True, random_state=0)
    score = score_of(task, cross_val_predict(model, X, y, cv=folds), y)
    facts = {"rows": X.shape[0], "features": X.shape[1], "folds": arguments.folds, **score.facts}
    facts["seconds"] = time.perf_counter() - started
    answer(arguments, facts, "".join(f"{SPLIT}{line}\n" for line in score.text.splitlines()))
