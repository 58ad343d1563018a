"""``swapsvm train DATA MODEL``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..arrays import Matrix
from ..container import require
from ..datasets import Shards
from ..estimators import SVC
from ..files.model_files import check_target, write_model
from ..kernels import GAMMA_RULES, KERNELS
from ..models import SCHEMES
from ..solvers import SOLVERS
from .info import facts_of, written_report
from .output import answer, say, warnings_in_lines
from .parser import Verbs, add_data, add_json, add_memory, read_data

LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # by LIBSVM's number
WEIGHT = re.compile(r"-w(?P<label>[^=]+)")
MULTICLASS = "several classes: each pair of them, or each against the rest (default: %(default)s)"
EPILOG = (
    "C weights the squared hinge loss (C/2 times the sum of squares), so the best C differs from LIBSVM's."
    " TOL is the relative duality gap P / D - 1 that is certified for the model. -w LABEL WEIGHT can be written"
    " -wLABEL WEIGHT, as in LIBSVM. A precomputed kernel is a square matrix in CSV, Parquet, npz or npy."
)


def add_train(verbs: Verbs) -> None:
    """Add the verb ``train``; its short options are those of LIBSVM."""
    parser = verbs.add("train", "train an SVC on a file of rows and labels, and save it", run_train)
    parser.epilog = EPILOG
    default = SVC()
    add_data(parser)
    add_memory(parser)
    add = parser.add_argument
    model = "output file: .libsvm for LIBSVM's text, .onnx for ONNX; omit with -v"
    add("model", nargs="?", metavar="MODEL", help=model)
    gamma = f"a number or one of {', '.join(GAMMA_RULES)} (default: %(default)s)"
    add("-c", "--cost", type=float, default=default.C, metavar="C", help="weight of the loss (default: %(default)s)")
    add("-t", "--kernel", type=kernel_named, default=default.kernel, metavar="KERNEL", help=kernel_help())
    add("-g", "--gamma", type=gamma_named, default=default.gamma, metavar="GAMMA", help=gamma)
    add("-d", "--degree", type=int, default=default.degree, help="degree of the poly kernel (default: %(default)s)")
    add("-r", "--coef0", type=float, default=default.coef0, help="constant of poly and sigmoid (default: %(default)s)")
    add("-m", "--cache-size", type=float, metavar="MB", help="memory for kernel values (default: up to 1024)")
    add(
        "-e",
        "--tol",
        type=float,
        default=default.tol,
        help="relative gap P / D - 1 to reach (default: %(default)s)",
    )
    add("-w", "--weight", action="append", default=[], metavar="LABEL=WEIGHT", help="weight of the rows of a label")
    add("-v", "--folds", type=int, metavar="N", help="print the accuracy of N-fold cross-validation; save no model")
    add("--solver", choices=list(SOLVERS), default=default.solver, help="training algorithm (default: %(default)s)")
    add("--multiclass", choices=list(SCHEMES), default=default.multiclass, help=MULTICLASS)
    add("--max-vectors", type=int, metavar="N", help="support vectors of the model, at most (default: no limit)")
    add("--max-time", type=float, metavar="SECONDS", help="time limit; the gap reached by then is reported")
    add("--checkpoint", metavar="FILE", help="save progress to this file, and resume from it if it exists")
    add("--jobs", type=int, metavar="N", help="threads (default: all)")
    add_json(parser)


def kernel_help() -> str:
    """The kernels and their numbers in LIBSVM."""
    numbers = ", ".join(f"{number} {name}" for number, name in enumerate(LIBSVM_KERNELS))
    others = ", ".join(name for name in KERNELS if name not in LIBSVM_KERNELS)
    return f"{numbers}, or one of these names, or {others} (default: %(default)s)"


def kernel_named(text: str) -> str:
    """A kernel by its name or LIBSVM's number."""
    name = LIBSVM_KERNELS[int(text)] if text in map(str, range(len(LIBSVM_KERNELS))) else text
    if name not in KERNELS:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 0 to 4 nor one of {', '.join(KERNELS)}")
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
    require(arguments.model or folds is not None, "MODEL is missing: name the output file, or cross-validate with -v N")
    require(folds is None or arguments.checkpoint is None, "--checkpoint cannot be combined with -v")
    require(folds is None or folds >= 2, f"-v {folds}: cross-validation needs at least 2 folds")
    if arguments.model:
        check_target(arguments.model, arguments.kernel)
    X, y = read_data(arguments)
    labels = np.asarray(y)
    require(folds is None or not isinstance(X, Shards), "-v needs rows in memory: DATA is a folder, or --memory is set")
    usable = not sp.issparse(X) or arguments.kernel != "precomputed"
    require(usable, "a precomputed kernel must be dense: use CSV, Parquet, npz or npy")
    model = estimator_of(arguments, np.unique(labels))
    say(f"training on {X.shape[0]} rows x {X.shape[1]} features")
    with warnings_in_lines():
        (train if folds is None else cross_validate)(arguments, model, X, labels)


def estimator_of(arguments: argparse.Namespace, labels: np.ndarray) -> SVC:
    """The SVC with the parameters given on the command line."""
    names = (
        *("kernel", "gamma", "degree", "coef0", "cache_size", "tol", "solver"),
        *("multiclass", "max_vectors", "max_time", "checkpoint"),
    )
    parameters = {name: getattr(arguments, name) for name in names}
    weights = class_weights(arguments.weight, labels)
    return SVC(C=arguments.cost, n_jobs=arguments.jobs, class_weight=weights or None, **parameters)


def class_weights(requests: list[str], labels: np.ndarray) -> dict[object, float]:
    """The weights of ``-w`` by label."""
    known = {str(label): label for label in labels.tolist()}
    weights = {}
    for request in requests:
        text, _, weight = request.rpartition("=")
        name = str(int(text)) if text.lstrip("+-").isdecimal() else text
        require(name in known, f"-w {request}: unknown label {text!r}; the labels are {', '.join(list(known)[:8])}")
        try:
            weights[known[name]] = float(weight)
        except ValueError:
            raise ValueError(f"-w {request}: the weight {weight!r} is not a number") from None
    return weights


def train(arguments: argparse.Namespace, model: SVC, X: Matrix, y: np.ndarray) -> None:
    """Fit, save and report."""
    started = time.perf_counter()
    model.set_params(verbose=int(sys.stderr.isatty())).fit(X, y).set_params(verbose=0)
    seconds = time.perf_counter() - started
    write_model(model, arguments.model)
    facts = {"model": arguments.model, "rows": X.shape[0], **facts_of(model), "seconds": seconds}
    head = f"{facts['support_vectors']} of {facts['rows']} rows are support vectors"
    answer(arguments, facts, written_report(head, facts))


def cross_validate(arguments: argparse.Namespace, model: SVC, X: Matrix, y: np.ndarray) -> None:
    """Report the share of rows that the models of the other folds predict correctly."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    started = time.perf_counter()
    folds = StratifiedKFold(arguments.folds, shuffle=True, random_state=0)
    right = int((cross_val_predict(model, X, y, cv=folds) == y).sum())
    facts = {"rows": X.shape[0], "features": X.shape[1], "folds": arguments.folds, "accuracy": right / len(y)}
    facts["seconds"] = time.perf_counter() - started
    answer(arguments, facts, f"cross-validation accuracy = {100 * right / len(y):.4g}% ({right}/{len(y)})\n")
