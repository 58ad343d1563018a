"""The figures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from swapsvm.study.records import Record

from .datasets import synthetic
from .kind_figures import growth_figure, held_back_figure, kinds_figure
from .style import COLOURS, MARKERS, STYLE, label_ends, plain_numbers
from .summary import Table, exponent, geometric_mean
from .targets import OWN, floors

GOAL = 3.0  # kernel values / floor
SERIES = {
    "web": "w1a..w8a: rows",
    "rows": "synthetic: rows",
    "features": "synthetic: features",
    "noise": "synthetic: flipped labels",
    "density": "synthetic: non-zeros",
}


def draw_all(records: Sequence[Record], directory: Path) -> dict[str, str]:
    """Draw the figures that the records allow; returns their names and captions."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = {
        "fit": ("Fit time of each peer / ours", ratio_figure(records, "fit_seconds", goal=4.0)),
        "predict": ("Predict time of each peer / ours", ratio_figure(records, "predict_seconds", goal=3.0)),
        "floor": ("Kernel values computed / values the model needs", floor_figure(records)),
        "memory": ("Peak memory of a fit beyond the data", memory_figure(records)),
        "kinds": ("Fit time of the peers / ours, by kind of data", kinds_figure(records)),
        "held-back": ("Fit time of the peers / ours, held-back sets", held_back_figure(records)),
        "growth": ("Fit time against rows", growth_figure(records)),
        "scaling": ("Fit time as one thing grows", scaling_figure(records)),
        "convergence": ("Relative gap against time, our solvers", convergence_figure(records)),
    }
    drawn = {name: (caption, figure) for name, (caption, figure) in figures.items() if figure is not None}
    for name, (_, figure) in drawn.items():
        for suffix in ("png", "svg"):
            figure.savefig(directory / f"{name}.{suffix}", bbox_inches="tight")
        plt.close(figure)
    return {name: caption for name, (caption, _) in drawn.items()}


# ---- by data set ----------------------------------------------------------------------------------------------


def ratio_figure(records: Sequence[Record], name: str, goal: float) -> Any:
    """One line for each data set and one for the geometric mean, one mark for each peer."""
    table = Table(records, "peers")
    peers = [s for s in table.solvers if s != OWN and table.ratios(s, OWN, name)]
    if not peers:
        return None
    rows = [*table.data, "geometric mean"]
    figure, axes = lines_for(rows)
    axes.axvline(1, color="#444444", linewidth=1.2)
    for peer, shift in zip(peers, shifts(len(peers)), strict=True):
        draw_ratios(axes, table.ratios(peer, OWN, name), rows, peer, shift)
    axes.axhspan(len(rows) - 1.5, len(rows) - 0.5, color="#F5F5F5", zorder=0)
    axes.axvline(goal, color=COLOURS["intelex"], linewidth=1, linestyle=(0, (4, 3)))
    axes.text(goal, -0.75, f"goal against intelex: {goal:g}", color=COLOURS["intelex"], ha="center", fontsize=8)
    plain_numbers(axes.xaxis)
    axes.set_xlabel("times our time (right of 1: we are faster; arrow: one of the two did not finish)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def shifts(count: int) -> np.ndarray:
    """Small offsets from the line, so that marks do not overlap."""
    return 0.17 * (np.arange(count) - (count - 1) / 2)


def draw_ratios(axes: Any, ratios: dict[str, Any], rows: list[str], peer: str, shift: float) -> None:
    colour, marker = COLOURS.get(peer, "#000000"), MARKERS.get(peer, "o")
    places = [rows.index(data) + shift for data in ratios]
    values = [r.value for r in ratios.values()]
    for place, ratio in zip(places, ratios.values(), strict=True):
        axes.plot([ratio.low, ratio.high], [place, place], color=colour, linewidth=2, alpha=0.35)
        if ratio.bound:
            end = ratio.value * (1.4 if ratio.bound == ">" else 1 / 1.4)
            axes.plot([end], [place], alpha=0)  # the axis extends as far
            axes.annotate("", (end, place), (ratio.value, place), arrowprops=arrow(colour))
    axes.plot(values, places, marker, color=colour, markersize=6, markeredgecolor="white", label=peer)
    mean, last = geometric_mean(values), len(rows) - 1 + shift
    axes.plot([mean], [last], marker, color=colour, markersize=6, markeredgecolor="white")
    axes.annotate(f"{mean:.1f}", (mean, last), (6, 0), textcoords="offset points", color=colour, va="center", size=8)


def arrow(colour: str) -> dict[str, Any]:
    return {"arrowstyle": "->", "color": colour, "linewidth": 1.2}


def lines_for(rows: list[str]) -> tuple[Any, Any]:
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.5, 0.46 * len(rows) + 1.2))
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.grid(axis="y", color="#F2F2F2")
    axes.tick_params(axis="y", length=0)
    return figure, axes


def floor_figure(records: Sequence[Record]) -> Any:
    found = floors(records)
    if not found:
        return None
    figure, axes = lines_for(list(found))
    axes.set_xscale("linear")
    axes.set_xlim(0, 1.12 * max(*found.values(), GOAL))
    axes.barh(range(len(found)), list(found.values()), height=0.55, color=COLOURS[OWN])
    for place, value in enumerate(found.values()):
        axes.annotate(f"{value:.1f}", (value, place), (4, 0), textcoords="offset points", va="center", size=9)
    axes.axvline(GOAL, color="#444444", linewidth=1, linestyle=(0, (4, 3)))
    axes.text(GOAL, -0.6, f"goal: {GOAL:g}", color="#444444", ha="center", fontsize=8)
    axes.set_xlabel("kernel values computed / floor (support vectors x rows, summed over the pairs of classes)")
    return figure


def memory_figure(records: Sequence[Record]) -> Any:
    table = Table(records, "peers")
    if not table.data:
        return None
    figure, axes = lines_for(table.data)
    for solver, shift in zip(table.solvers, shifts(len(table.solvers)), strict=True):
        peaks = {data: table.cell(data, solver).median("peak_bytes") for data in table.data}
        places = [table.data.index(data) + shift for data, peak in peaks.items() if peak]
        values = [peak / 2**20 for peak in peaks.values() if peak]
        colour, marker = COLOURS.get(solver, "#000000"), MARKERS.get(solver, "o")
        axes.plot(values, places, marker, color=colour, markersize=6, markeredgecolor="white", label=solver)
    plain_numbers(axes.xaxis)
    axes.set_xlabel("megabytes beyond the data")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


# ---- curves ---------------------------------------------------------------------------------------------------


def size_in(suite: str, record: Record) -> float:
    """The quantity that grows in a series."""
    if suite == "noise":
        return synthetic(record["data"]).noise
    return float(record["rows"] if suite == "web" else record[suite])


def points_of(records: Sequence[Record], suite: str, solver: str) -> list[tuple[float, float]]:
    table = Table(records, suite)
    cells = [table.cell(data, solver) for data in table.data]
    return sorted((size_in(suite, c.first), c.median("fit_seconds") or 0.0) for c in cells if c.values("fit_seconds"))


def scaling_figure(records: Sequence[Record]) -> Any:
    present = [suite for suite in SERIES if Table(records, suite).data]
    if not present:
        return None
    with plt.rc_context(STYLE):
        columns = min(len(present), 3)
        lines = -(-len(present) // columns)
        figure, grid = plt.subplots(lines, columns, figsize=(4.2 * columns, 3.3 * lines), squeeze=False)
    for axes in grid.ravel()[len(present) :]:
        axes.set_visible(False)
    for axes, suite in zip(grid.ravel(), present, strict=False):
        draw_series(axes, records, suite)
    figure.tight_layout(h_pad=2, w_pad=2.5)
    return figure


def draw_series(axes: Any, records: Sequence[Record], suite: str) -> None:
    logarithmic = suite != "noise"
    ends = []
    for solver in Table(records, suite).solvers:
        points = points_of(records, suite, solver)
        if not points:
            continue
        x, y = np.array(points).T
        axes.plot(x, y, "o-", color=COLOURS.get(solver), markersize=4.5, linewidth=1.6)
        power = f" ~ x^{exponent(x, y).value:.2f}" if logarithmic and len(x) > 2 else ""
        ends.append((x[-1], y[-1], f"{solver}{power}", COLOURS.get(solver)))
    axes.set(xscale="log" if logarithmic else "linear", yscale="log", ylabel="fit, seconds")
    axes.set_title(SERIES[suite], loc="left")
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    label_ends(axes, ends)


def convergence_figure(records: Sequence[Record]) -> Any:
    table = Table(records, "convergence")
    if not table.data:
        return None
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(1, len(table.data), figsize=(4.6 * len(table.data), 3.7), squeeze=False)
    for axes, data in zip(grid[0], table.data, strict=True):
        draw_convergence(axes, table, data)
    figure.tight_layout(w_pad=3)
    return figure


def draw_convergence(axes: Any, table: Table, data: str) -> None:
    ends = []
    for solver in table.solvers:
        cell = table.cell(data, solver)
        if not cell.records or "trace" not in cell.first:
            continue
        seconds, gap = np.maximum(cell.first["trace"]["seconds"], 1e-3), np.array(cell.first["trace"]["gap"])
        smallest = np.minimum.accumulate(gap)
        axes.plot(seconds, smallest, color=COLOURS.get(solver), linewidth=1.8)
        ends.append((seconds[-1], smallest[-1], solver, COLOURS.get(solver)))
    axes.axhline(1e-2, color="#444444", linewidth=1, linestyle=(0, (4, 3)))
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative gap, smallest so far")
    axes.set_title(data, loc="left")
    plain_numbers(axes.xaxis)
    label_ends(axes, ends)
