"""Tuning C and the width of the kernel, as in [SWAP14] with CVM; all methods then use the same values.

Pendigits and USPS: 10-fold cross-validation on the paper's grid, sigma^2 from 2^-15 to 2^5 and C from 2^-5 to 2^15 (the
paper does not print the steps: here the exponent increases by 2). A point whose accuracy on the first fold is more
than ``BEHIND`` below the best is not tried on the others. All other sets: sigma^2 is the mean squared distance of the
rows, and C from 2^0 to 2^12 is the best on a random 30 % of the rows. Ties go to the smaller C, then to the wider
kernel.

The same grid is also searched with the block engine, to a relative gap of 1e-4: the paper's absolute gap of 1e-6 is not
small where C is large (IJCNN, C = 4096: a relative gap of 0.8). C is CVM's choice if all of its fits end within their
limit. One that is cut says nothing of the accuracy at its C: a set where this happens is tuned by the block engine
alone, and no more fits of CVM are made. In a cross-validation CVM tries only points that the exact fits of the first
fold leave in the running: most of the paper's grid has kernels far too narrow or wide, and its fits take hours. Each
fit is one JSON line that names its method, so that tuning can continue. ``parameters.toml`` holds the result.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..kernels import Rbf, resolve_gamma
from . import records
from .fits import fitted, loaded, was_cut
from .protocol import ABSOLUTE, COMMON, UNIFORM, Parameters
from .provenance import provenance, source_digest
from .records import Record, Settings

CROSS_VALIDATED = ("pendigits", "usps")
FOLDS = 10
BEHIND = 0.01
VALIDATION = 0.3
WIDTHS = tuple(2.0**k for k in range(-15, 6, 2))  # sigma^2
COSTS = tuple(2.0**k for k in range(-5, 16, 2))
LARGE_COSTS = tuple(2.0**k for k in range(13))
LIMITS = {"block": 900.0, "cvm": 120.0}  # CPU seconds of a fit; methods in the order in which they are tried
ENDS: dict[str, Settings] = {  # seven empty samples end a fit of CVM's published program
    "block": {"sampling": None, "tol": 1e-4, "eps": 0.0},
    "cvm": {"sampling": UNIFORM["paper-7"], "tol": ABSOLUTE["tol"], "eps": ABSOLUTE["eps"]},
}


class GridPoint(NamedTuple):
    """A point of the grid."""

    C: float
    gamma: float


@dataclass(frozen=True)
class Fit:
    """One fit of tuning: a point of the grid with a method, without the rows of a fold."""

    data: str
    method: str
    point: GridPoint
    fold: int
    limit: float


Known = dict[tuple[GridPoint, int], Record]  # the fits of a method on a data set that have been made


class CurvePoint(NamedTuple):
    """The validation accuracy of a point of the grid; ``cut`` if a limit ended any of its fits."""

    method: str
    C: float
    gamma: float
    accuracy: float
    folds: int
    seconds: float
    cut: bool


@cache
def stored_parameters() -> Parameters:
    """The tuned C and gamma of the data sets, and the method that tuned them."""
    return tomllib.loads(files(__package__).joinpath("parameters.toml").read_text("utf-8"))


class Tuning:
    """The fits that are still to be made: of the block engine for all sets, then of CVM. It is a queue of a pool.

    A budget raises the limits and never lowers them: what is cut cannot be compared.
    """

    def __init__(self, names: Sequence[str], known: Sequence[Record], budget: float | None = None) -> None:
        self._limits = {method: max(seconds, budget or 0.0) for method, seconds in LIMITS.items()}
        self._lines: dict[tuple[str, str], Known] = defaultdict(dict)
        self._names, self._taken = names, set[Fit]()
        for line in known:
            if is_lasting(line) or records.digest_of(line) == source_digest(line["method"]):
                self._learn(line)

    def pop(self) -> Fit | None:
        """The next fit."""
        for method in self._limits:
            for name in self._names:
                for fit in self._due(name, method):
                    self._taken.add(fit)
                    return fit
        return None

    def note(self, fit: Fit, line: Record) -> None:
        """Learn from a fit that has ended."""
        self._learn(line)

    def give_up(self, fit: Fit) -> None:
        """It stays among the fits that were taken."""

    def _learn(self, line: Record) -> None:
        found = self._lines[line["data"], line["method"]]
        place = GridPoint(line["C"], line["gamma"]), line["fold"]
        if place not in found or found[place]["limit"] <= line["limit"]:
            found[place] = line

    def _due(self, name: str, method: str) -> Iterator[Fit]:
        """The fits of a set with a method that have not been made."""
        known, limit = self._lines[name, method], self._limits[method]
        if method == "cvm" and any(line["cut"] and line["limit"] >= limit for line in known.values()):
            return
        for point, fold in wanted(name, self._points(name, method), known):
            line = known.get((point, fold))
            fit = Fit(name, method, point, fold, limit)
            if fit not in self._taken and (line is None or (line["cut"] and line["limit"] < limit)):
                yield fit

    def _points(self, name: str, method: str) -> list[GridPoint]:
        """The points that a method tries, CVM the largest C first: its fits take longest, and a cut one ends them."""
        points = grid_of(name)
        if method == "block":
            return points
        left = near_best(points, self._lines[name, "block"]) if name in CROSS_VALIDATED else points
        return sorted(left, key=lambda point: -point.C)


def wanted(name: str, points: list[GridPoint], known: Known) -> Iterator[tuple[GridPoint, int]]:
    """The points and folds to try: all on the first fold, then those that are hardly behind on the others."""
    yield from ((point, 0) for point in points)
    if name in CROSS_VALIDATED:
        yield from ((point, fold) for point in near_best(points, known) for fold in range(1, FOLDS))


def near_best(points: list[GridPoint], known: Known) -> list[GridPoint]:
    """The points that are hardly behind on the first fold; none until all have been tried there."""
    if not all((point, 0) in known for point in points):
        return []
    first = {point: accuracy([known[point, 0]]) for point in points if not known[point, 0]["cut"]}
    return [point for point in first if first[point] >= max(first.values()) - BEHIND]


@cache
def grid_of(name: str) -> list[GridPoint]:
    """The paper's grid for that data set."""
    if name in CROSS_VALIDATED:
        return [GridPoint(C, 1 / (2 * width)) for width in WIDTHS for C in COSTS]
    gamma = resolve_gamma("mean_sq_dist", Rbf, loaded(name).X_train)
    return [GridPoint(C, gamma) for C in LARGE_COSTS]


def folds_of(name: str) -> list[np.ndarray]:
    """Validation rows: ten parts, or one of 30 %."""
    rows = np.random.default_rng(0).permutation(len(loaded(name).y_train))
    return np.array_split(rows, FOLDS) if name in CROSS_VALIDATED else [rows[: int(VALIDATION * len(rows))]]


def fit_fold(fit: Fit) -> Record:
    """Train without the rows of a fold and count those that the model predicts correctly."""
    data, held_out = loaded(fit.data), folds_of(fit.data)[fit.fold]
    kept = np.setdiff1d(np.arange(len(data.y_train)), held_out)
    settings: Settings = {**COMMON, **ENDS[fit.method], **fit.point._asdict()}
    settings |= {"kernel": "rbf", "solver": fit.method, "max_time": fit.limit}
    model, seconds = fitted(settings, data.X_train[kept], data.y_train[kept])
    right = int(np.sum(model.predict(data.X_train[held_out]) == data.y_train[held_out]))
    return {
        "data": fit.data,
        "method": fit.method,
        **fit.point._asdict(),
        "fold": fit.fold,
        "tol": settings["tol"],
        "eps": settings["eps"],
        "right": right,
        "rows": len(held_out),
        "seconds": round(seconds, 3),
        "limit": fit.limit,
        "cut": was_cut(model),
        "provenance": provenance(fit.method),
    }


def curves(path: Path) -> dict[str, list[CurvePoint]]:
    """The accuracies over the grid of each set, by both methods, from the lines that count."""
    fits: dict[str, dict[tuple[str, GridPoint], dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for line in counting(records.read(path)):
        folds = fits[line["data"]][line["method"], GridPoint(line["C"], line["gamma"])]
        if line["fold"] not in folds or folds[line["fold"]]["limit"] <= line["limit"]:
            folds[line["fold"]] = line
    return {
        name: [curve_point(method, point, list(folds.values())) for (method, point), folds in found.items()]
        for name, found in fits.items()
    }


def counting(lines: Sequence[Record]) -> list[Record]:
    """The lines that last, and those of the newest sources."""
    others = [line for line in lines if not is_lasting(line)]
    return [*filter(is_lasting, lines), *records.newest(others)]


def is_lasting(line: Record) -> bool:
    """Whether the line counts whatever became of its sources: the certified end of an exact fit."""
    return records.digest_of(line) is not None and line["method"] == "block" and not line["cut"]


def curve_point(method: str, point: GridPoint, found: list[Record]) -> CurvePoint:
    """The fits of a point over all folds."""
    seconds = sum(line["seconds"] for line in found)
    return CurvePoint(method, *point, accuracy(found), len(found), seconds, any(line["cut"] for line in found))


def chosen(points: Sequence[CurvePoint]) -> CurvePoint | None:
    """The best point; None if no fit has ended.

    CVM's curve decides if it has all points that the block engine has on all folds, and no fit was cut; otherwise the
    block engine's.
    """
    by_cvm, by_block = ([point for point in points if point.method == method] for method in ("cvm", "block"))
    tried = {(point.C, point.gamma) for point in by_cvm}
    covers = {(point.C, point.gamma) for point in complete(by_block)} <= tried
    decides = by_cvm if by_cvm and covers and not any(point.cut for point in by_cvm) else by_block
    return min(complete(decides), key=lambda point: (-point.accuracy, point.C, point.gamma), default=None)


def complete(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Those that have ended on the most folds."""
    ended = [point for point in points if not point.cut]
    most = max((point.folds for point in ended), default=0)
    return [point for point in ended if point.folds == most]


def accuracy(found: Sequence[Record]) -> float:
    """The accuracy over all folds."""
    return sum(r["right"] for r in found) / sum(r["rows"] for r in found)


def best_of(path: Path, names: Sequence[str]) -> Parameters:
    """The best C and gamma of each of these sets, and whose curve decided, from the lines of tuning."""
    points = curves(path)
    best = {name: chosen(points[name]) for name in names if name in points}
    return {name: {"C": p.C, "gamma": p.gamma, "method": p.method} for name, p in best.items() if p}


def as_toml(parameters: Parameters) -> str:
    """The file of parameters."""
    head = "# C and gamma of each data set, and the method that tuned them: written by `swapsvm reproduce --tune`.\n"
    tables = {
        name: "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
        for name, own in parameters.items()
    }
    return head + "".join(f"\n[{name}]\n{table}" for name, table in tables.items())
