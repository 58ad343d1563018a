"""The report's figures of medians, as SVG text.

Points without a run, and values that a logarithmic axis cannot show, are omitted. A thin line goes from the smallest to
the largest value over the seeds. A hollow marker is a run that was cut at its time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..datasets.registry import find_entry
from .diagram import draw_ranks
from .drawing import (
    INK,
    add_legend,
    add_markers,
    add_reference,
    add_spreads,
    canvas,
    drawn,
    line_of,
    log_ticks,
    reference,
)
from .records import Measure
from .sketch import simplex_sketch as simplex_sketch
from .summary import Results, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CUT = "cut at the time limit"
Groups = Mapping[str, Sequence[str]]  # the data sets of each panel, by its title


@dataclass(frozen=True)
class Axis:
    """What is drawn: a measure times a factor that can depend on the data set."""

    measure: Measure
    label: str
    log: bool = True
    factor: Callable[[str], float] = lambda data: 1.0


ACCURACY = Axis("accuracy", "test accuracy, %", log=False, factor=lambda data: 100.0)
TIME = Axis("seconds", "training time, s")
SIZE = Axis("model_size", "support vectors, % of the training rows", factor=lambda data: 100.0 / find_entry(data).rows)
GAP = Axis("relative_gap", "certified relative gap at the end")
EVALUATIONS = Axis("evaluations", "kernel values computed")
ITERATIONS = Axis("iterations", "iterations")


class Point(NamedTuple):
    """The median of a data set, the smallest and the largest value, and whether any of its runs was cut."""

    data: str
    value: float
    low: float
    high: float
    cut: bool


Series = dict[str, list[Point]]  # by method
ranks = drawn(draw_ranks)


@drawn
def collections(results: Results, experiment: str, groups: Groups, axis: Axis) -> Figure:
    """A measure against the number of training rows, one panel for each collection."""
    series = {title: series_of(results, experiment, data, axis) for title, data in groups.items()}
    return over_rows(series, axis.label, axis.log)


@drawn
def speedups(results: Results, experiment: str, groups: Groups) -> Figure:
    """Speed-up over CVM: a bound if one of the two runs was cut, omitted if both were."""
    panels: dict[str, Series] = {}
    for title, data in groups.items():
        series = series_of(results, experiment, data, TIME)
        cvm = {point.data: point for point in series.pop("cvm", []) if point.value > 0}
        panels[title] = {method: ratios_to(cvm, points) for method, points in series.items()}
    figure = over_rows(panels, "speed-up over CVM (times)", log=True)
    for axes in figure.axes:
        axes.axhline(1.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
    return figure


def ratios_to(base: dict[str, Point], points: Iterable[Point]) -> list[Point]:
    """The base's median divided by each point's values."""
    return [
        Point(p.data, own.value / p.value, own.value / p.high, own.value / p.low, p.cut or own.cut)
        for p in points
        if (own := base.get(p.data)) and p.low > 0 and not (p.cut and own.cut)
    ]


@drawn
def iterations_by_rows(results: Results) -> Figure:
    """Iterations to one gap against the number of rows m, with a line of slope 1."""
    series = series_of(results, "rows", results.data("rows"), ITERATIONS)
    figure = over_rows({"": series}, ITERATIONS.label, log=True, slope="in proportion to m")
    points = [point for points in series.values() for point in points]
    if points:
        first = min(points, key=lambda point: (find_entry(point.data).rows, point.value))
        add_reference(figure.axes[0], find_entry(first.data).rows, first.value, slope=1.0)
    return figure


def series_of(results: Results, experiment: str, data: Sequence[str], axis: Axis) -> Series:
    """Medians by method."""
    series: Series = {}
    for method in results.methods(experiment):
        spreads = {name: results.spread(experiment, name, method, axis.measure) for name in data}
        series[method] = [
            scaled(name, found, axis.factor(name), results.cut(experiment, name, method))
            for name, found in spreads.items()
            if found is not None and np.isfinite(found.middle)
        ]
    return series


def scaled(data: str, spread: Spread, factor: float, cut: bool) -> Point:
    """A point in the unit of the axis."""
    return Point(data, factor * spread.middle, factor * spread.low, factor * spread.high, cut)


def over_rows(panels: Mapping[str, Series], label: str, log: bool, slope: str = "") -> Figure:
    """Lines over data sets, by their numbers of training rows."""
    panels = {title: drawable(series, log) for title, series in panels.items()}
    figure, places = canvas(4.2, columns=max(len(panels), 1))
    for axes, (title, series) in zip(places, panels.items(), strict=False):
        draw_over_rows(axes, series, log, small=len(panels) > 1)
        axes.set_title(title, loc="left")
    places[0].set_ylabel(label)
    merged = merge(panels.values())
    add_legend(figure, merged, cut_note(merged), [reference(slope)] if slope else [])
    return figure


def draw_over_rows(axes: Axes, series: Series, log: bool, small: bool) -> None:
    """One panel of ``over_rows``."""
    rows = {point.data: find_entry(point.data).rows for points in series.values() for point in points}
    for method, points in series.items():
        ordered = sorted(points, key=lambda point: rows[point.data])
        axes.plot([rows[p.data] for p in ordered], [p.value for p in ordered], **line_of(method))
        add_spreads(axes, [((rows[p.data], p.low), (rows[p.data], p.high)) for p in ordered if p.low < p.high], method)
        add_markers(axes, [(rows[p.data], p.value, p.cut) for p in ordered], method)
    axes.set(xscale="log", xlabel="data set, training rows")
    labels = [f"{name}\n{count:,}" for name, count in rows.items()]
    axes.set_xticks(list(rows.values()), labels, fontsize=6.5 if small else 9.0)
    axes.minorticks_off()
    if log:
        log_ticks(axes, "y")


@drawn
def sets(results: Results, experiment: str, groups: Groups, axis: Axis) -> Figure:
    """A row for each data set; methods are shifted vertically, so that equal values do not overlap."""
    found = {title: series_of(results, experiment, data, axis) for title, data in groups.items()}
    panels = {title: drawable(series, axis.log) for title, series in found.items()}
    tallest = max((len(names_in(series)) for series in panels.values()), default=1)
    figure, places = canvas(1.35 + 0.5 * max(tallest, 1), columns=max(len(panels), 1))
    for axes, (title, series) in zip(places, panels.items(), strict=False):
        draw_sets(axes, series, axis)
        axes.set_title(title, loc="left")
    merged = merge(panels.values())
    add_legend(figure, merged, cut_note(merged))
    return figure


def draw_sets(axes: Axes, series: Series, axis: Axis) -> None:
    """One panel of ``sets``."""
    names = names_in(series)
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f6f8fb", linewidth=0, zorder=0)
    floor = -np.inf if axis.log else zoom(series)
    for (method, points), shift in zip(series.items(), np.linspace(-0.33, 0.33, max(len(series), 2)), strict=False):
        at = {point: names.index(point.data) + shift for point in points}
        add_spreads(
            axes, [((max(p.low, floor), y), (p.high, y)) for p, y in at.items() if floor < p.high > p.low], method
        )
        add_markers(axes, [(max(p.value, floor), y, p.cut) for p, y in at.items()], method)
        for point, y in at.items():
            if point.value < floor:
                text = f"◂ {point.value:.1f}"
                axes.annotate(text, (floor, y), (7, 0), textcoords="offset points", va="center", size=7)
    axes.set(xlabel=axis.label, ylim=(max(len(names), 1) - 0.5, -0.5), yticks=range(len(names)), yticklabels=names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if axis.log:
        log_ticks(axes, "x")


def names_in(series: Series) -> list[str]:
    """The data sets that are drawn."""
    return list(dict.fromkeys(point.data for points in series.values() for point in points))


def zoom(series: Series) -> float:
    """The start of the axis, so that outliers do not compress all other values."""
    values = [point.value for points in series.values() for point in points]
    if not values:
        return -np.inf
    low, high = np.percentile(values, [25, 75])
    return float(max(min(values), low - 3.0 * (high - low)))


def drawable(series: Series, log: bool) -> Series:
    """The series without values that a logarithmic axis cannot show, and without empty methods."""
    kept = {method: [p for p in points if p.low > 0 or not log] for method, points in series.items()}
    return {method: points for method, points in kept.items() if points}


def merge(panels: Iterable[Series]) -> Series:
    """The points of all panels."""
    merged: Series = {}
    for series in panels:
        for method, points in series.items():
            merged[method] = merged.get(method, []) + points
    return merged


def cut_note(series: Series) -> str:
    """What hollow markers mean, if there are any."""
    return CUT if any(point.cut for points in series.values() for point in points) else ""
