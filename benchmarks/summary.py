"""Numbers from records: medians, ratios with their spread, geometric means, exponents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from swapsvm.study.records import Record


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
    """A peer's time over ours: medians, and the extremes over repetitions.

    If one of the two did not finish, its limit is used as its time, and ``bound`` says on which side the ratio lies.
    """

    value: float
    low: float
    high: float
    bound: str = ""  # ">", "<"

    def __str__(self) -> str:
        return f"{self.bound} {self.value:.3g}" if self.bound else f"{self.value:.3g} ({self.low:.2g}-{self.high:.2g})"


def bounded(value: float, bound: str) -> Ratio:
    return Ratio(value, value, value, bound)


class Table:
    """The runs of one suite, or several, by data set and competitor, in the order in which they appear."""

    def __init__(self, records: Iterable[Record], *suites: str) -> None:
        """A data set that occurs in several suites is taken from the first of them."""
        runs = [r for r in records if r.get("suite") in suites and r["status"] != "absent"]
        owner: dict[str, str] = {}
        for record in sorted(runs, key=lambda r: suites.index(r["suite"])):
            owner.setdefault(record["data"], record["suite"])
        grouped: dict[tuple[str, str], list[Record]] = {}
        for record in runs:
            if record["suite"] == owner[record["data"]]:
                grouped.setdefault((record["data"], record["solver"]), []).append(record)
        self.cells = {key: Cell(tuple(found)) for key, found in grouped.items()}
        self.data = list(dict.fromkeys(data for data, _ in self.cells))
        self.solvers = list(dict.fromkeys(solver for _, solver in self.cells))

    def cell(self, data: str, solver: str) -> Cell:
        return self.cells.get((data, solver), Cell(()))

    def ratio(self, data: str, peer: str, own: str, name: str) -> Ratio | None:
        """Time of the peer / own time, or None if one of them is not known."""
        theirs, ours = self.cell(data, peer), self.cell(data, own)
        if theirs.values(name) and ours.values(name):
            each = [t / o for t, o in zip(theirs.values(name), ours.values(name), strict=False)]
            return Ratio(np.median(theirs.values(name)) / np.median(ours.values(name)), min(each), max(each))
        if name == "fit_seconds" and ours.values(name) and theirs.timed_out:
            return bounded(theirs.first["limit"] / np.median(ours.values(name)), ">")
        if name == "fit_seconds" and theirs.values(name) and ours.records:
            return bounded(np.median(theirs.values(name)) / ours.first["limit"], "<")  # any failure of ours counts
        return None

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
