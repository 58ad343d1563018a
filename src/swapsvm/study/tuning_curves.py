"""What the lines of the tuning say: the curves over C of each data set, and how many fits were cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .protocol import EVERY_SET, TODAY
from .records import Record
from .tuning import counting


class CurvePoint(NamedTuple):
    """One C: the best accuracy over the widths of the kernel, on all folds, and whether a fit was cut."""

    C: float
    gamma: float
    accuracy: float
    cut: bool


class Curve(NamedTuple):
    """The tuning of one data set with one method."""

    points: Sequence[CurvePoint]
    fits: int
    cut: int

    @property
    def best(self) -> CurvePoint:
        """Ties go to the smaller C, then to the wider kernel."""
        return min(self.points, key=lambda p: (-p.accuracy, p.C, p.gamma))


Curves = dict[str, dict[str, Curve]]  # by data set and method


def tuning_curves(lines: Sequence[Record]) -> Curves:
    """The curves from the lines that count, in the paper's order; of repeated fits the last line counts."""
    current = counting(lines) or lines
    fits = {(f["data"], method_of(f), f["C"], f["gamma"], f["fold"]): f for f in current}
    found: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for (data, method, *_), fit in fits.items():
        found[data][method].append(fit)
    return {d: {m: curve_of(found[d][m]) for m in TODAY if m in found[d]} for d in EVERY_SET if d in found}


def method_of(fit: Record) -> str:
    """The method of a fit; lines without it are of CVM."""
    return str(fit.get("method", "cvm"))


def curve_of(fits: Iterable[Record]) -> Curve:
    """The curve of one data set and method."""
    grid: dict[tuple[float, float], list[Record]] = defaultdict(list)
    for fit in fits:
        grid[fit["C"], fit["gamma"]].append(fit)
    most = max(len(folds) for folds in grid.values())
    points: dict[float, CurvePoint] = {}
    for (C, gamma), folds in sorted(grid.items()):
        rate = sum(f["right"] for f in folds) / sum(f["rows"] for f in folds)
        point = CurvePoint(C, gamma, float(rate), any(f["cut"] for f in folds))
        if len(folds) == most and (C not in points or point.accuracy > points[C].accuracy):
            points[C] = point
    every = [fit for folds in grid.values() for fit in folds]
    return Curve(list(points.values()), len(every), sum(fit["cut"] for fit in every))
