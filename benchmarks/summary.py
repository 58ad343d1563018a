"""Numbers from records: medians, ratios with their spread, geometric means, exponents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .records import Record


@dataclass(frozen=True)
class Cell:
    """One competitor on one data set: the records of its repetitions."""

    records: tuple[Record, ...]

    @property
    def first(self) -> Record:
        return self.records[0]

    def values(self, name: str) -> list[float]:
        return [r[name] for r in self.records if r.get(name) is not None]

    def median(self, name: str) -> float | None:
        values = self.values(name)
        return float(np.median(values)) if values else None

    @property
    def timed_out(self) -> bool:
        """No fit within the limit."""
        return not self.values("fit_seconds") and any(r["status"] == "timeout" for r in self.records)


@dataclass(frozen=True)
class Ratio:
    """A peer's time over ours: medians, and the extremes over repetitions; ``at_least`` if the peer did not finish."""

    value: float
    low: float
    high: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"> {self.value:.3g}" if self.at_least else f"{self.value:.3g} ({self.low:.2g}-{self.high:.2g})"


class Table:
    """The runs of one suite by data set and competitor, in the order in which they appear."""

    def __init__(self, records: Iterable[Record], suite: str) -> None:
        grouped: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            if record.get("suite") == suite and record["status"] != "absent":
                grouped.setdefault((record["data"], record["solver"]), []).append(record)
        self.cells = {key: Cell(tuple(found)) for key, found in grouped.items()}
        self.data = list(dict.fromkeys(data for data, _ in self.cells))
        self.solvers = list(dict.fromkeys(solver for _, solver in self.cells))

    def cell(self, data: str, solver: str) -> Cell:
        return self.cells.get((data, solver), Cell(()))

    def ratio(self, data: str, peer: str, own: str, name: str) -> Ratio | None:
        """Time of the peer / own time, or None if one of them is not known."""
        theirs, ours = self.cell(data, peer), self.cell(data, own)
        if not ours.values(name):
            return None
        if name == "fit_seconds" and theirs.timed_out:
            bound = theirs.first["limit"] / ours.median(name)
            return Ratio(bound, bound, bound, at_least=True)
        if not theirs.values(name):
            return None
        each = [t / o for t, o in zip(theirs.values(name), ours.values(name), strict=False)]
        return Ratio(theirs.median(name) / ours.median(name), min(each), max(each))

    def ratios(self, peer: str, own: str, name: str) -> dict[str, Ratio]:
        found = {data: self.ratio(data, peer, own, name) for data in self.data}
        return {data: ratio for data, ratio in found.items() if ratio is not None}


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


@dataclass(frozen=True)
class Exponent:
    """b of time ~ size^b, with its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


def exponent(sizes: Sequence[float], times: Sequence[float]) -> Exponent:
    """Least squares on a log-log scale."""
    x, y = np.log(sizes), np.log(times)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    error = float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / (x @ x)))
    return Exponent(slope, error)
