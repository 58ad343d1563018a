"""Figures of the kinds: ratios of time, one row for each kind, and growth with the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from swapsvm.study.records import Record

from .kind_sections import PEERS, View, development_view, held_back_view, title
from .kinds import family
from .style import COLOURS, MARKERS, STYLE, label_ends, plain_numbers
from .summary import Ratio, Table, exponent, geometric_mean
from .targets import OWN, growth_points

LANES = {"intelex": -0.27, "scikit-learn": 0.0, "libsvm": 0.27}
DOT: dict[str, Any] = {"linestyle": "none", "markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.8}


def kinds_figure(records: Sequence[Record]) -> Any:
    return ratios_by_kind(development_view(records)) if Table(records, "kinds").data else None


def held_back_figure(records: Sequence[Record]) -> Any:
    return ratios_by_kind(held_back_view(records))


# ---- ratios ---------------------------------------------------------------------------------------------------


def ratios_by_kind(view: View) -> Any:
    """A row for each kind, a dot for each set and peer, a bar at the geometric mean of a kind."""
    kinds = view.kinds()
    if not kinds:
        return None
    names = [kind.name for kind, _ in kinds]
    groups = [*(sets for _, sets in kinds), [data for _, sets in kinds for data in sets]]
    figure, axes = rows_for([*names, "all sets"])
    ratios_of = {peer: view.common.ratios(peer, OWN, "fit_seconds") for peer in PEERS}
    measured = {peer: found for peer, found in ratios_of.items() if found}
    for peer, found in measured.items():
        for place, sets in enumerate(groups):
            ratios = [found[data] for data in sets if data in found]
            draw_row(axes, ratios, place + LANES[peer], peer, dots=place < len(names))
    finish(axes, len(names), list(measured))
    return figure


def rows_for(names: Sequence[str]) -> tuple[Any, Any]:
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 0.52 * len(names) + 1.3))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#F7F7F7", zorder=0)
    return figure, axes


def draw_row(axes: Any, ratios: Sequence[Ratio], place: float, peer: str, dots: bool) -> None:
    """Dots of the sets (hollow where one of the two did not finish) and the bar of their geometric mean."""
    if not ratios:
        return
    colour, marker = COLOURS[peer], MARKERS[peer]
    mean = geometric_mean([ratio.value for ratio in ratios])
    axes.plot([mean] * 2, [place - 0.09, place + 0.09], color=colour, linewidth=2.2, solid_capstyle="butt")
    if not dots:
        axes.annotate(
            f"{mean:.2g}", (mean, place), (5, 0), textcoords="offset points", color=colour, va="center", size=9
        )
        return
    for ratio in ratios:
        look = {**DOT, "markeredgecolor": colour, "color": "white"} if ratio.bound else {**DOT, "color": colour}
        axes.plot([ratio.value], [place], marker, **look, zorder=3)


def finish(axes: Any, kinds: int, peers: Sequence[str]) -> None:
    low, high = axes.get_xlim()
    low, high = min(low, 0.5), max(high, 2.0)
    axes.set_xlim(low, high)
    axes.axvspan(low, 1, color="#D55E00", alpha=0.05, zorder=0, linewidth=0)
    axes.axvline(1, color="#444444", linewidth=1.3)
    axes.axhline(kinds - 0.5, color="#888888", linewidth=0.8)
    plain_numbers(axes.xaxis)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 2000 * low else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("fit time of the peer / ours")
    place = axes.get_xaxis_transform()
    axes.text(0.93, 1.01, "we are slower", transform=place, ha="right", va="bottom", size=9, color="#A34700")
    axes.text(1.08, 1.01, "we are faster", transform=place, ha="left", va="bottom", size=9, color="#444444")
    axes.legend(
        handles=legend(axes, peers), loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, handlelength=1.4
    )


def legend(axes: Any, peers: Sequence[str]) -> list[Any]:
    dots = [axes.plot([], [], MARKERS[peer], **DOT, color=COLOURS[peer], label=title(peer))[0] for peer in peers]
    hollow = {**DOT, "markeredgecolor": "#444444", "color": "white"}
    ended = axes.plot([], [], "o", **hollow, label="one did not finish")[0]
    mean = axes.plot([], [], "|", color="#444444", markersize=9, markeredgewidth=2, linestyle="none")[0]
    mean.set_label("geometric mean")
    return [*dots, mean, ended]


# ---- growth ---------------------------------------------------------------------------------------------------


def growth_figure(records: Sequence[Record]) -> Any:
    """A panel for each family: fit seconds against rows, and the fitted powers."""
    table = Table(records, "growth")
    families = list(dict.fromkeys(family(data) for data in table.data))
    if not families:
        return None
    columns = min(len(families), 3)
    lines = -(-len(families) // columns)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(lines, columns, figsize=(5.0 * columns, 3.5 * lines), squeeze=False)
    for axes in grid.ravel()[len(families) :]:
        axes.set_visible(False)
    for axes, name in zip(grid.ravel(), families, strict=False):
        draw_growth(axes, records, name, table.solvers)
    figure.tight_layout(h_pad=2, w_pad=2.5)
    return figure


def draw_growth(axes: Any, records: Sequence[Record], name: str, solvers: Sequence[str]) -> None:
    ends = []
    for solver in solvers:
        points = growth_points(records, "growth", name, solver)
        if not points:
            continue
        rows, times = np.array(points).T
        colour, marker = COLOURS[solver], MARKERS[solver]
        axes.plot(rows, times, marker, **DOT, color=colour)
        ends.append((rows[-1], times[-1], title(solver) + fitted(axes, rows, times, colour), colour))
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="fit, seconds")
    axes.set_title(name, loc="left")
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    axes.xaxis.set_minor_locator(NullLocator())
    label_ends(axes, ends)


def fitted(axes: Any, rows: np.ndarray, times: np.ndarray, colour: str) -> str:
    """Draw the fitted power; returns it as a label."""
    if len(rows) < 3:
        axes.plot(rows, times, color=colour, linewidth=1.2)
        return ""
    power = exponent(rows, times).value
    centre = np.exp(np.mean(np.log(times)) - power * np.mean(np.log(rows)))
    axes.plot(rows, centre * rows**power, color=colour, linewidth=1.2, alpha=0.7)
    return f"  rows$^{{{power:.2f}}}$"
