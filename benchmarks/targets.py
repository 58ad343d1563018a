"""The goals and the measured numbers; whether a goal is met is computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from swapsvm.study.records import Record

from .summary import Table, exponent, geometric_mean

OWN = "block"
LARGE = 5000  # rows
BLOCK_BYTES = 8 * 2048**2  # kernel values of the largest block
TOLERANCE = 1e-2  # the default of SVC


@dataclass(frozen=True)
class Target:
    """``measure`` returns the number, or None if the records do not contain it."""

    what: str
    against: str
    sign: str  # ">=" or "<="
    goal: float
    measure: Callable[[Sequence[Record]], float | None]

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        met = value >= self.goal if self.sign == ">=" else value <= self.goal
        return "met" if met else "**not met**"


def mean_ratio(peer: str, name: str) -> Callable[[Sequence[Record]], float | None]:
    def measure(records: Sequence[Record]) -> float | None:
        ratios = Table(records, "peers").ratios(peer, OWN, name)
        return geometric_mean([r.value for r in ratios.values()]) if ratios else None

    return measure


def worst_ratio(records: Sequence[Record]) -> float | None:
    table = Table(records, "peers")
    ratios = table.ratios("intelex", OWN, "fit_seconds")
    large = [r.value for data, r in ratios.items() if table.cell(data, OWN).first["rows"] > LARGE]
    return min(large, default=None)


def worst_accuracy(records: Sequence[Record]) -> float | None:
    """Points above (or, if negative, below) the best peer, on the worst set."""
    table = Table(records, "peers")
    differences = [accuracy_difference(table, data) for data in table.data]
    return min((d for d in differences if d is not None), default=None)


def accuracy_difference(table: Table, data: str) -> float | None:
    own = table.cell(data, OWN).median("accuracy")
    peers = [table.cell(data, peer).median("accuracy") for peer in table.solvers if peer != OWN]
    best = max((a for a in peers if a is not None), default=None)
    return None if own is None or best is None else 100 * (own - best)


def floor_ratio(record: Record) -> float | None:
    return record["evaluations"] / record["floor"] if record.get("floor") else None


def floors(records: Sequence[Record]) -> dict[str, float]:
    table = Table(records, "peers")
    found = {data: floor_ratio(table.cell(data, OWN).first) for data in table.data if table.cell(data, OWN).records}
    return {data: ratio for data, ratio in found.items() if ratio is not None}


def mean_floor(records: Sequence[Record]) -> float | None:
    found = floors(records)
    return geometric_mean(list(found.values())) if found else None


def web_exponent(records: Sequence[Record]) -> float | None:
    table = Table(records, "web")
    cells = [table.cell(data, OWN) for data in table.data]
    points = [(c.first["rows"], c.median("fit_seconds")) for c in cells if c.values("fit_seconds")]
    return exponent(*zip(*points, strict=True)).value if len(points) > 2 else None


def bytes_per_row(records: Sequence[Record]) -> float | None:
    """Beyond data, budget of the cache, block and model, at the largest number of rows."""
    table = Table(records, "memory")
    cells = [cell for cell in table.cells.values() if cell.values("peak_bytes")]
    if not cells:
        return None
    largest = max(cells, key=lambda cell: cell.first["rows"])
    first = largest.first
    allowed = first["cache_budget"] + BLOCK_BYTES + first["model_bytes"]
    return max(largest.median("peak_bytes") - allowed, 0.0) / first["rows"]


def worst_certificate(records: Sequence[Record]) -> float | None:
    return max((r["verified_gap"] for r in records if "verified_gap" in r and r["suite"] == "peers"), default=None)


def unknown(records: Sequence[Record]) -> None:
    return None


TARGETS = [
    Target("fit, geometric mean", "intelex", ">=", 3.0, mean_ratio("intelex", "fit_seconds")),
    Target(f"fit, slowest set above {LARGE} rows", "intelex", ">=", 1.0, worst_ratio),
    Target("fit, geometric mean", "scikit-learn", ">=", 10.0, mean_ratio("scikit-learn", "fit_seconds")),
    Target("fit, geometric mean", "libsvm", ">=", 10.0, mean_ratio("libsvm", "fit_seconds")),
    Target("fit, geometric mean", "thundersvm", ">=", 10.0, mean_ratio("thundersvm", "fit_seconds")),
    Target("fit, same problem and gap", "LibCVM", ">=", 25.0, unknown),
    Target("predict, geometric mean", "intelex", ">=", 2.0, mean_ratio("intelex", "predict_seconds")),
    Target("predict, geometric mean", "scikit-learn", ">=", 20.0, mean_ratio("scikit-learn", "predict_seconds")),
    Target("model selection, 10 C x 5 gamma x 5 folds", "GridSearchCV(intelex)", ">=", 10.0, unknown),
    Target("accuracy, points, worst set", "the best peer", ">=", -0.1, worst_accuracy),
    Target("kernel values / floor, geometric mean", "nSV x m", "<=", 4.0, mean_floor),
    Target("exponent of fit time in m, w1a..w8a", "", "<=", 1.5, web_exponent),
    Target("bytes per row beyond data, cache, block, model", "", "<=", 64.0, bytes_per_row),
    Target("relative gap recomputed by NumPy, worst set", "tol", "<=", TOLERANCE, worst_certificate),
]
