"""``swapsvm tune DATA [MODEL]``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

import numpy as np

from ..files.model_files import check_target, write_model
from ..selection import SVCCV
from ..selection.scores import RULES
from .data import add_data, read_data
from .info import facts_of
from .output import Facts, add_json, answer, say, warnings_in_lines
from .parser import Verbs
from .train import kernel_help, kernel_named


def add_tune(verbs: Verbs) -> None:
    """Add the verb ``tune``."""
    parser = verbs.add("tune", "choose C and gamma by cross-validation, and save the model trained with them")
    default = SVCCV()
    add_data(parser)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="output file, as for train; optional")
    add = parser.add_argument
    add("-c", "--costs", type=grid, default=default.Cs, metavar="C,C,...", help="values of C, or their number")
    add("-g", "--gammas", type=grid, default=default.gammas, metavar="G,G,...", help="values of gamma, or their number")
    add("-v", "--folds", type=int, default=default.cv, metavar="N", help="number of folds (default: %(default)s)")
    add("-t", "--kernel", type=kernel_named, default=default.kernel, metavar="KERNEL", help=kernel_help())
    add("-e", "--tol", type=float, default=default.tol, help="relative duality gap to reach (default: %(default)s)")
    add("--rule", choices=RULES, default=default.rule, help="selection rule (default: %(default)s)")
    add("--max-time", type=float, metavar="SECONDS", help="time limit of each fit")
    add("--jobs", type=int, metavar="N", help="threads (default: all)")
    add_json(parser)
    parser.set_defaults(run=run_tune)


def grid(text: str) -> int | list[float]:
    """A number of values, or the values themselves."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of values nor a comma-separated list of values"
        ) from None
    return int(text) if len(values) == 1 and text.isdecimal() else values


def run_tune(arguments: argparse.Namespace) -> None:
    """Search, report and, if MODEL is given, save."""
    if arguments.model:
        check_target(arguments.model, arguments.kernel)
    X, y = read_data(arguments)
    names = ("gammas", "kernel", "tol", "rule", "max_time")
    settings = {name: getattr(arguments, name) for name in names}
    search = SVCCV(
        Cs=arguments.costs, cv=arguments.folds, n_jobs=arguments.jobs, refit=bool(arguments.model), **settings
    )
    say(f"searching on {X.shape[0]} rows x {X.shape[1]} features")
    started = time.perf_counter()
    with warnings_in_lines():
        search.fit(X, np.asarray(y))
    facts = facts_of_search(search, X.shape, time.perf_counter() - started)
    if arguments.model:
        write_model(search.best_estimator_, arguments.model)
        facts |= {"model": arguments.model, **facts_of(search.best_estimator_)}
    answer(arguments, facts, report(facts, search.best_params_, search.best_score_))


def facts_of_search(search: SVCCV, shape: tuple[int, ...], seconds: float) -> Facts:
    """Best parameters, accuracy and size of a search."""
    return {
        "rows": shape[0],
        "features": shape[1],
        "best": search.best_params_,
        "accuracy": float(search.best_score_),
        "points": len(search.cv_results_["params"]),
        "folds": search.n_splits_,
        "seconds": seconds,
    }


def report(facts: Facts, best: Mapping[str, float | str], accuracy: float) -> str:
    """Two lines for people, and a third with the file if the model was saved."""
    chosen = ", ".join(f"{name} = {float(value):g}" for name, value in best.items())
    head = f"best of {facts['points']} points in {facts['folds']} folds: {chosen}\n"
    saved = f"model: {facts['model']}\n" if "model" in facts else ""
    return f"{head}cross-validation accuracy = {100 * accuracy:.4g}%; {facts['seconds']:.2f} s\n{saved}"
