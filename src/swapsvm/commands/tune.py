"""``swapsvm tune DATA [MODEL]``."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from ..files.model_files import check_labels, check_target, write_model
from ..models import SCHEMES
from ..selection import SVCCV, SVRCV
from ..selection.scores import RULES
from .info import facts_of
from .output import Facts, answer, say, warnings_in_lines
from .parser import INTERRUPTED, Parser, Verbs, add_data, add_json, add_quiet
from .reading import check_inputs_stay
from .tasks import CLASSIFY, REGRESS, check_folds
from .train import add_features, read_training
from .training_options import add_task, kernel_help, kernel_named

SCORES = {CLASSIFY: "accuracy", REGRESS: "r2"}  # what the search maximizes, by task

TO_CONTINUE = "train with the chosen parameters by `swapsvm train --checkpoint FILE`"  # after Ctrl-C in the last fit


def add_tune(verbs: Verbs) -> None:
    """Add the verb ``tune``."""
    text = "choose C, gamma and epsilon by cross-validation, and save the model trained with them"
    parser = verbs.add("tune", text, run_tune)
    parser.epilog = (
        "Ctrl-C ends the search: the best point that was scored in all folds so far is reported and, if MODEL is given,"
        " trained on all rows and saved; the exit code is 130."
    )
    add_data(parser)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="output file, as for train; optional")
    add_task(parser, (CLASSIFY, REGRESS))
    add_grid(parser)
    add_features(parser)
    add_quiet(parser)
    add_json(parser)


def add_grid(parser: Parser) -> None:
    """Add the values to try, and how they are compared."""
    add, default = parser.add_argument, SVCCV()
    add("-c", "--costs", type=grid, default=default.Cs, metavar="C,C,...", help="values of C, or their number")
    add("-g", "--gammas", type=grid, default=default.gammas, metavar="G,G,...", help="values of gamma, or their number")
    epsilons = "regress: values of epsilon, among them auto, or their number (default: 3)"
    add("-p", "--epsilons", type=grid_or_auto, metavar="E,E,...", help=epsilons)
    multiclass = f"classify: each pair of classes, or each against the rest (default: {default.multiclass})"
    add("--multiclass", choices=list(SCHEMES), help=multiclass)
    add("-v", "--folds", type=int, default=default.cv, metavar="N", help="number of folds (default: %(default)s)")
    add("-t", "--kernel", type=kernel_named, default=default.kernel, metavar="KERNEL", help=kernel_help())
    tol = "relative duality gap to reach (default: %(default)s)"
    add("-e", "--tol", type=float, default=default.tol, help=tol)
    add("--rule", choices=RULES, default=default.rule, help="selection rule (default: %(default)s)")
    add("--max-time", type=float, metavar="SECONDS", help="time limit of the search and the training after it")
    add("--jobs", type=int, metavar="N", help="threads (default: all)")


def grid(text: str) -> int | list[float]:
    """A number of values, or the values themselves."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        message = f"{text!r} is neither a number of values nor a comma-separated list of values"
        raise argparse.ArgumentTypeError(message) from None
    return int(text) if len(values) == 1 and text.isdecimal() else values


def grid_or_auto(text: str) -> int | list[float | str]:
    """The same with ``auto`` as a value."""
    words = text.split(",")
    if "auto" not in words:
        values = grid(text)
        return values if isinstance(values, int) else [*values]
    numbers = ",".join(word for word in words if word != "auto")
    found = grid(numbers) if numbers else []
    return [*([float(found)] if isinstance(found, int) else found), "auto"]


def search_of(arguments: argparse.Namespace) -> SVCCV | SVRCV:
    """The search of the task with the settings of the command line."""
    task = arguments.task or CLASSIFY
    settings: dict[str, Any] = {
        **{name: getattr(arguments, name) for name in ("gammas", "kernel", "tol", "rule", "max_time")},
        "Cs": arguments.costs,
        "cv": arguments.folds,
        "n_jobs": arguments.jobs,
        "on_interrupt": "keep",
        "refit": bool(arguments.model),
        "verbose": int(not arguments.quiet),
    }
    own = {"multiclass": (CLASSIFY, "--multiclass"), "epsilons": (REGRESS, "-p")}
    for name, (owner, option) in own.items():
        if getattr(arguments, name) is not None:
            if task != owner:
                raise ValueError(f"{option} is an option of --task {owner}, not of {task}")
            settings[name] = getattr(arguments, name)
    return SVCCV(**settings) if task == CLASSIFY else SVRCV(**settings)


def run_tune(arguments: argparse.Namespace) -> int:
    """Search, report and, if MODEL is given, save."""
    search = search_of(arguments)
    if arguments.model:
        check_inputs_stay(arguments.model, arguments.data, arguments.labels)
        check_target(arguments.model, search)
    X, targets = read_training(arguments)
    y = np.asarray(targets)
    check_folds(arguments.task or CLASSIFY, arguments.folds, y)
    if arguments.model:
        check_labels(arguments.model, search, y)
    say(f"searching on {X.shape[0]} rows x {X.shape[1]} features")
    started = time.perf_counter()
    with warnings_in_lines(TO_CONTINUE):
        search.fit(X, y)
    report(arguments, search, {"rows": X.shape[0], "features": X.shape[1]}, time.perf_counter() - started)
    return INTERRUPTED if was_interrupted(search) else 0


def was_interrupted(search: SVCCV | SVRCV) -> bool:
    """Whether Ctrl-C ended the scores or the training after them."""
    trained = getattr(search, "best_estimator_", None)
    reasons = [*search.cv_results_["stop_reason"], *([trained.stop_reason_] if trained else [])]
    return "interrupted" in reasons


def report(arguments: argparse.Namespace, search: SVCCV | SVRCV, facts: Facts, seconds: float) -> None:
    """Save the model if one is asked for, and print what was chosen."""
    score = float(search.best_score_)
    points, scored = len(search.cv_results_["params"]), int(np.isfinite(search.cv_results_["mean_test_score"]).sum())
    name = SCORES[arguments.task or CLASSIFY]
    facts |= {"best": search.best_params_, name: score, "points": points, "scored": scored}
    facts |= {"folds": search.n_splits_, "seconds": seconds}
    chosen = ", ".join(f"{name} = {shown(value)}" for name, value in search.best_params_.items())
    tried = f"{scored} of {points}" if scored < points else points
    found = f"accuracy = {100 * score:.4g}%" if name == "accuracy" else f"R^2 = {score:.4g}"
    text = f"best of {tried} points in {search.n_splits_} folds: {chosen}\n"
    text += f"cross-validation {found}; {seconds:.2f} s\n"
    if arguments.model:
        write_model(search.best_estimator_, arguments.model)
        facts |= {"model": arguments.model, **facts_of(search.best_estimator_)}
        text += f"model: {arguments.model}\n"
    answer(arguments, facts, text)


def shown(value: object) -> str:
    """A chosen value as text."""
    return value if isinstance(value, str) else f"{value:g}"
