"""The options of ``train``: those of the estimators, with LIBSVM's letters, and the estimator that they ask for.

An option that is left out is not in the namespace: the default is the estimator's own, and an option that the estimator
of the task does not have is refused.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ..container import require
from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..kernels import GAMMA_RULES, KERNELS
from ..models import SCHEMES
from ..solvers import SOLVERS
from .parser import Parser
from .tasks import CLASSIFY, LIBSVM_TYPES, NOVELTY, REGRESS, TASKS, Model, task_among

LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # by LIBSVM's number
WEIGHT = re.compile(r"-w(?P<label>[^=]+)")
ESTIMATORS: dict[str, type[Model]] = {CLASSIFY: SVC, REGRESS: SVR, NOVELTY: OneClassSVM}
OPTIONS = {  # by the parameter that they set
    "C": "-c",
    "kernel": "-t",
    "gamma": "-g",
    "degree": "-d",
    "coef0": "-r",
    "cache_size": "-m",
    "tol": "-e",
    "epsilon": "-p",
    "solver": "--solver",
    "multiclass": "--multiclass",
    "max_vectors": "--max-vectors",
    "slack": "--slack",
    "contamination": "--contamination",
    "max_time": "--max-time",
    "checkpoint": "--checkpoint",
    "n_jobs": "--jobs",
}
NOT_HERE = {  # LIBSVM's letters that have no counterpart
    "-n": "there is no nu: choose C with -c, or with --task novelty the slack with --slack",
    "-b": "there are no probabilities: calibrate with scikit-learn's CalibratedClassifierCV",
}


class NotHere(argparse.Action):
    """An option of LIBSVM that is refused with the reason."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """End with the reason."""
        parser.error(f"{self.option_strings[0]}: {NOT_HERE[self.option_strings[0]]}")


def add_task(parser: Parser, tasks: Sequence[str] = TASKS) -> None:
    """Add the option ``--task``."""
    numbers = ", ".join(f"{number} {task}" for number, task in LIBSVM_TYPES.items() if task in tasks)
    text = (
        f"what to learn, by name or LIBSVM's number: {numbers} (default: {CLASSIFY}, if the labels look like classes)"
    )
    parser.add_argument("-s", "--task", type=partial(task_among, tasks), choices=tasks, help=text)


def add_problem(parser: Parser) -> None:
    """Add the options that state the problem."""
    add, default = parser.add_argument_group("problem", argument_default=argparse.SUPPRESS).add_argument, SVC()
    gamma = f"a number or one of {', '.join(GAMMA_RULES)} (default: {default.gamma})"
    add("-c", "--cost", dest="C", type=float, metavar="C", help=f"weight of the loss (default: {default.C})")
    add("-t", "--kernel", type=kernel_named, choices=list(KERNELS), metavar="KERNEL", help=kernel_help())
    add("-g", "--gamma", type=gamma_named, metavar="GAMMA", help=gamma)
    add("-d", "--degree", type=int, help=f"degree of the poly kernel (default: {default.degree})")
    add("-r", "--coef0", type=float, help=f"constant of poly and sigmoid (default: {default.coef0})")
    add("-w", "--weight", action="append", metavar="LABEL=WEIGHT", help="classify: weight of the rows of a label")
    multiclass = f"classify: each pair of classes, or each against the rest (default: {default.multiclass})"
    add("--multiclass", choices=list(SCHEMES), help=multiclass)
    epsilon = f"regress: half the width of the tube, a number or auto (default: {SVR().epsilon})"
    add("-p", "--epsilon", type=number_or_auto, metavar="EPSILON", help=epsilon)
    slack = f"novelty: mean slack of the rows, in units of k(x, x) (default: {OneClassSVM().slack})"
    add("--slack", type=float, metavar="SLACK", help=slack)
    part = "novelty: part of the rows that is put outside, or auto (default: auto)"
    add("--contamination", type=number_or_auto, metavar="PART", help=part)
    add("--ball", action="store_true", help="novelty: SVDD, a ball around the rows, instead of OneClassSVM")
    for letter in NOT_HERE:
        add(letter, action=NotHere, help=argparse.SUPPRESS)


def add_fit(parser: Parser) -> None:
    """Add the options that say how the problem is solved."""
    add, default = parser.add_argument_group("training", argument_default=argparse.SUPPRESS).add_argument, SVC()
    add("-e", "--tol", type=float, help=f"relative duality gap to reach (default: {default.tol})")
    add("--max-vectors", type=int, metavar="N", help="classify, regress: support vectors, at most (default: no limit)")
    add("--max-time", type=float, metavar="SECONDS", help="time limit; the gap reached by then is reported")
    add("--solver", choices=list(SOLVERS), help=f"training algorithm (default: {default.solver})")
    add("-m", "--cache-size", type=float, metavar="MB", help="memory for kernel values (default: up to 1024)")
    add("--checkpoint", metavar="FILE", help="save progress to this file, and resume from it if it exists")
    add("--jobs", dest="n_jobs", type=int, metavar="N", help="threads (default: all)")


def kernel_help() -> str:
    """The kernels and their numbers in LIBSVM."""
    numbers = ", ".join(f"{number} {name}" for number, name in enumerate(LIBSVM_KERNELS))
    others = ", ".join(name for name in KERNELS if name not in LIBSVM_KERNELS)
    return f"{numbers}, or one of these names, or {others} (default: {SVC().kernel})"


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


def number_of_features(text: str) -> int:
    """A positive integer that an index of the core can hold."""
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 1 to {2**31 - 1}")
    return int(text)


def number_or_auto(text: str) -> float | str:
    """A number, or ``auto``."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


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


def estimator_of(arguments: argparse.Namespace) -> Model:
    """The estimator of the task with the parameters given on the command line; weights of classes are not yet set."""
    task = arguments.task or CLASSIFY
    ball = hasattr(arguments, "ball")
    require(task == NOVELTY or not ball, f"--ball is an option of --task {NOVELTY}, not of {task}")
    weighted = hasattr(arguments, "weight")
    require(task == CLASSIFY or not weighted, f"-w is an option of --task {CLASSIFY}, not of {task}")
    model = SVDD() if ball else ESTIMATORS[task]()
    given = {name: getattr(arguments, name) for name in OPTIONS if hasattr(arguments, name)}
    for name in given:
        if name not in model.get_params():
            tasks = [other for other, kind in ESTIMATORS.items() if name in kind().get_params()]
            raise ValueError(f"{OPTIONS[name]} is an option of --task {' and '.join(tasks)}, not of {task}")
    made: Any = model.set_params(**given)
    return made


def class_weights(requests: Sequence[str], labels: np.ndarray) -> dict[object, float] | None:
    """The weights of ``-w`` by label; None if there are none."""
    known = {str(label): label for label in np.unique(labels).tolist()}
    weights = {}
    for request in requests:
        text, sign, weight = request.rpartition("=")
        require(sign and text, f"-w {request}: write -w LABEL WEIGHT or --weight LABEL=WEIGHT")
        name = str(int(text)) if text.lstrip("+-").isdecimal() else text
        require(name in known, f"-w {request}: unknown label {text!r}; the labels are {', '.join(list(known)[:8])}")
        try:
            weights[known[name]] = float(weight)
        except ValueError:
            raise ValueError(f"-w {request}: the weight {weight!r} is not a number") from None
    return weights or None
