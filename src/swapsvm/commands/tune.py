"""``swapsvm tune DATA [MODEL]``."""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..files.model_files import check_target, write_model
from ..selection import SVCCV
from ..selection.scores import RULES
from .info import facts_of
from .output import Facts, answer, say, warnings_in_lines
from .parser import Verbs, add_data, add_json, read_data
from .train import kernel_help, kernel_named


def add_tune(verbs: Verbs) -> None:
    """Add the verb ``tune``."""
    text = "choose C and gamma by cross-validation, and save the model trained with them"
    parser = verbs.add("tune", text, run_tune)
    default = SVCCV()
    add_data(parser)
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="output file, as for train; optional")
    add("-c", "--costs", type=grid, default=default.Cs, metavar="C,C,...", help="values of C, or their number")
    add("-g", "--gammas", type=grid, default=default.gammas, metavar="G,G,...", help="values of gamma, or their number")
    add("-v", "--folds", type=int, default=default.cv, metavar="N", help="number of folds (default: %(default)s)")
    add("-t", "--kernel", type=kernel_named, default=default.kernel, metavar="KERNEL", help=kernel_help())
    add(
        "-e",
        "--tol",
        type=float,
        default=default.tol,
        help="relative gap P / D - 1 to reach (default: %(default)s)",
    )
    add("--rule", choices=RULES, default=default.rule, help="selection rule (default: %(default)s)")
    add("--max-time", type=float, metavar="SECONDS", help="time limit of the search and the training after it")
    add("--jobs", type=int, metavar="N", help="threads (default: all)")
    add_json(parser)


def grid(text: str) -> int | list[float]:
    """A number of values, or the values themselves."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        message = f"{text!r} is neither a number of values nor a comma-separated list of values"
        raise argparse.ArgumentTypeError(message) from None
    return int(text) if len(values) == 1 and text.isdecimal() else values


def run_tune(arguments: argparse.Namespace) -> None:
    """Search, report and, if MODEL is given, save."""
    if arguments.model:
        check_target(arguments.model, arguments.kernel)
    X, y = read_data(arguments)
    settings = {name: getattr(arguments, name) for name in ("gammas", "kernel", "tol", "rule", "max_time")}
    settings |= {"Cs": arguments.costs, "cv": arguments.folds, "n_jobs": arguments.jobs}
    search = SVCCV(refit=bool(arguments.model), verbose=1, **settings)
    say(f"searching on {X.shape[0]} rows x {X.shape[1]} features")
    started = time.perf_counter()
    with warnings_in_lines():
        search.fit(X, np.asarray(y))
    seconds = time.perf_counter() - started
    facts: Facts = {
        "rows": X.shape[0],
        "features": X.shape[1],
        "best": search.best_params_,
        "accuracy": float(search.best_score_),
        "points": len(search.cv_results_["params"]),
        "scored": int(np.isfinite(search.cv_results_["mean_test_score"]).sum()),
        "folds": search.n_splits_,
        "seconds": seconds,
    }
    chosen = ", ".join(f"{name} = {float(value):g}" for name, value in search.best_params_.items())
    points = f"{facts['scored']} of {facts['points']}" if arguments.max_time else facts["points"]
    text = f"best of {points} points in {facts['folds']} folds: {chosen}\n"
    text += f"cross-validation accuracy = {100 * search.best_score_:.4g}%; {seconds:.2f} s\n"
    if arguments.model:
        write_model(search.best_estimator_, arguments.model)
        facts |= {"model": arguments.model, **facts_of(search.best_estimator_)}
        text += f"model: {arguments.model}\n"
    answer(arguments, facts, text)
