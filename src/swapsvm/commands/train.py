"""``swapsvm train DATA MODEL``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..container import require
from ..estimators import SVC
from ..files.reading import check_goal, write_model
from ..kernels import GAMMA_RULES, KERNELS
from ..solvers import SOLVERS
from .data import add_data, read_data
from .parser import add_verb
from .speech import add_json, answer, say, warnings_in_lines

if TYPE_CHECKING:
    from .parser import Subcommands

LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # by LIBSVM's number
WEIGHT = re.compile(r"-w(?P<label>[^=]+)")
EPILOG = (
    "C weighs the squared hinge loss (C/2 times the sum of squares), so the best C differs from LIBSVM's;"
    " TOL is the relative duality gap that the model is certified to have. -w LABEL WEIGHT may be written"
    " -wLABEL WEIGHT, as in LIBSVM. A precomputed kernel is a square table in CSV, Parquet, npz or npy."
)


def add_train(subcommands: Subcommands) -> None:
    """The arguments; short ones mean what they mean in LIBSVM."""
    parser = add_verb(subcommands, "train", "train an SVC on a file of rows and labels, and save it")
    parser.epilog = EPILOG
    default = SVC()
    add_data(parser)
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="where to; .libsvm: LIBSVM's text, .onnx: ONNX; not needed with -v"
    )
    add = parser.add_argument
    add("-c", "--cost", type=float, default=default.C, metavar="C", help="weight of the loss (default: %(default)s)")
    add("-t", "--kernel", type=kernel_named, default=default.kernel, metavar="KERNEL", help=kernel_help())
    add("-g", "--gamma", type=gamma_named, default=default.gamma, metavar="GAMMA", help=gamma_help())
    add("-d", "--degree", type=int, default=default.degree, help="of the polynomial kernel (default: %(default)s)")
    add("-r", "--coef0", type=float, default=default.coef0, help="of poly and sigmoid kernels (default: %(default)s)")
    add("-m", "--cache-size", type=float, metavar="MB", help="memory for kernel values (default: up to 1024)")
    add("-e", "--tol", type=float, default=default.tol, help="relative duality gap to reach (default: %(default)s)")
    add("-w", "--weight", action="append", default=[], metavar="LABEL=WEIGHT", help="weight of the rows of a label")
    add("-v", "--folds", type=int, metavar="N", help="no model, but the accuracy of N-fold cross-validation")
    add("--solver", choices=list(SOLVERS), default=default.solver, help="(default: %(default)s)")
    add("--max-time", type=float, metavar="SECONDS", help="stop then, and report the gap that was reached")
    add("--checkpoint", metavar="FILE", help="keep the training in this file, and go on from it if it is there")
    add("--jobs", type=int, metavar="N", help="threads (default: all)")
    add_json(parser)
    parser.set_defaults(run=run_train)


def kernel_help() -> str:
    """The kernels and their numbers."""
    numbers = ", ".join(f"{number} {name}" for number, name in enumerate(LIBSVM_KERNELS))
    others = ", ".join(name for name in KERNELS if name not in LIBSVM_KERNELS)
    return f"{numbers}, or one of these names, or {others} (default: %(default)s)"


def gamma_help() -> str:
    """The rules for gamma."""
    return f"a number or one of {', '.join(GAMMA_RULES)} (default: %(default)s)"


def kernel_named(text: str) -> str:
    """A kernel by its name or LIBSVM's number."""
    name = LIBSVM_KERNELS[int(text)] if text in map(str, range(len(LIBSVM_KERNELS))) else text
    if name not in KERNELS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of 0 to 4 and none of {', '.join(KERNELS)}")
    return name


def gamma_named(text: str) -> float | str:
    """A number, or the name of a rule."""
    if text in GAMMA_RULES:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor one of {', '.join(GAMMA_RULES)}") from None


def with_weights(argv: Sequence[str]) -> list[str]:
    """The arguments with LIBSVM's ``-wLABEL WEIGHT`` and ``-w LABEL WEIGHT`` as ``--weight=LABEL=WEIGHT``."""
    if list(argv[:1]) != ["train"]:
        return list(argv)
    rest, result = list(argv), []
    while rest:
        word = rest.pop(0)
        found = WEIGHT.fullmatch(word)
        if found and rest:
            result.append(f"--weight={found['label']}={rest.pop(0)}")
        elif word == "-w" and len(rest) >= 2 and "=" not in rest[0]:
            result.append(f"--weight={rest.pop(0)}={rest.pop(0)}")
        else:
            result.append(word)
    return result


def run_train(arguments: argparse.Namespace) -> None:
    """Train, or cross-validate."""
    folds = arguments.folds
    require(arguments.model or folds is not None, "name the file for the model, or cross-validate with -v N")
    require(folds is None or arguments.checkpoint is None, "--checkpoint is for one training, not for -v")
    require(folds is None or folds >= 2, f"-v {folds}: at least two folds are needed")
    if arguments.model:
        check_goal(arguments.model, arguments.kernel)
    X, y = read_data(arguments)
    labels = np.asarray(y)
    dense = isinstance(X, np.ndarray)
    require(dense or arguments.kernel != "precomputed", "a precomputed kernel is dense: use CSV, Parquet, npz or npy")
    model = SVC(**settings(arguments, np.unique(labels)))
    say(f"training on {X.shape[0]} rows x {X.shape[1]} features")
    with warnings_in_lines():
        (train if folds is None else cross_validate)(arguments, model, X, labels)


def settings(arguments: argparse.Namespace, labels: np.ndarray) -> dict[str, Any]:
    """The parameters of the SVC."""
    names = ("kernel", "gamma", "degree", "coef0", "cache_size", "tol", "solver", "max_time", "checkpoint")
    weights = class_weights(arguments.weight, labels)
    return {
        **{name: getattr(arguments, name) for name in names},
        "C": arguments.cost,
        "n_jobs": arguments.jobs,
        "class_weight": weights or None,
    }


def class_weights(requests: list[str], labels: np.ndarray) -> dict[Any, float]:
    """The weights that were asked for, by label."""
    known = {str(label): label for label in labels.tolist()}
    weights = {}
    for request in requests:
        text, _, weight = request.rpartition("=")
        name = str(int(text)) if text.lstrip("+-").isdecimal() else text
        require(name in known, f"-w {request}: there is no label {text!r}, only {', '.join(list(known)[:8])}")
        try:
            weights[known[name]] = float(weight)
        except ValueError:
            raise ValueError(f"-w {request}: the weight {weight!r} is not a number") from None
    return weights


def train(arguments: argparse.Namespace, model: SVC, X: Any, y: Any) -> None:
    """Fit, save and report."""
    started = time.perf_counter()
    model.set_params(verbose=int(sys.stderr.isatty())).fit(X, y).set_params(verbose=0)
    seconds = time.perf_counter() - started
    write_model(model, arguments.model)
    facts = {"model": arguments.model, "rows": X.shape[0], **facts_of(model), "seconds": seconds}
    answer(arguments, facts, report(facts))


def facts_of(model: SVC) -> dict[str, Any]:
    """What there is to say about a model."""
    kernel = model._fitted_kernel
    return {
        "features": model.n_features_in_,
        "classes": model.classes_,
        "kernel": kernel.name,
        **{name: getattr(kernel, name) for name in kernel.parameter_names()},
        "C": model.C,
        "support_vectors": len(model.support_),
        "support_vectors_by_class": model.n_support_,
        "stop_reason": model.stop_reason_,
        "relative_gap": model.relative_gap_,
        "dual_gap": model.dual_gap_,
        "iterations": int(model.n_iter_.sum()),
        "kernel_evaluations": model.n_evaluations_,
    }


def report(facts: dict[str, Any]) -> str:
    """Two lines for people."""
    return (
        f"{facts['support_vectors']} of {facts['rows']} rows are support vectors; "
        f"relative gap {facts['relative_gap']:.2g} ({facts['stop_reason']}); {facts['seconds']:.2f} s\n"
        f"model: {facts['model']}\n"
    )


def cross_validate(arguments: argparse.Namespace, model: SVC, X: Any, y: Any) -> None:
    """Report the share of rows that models of the other folds get right."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    started = time.perf_counter()
    folds = StratifiedKFold(arguments.folds, shuffle=True, random_state=0)
    right = int((cross_val_predict(model, X, y, cv=folds) == y).sum())
    facts = {
        "rows": X.shape[0],
        "features": X.shape[1],
        "folds": arguments.folds,
        "accuracy": right / len(y),
        "seconds": time.perf_counter() - started,
    }
    answer(arguments, facts, f"cross-validation accuracy = {100 * facts['accuracy']:.4g}% ({right}/{len(y)})\n")
