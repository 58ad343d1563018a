"""Tuning C and the width of the kernel with CVM, as in [SWAP14]; all methods then use the same values.

Pendigits and USPS: 10-fold cross-validation on the paper's grid, sigma^2 from 2^-15 to 2^5 and C from 2^-5 to 2^15 (the
paper does not print the steps: here the exponent increases by 2). A point whose accuracy on the first fold is more
than ``BEHIND`` below the best is not tried on the others. All other sets: sigma^2 is the mean squared distance of the
rows, and C from 2^0 to 2^12 is the best on a random 30 % of the rows. Ties go to the smaller C, then to the wider
kernel.

Each fit is one JSON line, so that tuning can continue. ``parameters.toml`` holds the result.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..kernels import Rbf, resolve_gamma
from . import records
from .protocol import COMMON, CVM_SAMPLING, EXPERIMENTS
from .records import Record, Settings
from .runs import fitted, loaded, was_cut

CROSS_VALIDATED = ("pendigits", "usps")
FOLDS = 10
BEHIND = 0.01
VALIDATION = 0.3
WIDTHS = tuple(2.0**k for k in range(-15, 6, 2))  # sigma^2
COSTS = tuple(2.0**k for k in range(-5, 16, 2))
LARGE_COSTS = tuple(2.0**k for k in range(13))


@dataclass(frozen=True)
class GridPoint:
    """A point of the grid."""

    C: float
    gamma: float


@cache
def stored_parameters() -> dict[str, dict[str, float]]:
    """The tuned C and gamma of the data sets."""
    return tomllib.loads(files(__package__).joinpath("parameters.toml").read_text("utf-8"))


def tune(name: str, output: Path, budget: float, report: Callable[[Record], None]) -> GridPoint:
    """Search the grid of a data set; fits that are in the file are not repeated."""
    known = {
        (r["data"], r["C"], r["gamma"], r["fold"]): r
        for r in records.read(output)
        if not r["cut"] or r["limit"] >= budget  # a cut fit is tried again with a larger limit
    }
    scores: dict[GridPoint, list[Record]] = defaultdict(list)

    def score(point: GridPoint, fold: int, folds: list[np.ndarray]) -> None:
        key = (name, point.C, point.gamma, fold)
        if key not in known:
            known[key] = fit_fold(name, point, fold, folds, budget)
            records.append(output, known[key])
            report(known[key])
        scores[point].append(known[key])

    folds = folds_of(name)
    for point in grid_of(name):
        score(point, 0, folds)
    if name in CROSS_VALIDATED:
        leader = max(accuracy(found) for found in scores.values())
        for point in [point for point in scores if accuracy(scores[point]) >= leader - BEHIND]:
            for fold in range(1, FOLDS):
                score(point, fold, folds)
    most = max(len(found) for found in scores.values())
    complete = {point: found for point, found in scores.items() if len(found) == most}
    return min(complete, key=lambda point: (-accuracy(complete[point]), point.C, point.gamma))


def grid_of(name: str) -> Iterator[GridPoint]:
    """The paper's grid for that data set."""
    if name in CROSS_VALIDATED:
        yield from (GridPoint(C, 1 / (2 * width)) for width in WIDTHS for C in COSTS)
    else:
        gamma = resolve_gamma("mean_sq_dist", Rbf, loaded(name).X_train)
        yield from (GridPoint(C, gamma) for C in LARGE_COSTS)


def folds_of(name: str) -> list[np.ndarray]:
    """Validation rows: ten parts, or one of 30 %."""
    rows = np.random.default_rng(0).permutation(len(loaded(name).y_train))
    return np.array_split(rows, FOLDS) if name in CROSS_VALIDATED else [rows[: int(VALIDATION * len(rows))]]


def fit_fold(name: str, point: GridPoint, fold: int, folds: list[np.ndarray], budget: float) -> Record:
    """Train CVM without the rows of a fold and count those that it predicts correctly."""
    data, held_out = loaded(name), folds[fold]
    kept = np.setdiff1d(np.arange(len(data.y_train)), held_out)
    settings: Settings = {**COMMON, **EXPERIMENTS["paper"].settings, "sampling": CVM_SAMPLING}
    settings |= {**vars(point), "solver": "cvm", "max_time": budget}
    model, seconds = fitted(settings, data.X_train[kept], data.y_train[kept])
    right = int(np.sum(model.predict(data.X_train[held_out]) == data.y_train[held_out]))
    counts = {"right": right, "rows": len(held_out)}
    times = {"seconds": round(seconds, 3), "limit": budget, "cut": was_cut(model)}
    return {"data": name, **vars(point), "fold": fold, **counts, **times}


def accuracy(found: list[Record]) -> float:
    """The accuracy over all folds."""
    return sum(r["right"] for r in found) / sum(r["rows"] for r in found)


def as_toml(chosen: dict[str, GridPoint]) -> str:
    """The file of parameters."""
    head = "# C and gamma of each data set, tuned with CVM: written by `swapsvm reproduce --tune`.\n"
    return head + "".join(f"\n[{name}]\nC = {p.C!r}\ngamma = {p.gamma!r}\n" for name, p in chosen.items())
