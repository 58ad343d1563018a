"""The sections of the report about kinds, held-back sets and growth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from swapsvm.study.records import Record

from .kinds import KINDS, Kind, family
from .markdown import megabytes, number, percent, seconds, size_of, table_lines
from .summary import Cell, Table, exponent, geometric_mean
from .targets import OWN, accuracy_difference, floor_ratio, growth_points

PEERS = ("intelex", "scikit-learn", "libsvm")
TITLES = {"block": "swapsvm", "libsvm": "LIBSVM"}


@dataclass(frozen=True)
class View:
    """The sets of one list (development or held-back) at common parameters and at those of each loss."""

    common: Table
    own: Table
    held_back: bool = False

    def kinds(self) -> list[tuple[Kind, list[str]]]:
        """Kinds with measured sets, in the order of the list."""
        found = [(kind, [d for d in self.names(kind) if d in self.common.data]) for kind in KINDS]
        return [(kind, sets) for kind, sets in found if sets]

    def names(self, kind: Kind) -> Iterable[str]:
        """The listed sets; of development also other members of their families, which quick runs measure."""
        if self.held_back:
            return kind.held_back
        families = {family(name) for name in kind.development}
        return [data for data in self.common.data if family(data) in families]

    def ratios(self, sets: Sequence[str], peer: str, name: str = "fit_seconds") -> list[float]:
        found = self.common.ratios(peer, OWN, name)
        return [found[data].value for data in sets if data in found]


def development_view(records: Sequence[Record]) -> View:
    return View(Table(records, "kinds", "peers"), Table(records, "kinds-tuned"))


def held_back_view(records: Sequence[Record]) -> View:
    return View(Table(records, "held-back"), Table(records, "held-back-tuned"), held_back=True)


# ---- sections -------------------------------------------------------------------------------------------------


def kinds_section(records: Sequence[Record]) -> list[str]:
    view = development_view(records)
    if not Table(records, "kinds").data:
        return []
    note = "Sets of development, by kind. A ratio is the time of the peer / ours: below 1 the peer is faster."
    return ["## By kind of data", "", note, "", *view_lines(view)]


def held_back_section(records: Sequence[Record]) -> list[str]:
    view = held_back_view(records)
    if not view.kinds():
        return []
    commits = sorted({r["where"]["commit"] for r in records if r.get("suite", "").startswith("held-back")})
    note = (
        "Sets that no development run used: other generators, other seeds, other real sets. Measured once, at the end, "
        f"and reported as they came out (commit {', '.join(commits)})."
    )
    return ["## Held-back sets", "", note, "", *view_lines(view)]


def view_lines(view: View) -> list[str]:
    common = "One C and one gamma for all competitors. Seconds are medians (smallest-largest)."
    own = "Each competitor at the C and gamma tuned for its loss: squared hinge for swapsvm, hinge for the peers."
    return [
        *summary_lines(view),
        *["### Common C and gamma", "", common, "", *fit_lines(view), *model_lines(view)],
        *(["### C and gamma tuned for each loss", "", own, "", *own_lines(view)] if view.own.data else []),
    ]


def summary_lines(view: View) -> list[str]:
    """One line for each kind: geometric means of its sets."""
    rows = [(kind.name, kind.about, len(sets), *mean_cells(view, sets)) for kind, sets in view.kinds()]
    every = [data for _, sets in view.kinds() for data in sets]
    head = ("kind", "", "sets", *(f"{title(peer)} / ours" for peer in PEERS))
    worst = [min(view.ratios(every, peer), default=None) for peer in PEERS]
    last = [
        ("**geometric mean of all sets**", "", len(every), *(f"**{cell}**" for cell in mean_cells(view, every))),
        ("**worst set**", "", "", *(f"**{number(value, '.2f')}**" for value in worst)),
    ]
    return table_lines(head, [*rows, *last])


def mean_cells(view: View, sets: Sequence[str]) -> list[str]:
    ratios = [view.ratios(sets, peer) for peer in PEERS]
    return [number(geometric_mean(r), ".2f") if r else "" for r in ratios]


def fit_lines(view: View) -> list[str]:
    head = ("kind", "data", "rows x features", "classes", *(f"{title(s)}, s" for s in (OWN, *PEERS)))
    ratios = tuple(f"{title(peer)} / ours" for peer in PEERS)
    rows = [fit_row(view.common, kind, data) for kind, sets in view.kinds() for data in sets]
    return table_lines((*head, *ratios), rows)


def fit_row(table: Table, kind: Kind, data: str) -> tuple[Any, ...]:
    times = (seconds(table.cell(data, solver)) for solver in (OWN, *PEERS))
    ratios = (table.ratio(data, peer, OWN, "fit_seconds") or "" for peer in PEERS)
    return kind.name, data, size_of(table, data), classes_of(table, data), *times, *ratios


def model_lines(view: View) -> list[str]:
    head = ("data", "C", "gamma", "support, ours", "hinge", "accuracy, %", "best peer", "difference")
    effort = ("kernel values / floor", "gap", "by NumPy", "peak, MB", "intelex, MB")
    rows = [model_row(view.common, data) for _, sets in view.kinds() for data in sets]
    return table_lines((*head, *effort), rows)


def model_row(table: Table, data: str) -> tuple[Any, ...]:
    ours, peer = table.cell(data, OWN), best_peer(table, data)
    first = ours.first if ours.records else {}
    return (
        data,
        *pair_of(ours),
        number(ours.median("support"), ".0f"),
        number(peer.median("support"), ".0f"),
        percent(ours),
        percent(peer),
        number(accuracy_difference(table, data), "+.2f"),
        number(floor_ratio(first), ".2f"),
        number(ours.median("relative_gap"), ".2g"),
        number(ours.median("verified_gap"), ".2g"),
        number(megabytes(ours), ".0f"),
        number(megabytes(table.cell(data, "intelex")), ".0f"),
    )


def own_lines(view: View) -> list[str]:
    head = ("data", "C", "gamma", "C, hinge", "gamma, hinge", *(f"{title(s)}, s" for s in (OWN, *PEERS)))
    last = (*(f"{title(peer)} / ours" for peer in PEERS), "accuracy, %", "best peer", "difference")
    sets = [data for _, found in view.kinds() for data in found if data in view.own.data]
    means = [[r.value for d, r in view.own.ratios(peer, OWN, "fit_seconds").items() if d in sets] for peer in PEERS]
    mean = (f"**{geometric_mean(m):.2f}**" if m else "" for m in means)
    total = ("**geometric mean**", *[""] * 8, *mean, "", "", "")
    return table_lines((*head, *last), [*(own_row(view.own, data) for data in sets), total])


def own_row(table: Table, data: str) -> tuple[Any, ...]:
    ours, peer = table.cell(data, OWN), best_peer(table, data)
    times = (seconds(table.cell(data, solver)) for solver in (OWN, *PEERS))
    ratios = (table.ratio(data, name, OWN, "fit_seconds") or "" for name in PEERS)
    difference = number(accuracy_difference(table, data), "+.2f")
    return data, *pair_of(ours), *pair_of(peer), *times, *ratios, percent(ours), percent(peer), difference


def growth_section(records: Sequence[Record]) -> list[str]:
    table = Table(records, "growth")
    rows = []
    for name in dict.fromkeys(family(data) for data in table.data):
        for solver in table.solvers:
            points = growth_points(records, "growth", name, solver)
            if len(points) > 2:
                rows.append(growth_row(name, solver, points))
    note = "b of fit time ~ rows^b, by least squares on a log-log scale, with its standard error; all in the same run."
    head = ("family", "competitor", "rows", "seconds", "exponent")
    return ["## Growth with the rows", "", note, "", *table_lines(head, rows)] if rows else []


def growth_row(name: str, solver: str, points: Sequence[tuple[float, float]]) -> tuple[Any, ...]:
    rows, times = zip(*points, strict=True)
    return name, title(solver), f"{rows[0]} to {rows[-1]}", f"{times[0]:.3g} to {times[-1]:.3g}", exponent(rows, times)


# ---- cells ----------------------------------------------------------------------------------------------------


def title(solver: str) -> str:
    return TITLES.get(solver, solver)


def best_peer(table: Table, data: str) -> Cell:
    """The peer with the highest accuracy."""
    cells = [table.cell(data, peer) for peer in PEERS]
    return max(cells, key=lambda cell: cell.median("accuracy") or 0.0)


def pair_of(cell: Cell) -> tuple[str, str]:
    first = next((r for r in cell.records if "C" in r), {})
    return number(first.get("C"), "g"), number(first.get("gamma"), ".3g")


def classes_of(table: Table, data: str) -> Any:
    cells = (table.cell(data, solver) for solver in table.solvers)
    return next((r["classes"] for cell in cells for r in cell.records if "classes" in r), "")
