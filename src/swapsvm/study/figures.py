"""The report's figures as SVG text.

Points without a run, and values that a logarithmic axis cannot show, are omitted. A hollow marker is a run that was cut
at its time limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..datasets.registry import find_entry
from .diagram import draw_ranks
from .drawing import (
    DOTTED,
    INK,
    LOOKS,
    QUIET,
    Keywords,
    add_legend,
    add_markers,
    add_reference,
    canvas,
    drawn,
    line_of,
    log_ticks,
    marker_of,
    reference,
)
from .protocol import FRANK_WOLFE, METHODS
from .records import Measure
from .sketch import simplex_sketch as simplex_sketch
from .summary import Results

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CUT = "cut at the time limit"
CUT_CURVE = "cut at the limit of time or iterations"


class MedianPoint(NamedTuple):
    """The median of a data set, and whether any of its runs was cut."""

    data: str
    value: float
    cut: bool


Series = dict[str, list[MedianPoint]]  # by method
ranks = drawn(draw_ranks)


@drawn
def collection(
    results: Results, experiment: str, data: Sequence[str], measure: Measure, *, label: str, log: bool
) -> Figure:
    """A measure against the number of training rows, over the sets of a collection."""
    return over_rows(series_of(results, experiment, data, measure), label, log)


@drawn
def speedups(results: Results, experiment: str, data: Sequence[str]) -> Figure:
    """Speed-up over CVM: a bound if one of the two runs was cut, omitted if both were."""
    series = series_of(results, experiment, data, "seconds")
    cvm = {point.data: point for point in series.pop("cvm", []) if point.value > 0}
    ratios = {method: ratios_to(cvm, points) for method, points in series.items()}
    figure = over_rows(ratios, "speed-up over CVM (times)", log=True)
    figure.axes[0].axhline(1.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
    return figure


def ratios_to(base: dict[str, MedianPoint], points: Iterable[MedianPoint]) -> list[MedianPoint]:
    """The base's value divided by each point's."""
    return [
        MedianPoint(data, base[data].value / value, cut or base[data].cut)
        for data, value, cut in points
        if data in base and value > 0 and not (cut and base[data].cut)
    ]


@drawn
def iterations_by_rows(results: Results) -> Figure:
    """Iterations to one gap against the number of rows m, with a line of slope 1."""
    series = series_of(results, "rows", results.data("rows"), "iterations")
    figure = over_rows(series, "iterations", log=True, references=[reference("in proportion to m")])
    points = [point for points in series.values() for point in points]
    if points:
        first = min(points, key=lambda point: (find_entry(point.data).rows, point.value))
        add_reference(figure.axes[0], find_entry(first.data).rows, first.value, slope=1.0)
    return figure


def series_of(results: Results, experiment: str, data: Sequence[str], measure: Measure) -> Series:
    """Medians by method."""
    scale = 100.0 if measure == "accuracy" else 1.0
    series: Series = {}
    for method in results.methods(experiment):
        medians = [(name, results.median(experiment, name, method, measure)) for name in data]
        series[method] = [
            MedianPoint(name, scale * value, results.cut(experiment, name, method))
            for name, value in medians
            if value is not None and np.isfinite(value)
        ]
    return series


def over_rows(series: Series, label: str, log: bool, references: Sequence[Artist] = ()) -> Figure:
    """Lines over data sets, by their numbers of training rows."""
    series = drawable(series, log)
    figure, (axes,) = canvas(3.9)
    rows = {point.data: find_entry(point.data).rows for points in series.values() for point in points}
    for method, points in series.items():
        ordered = sorted(points, key=lambda point: rows[point.data])
        axes.plot([rows[p.data] for p in ordered], [p.value for p in ordered], **line_of(method))
        add_markers(axes, [(rows[p.data], p.value, p.cut) for p in ordered], method)
    axes.set(xscale="log", xlabel="data set, training rows", ylabel=label)
    axes.set_xticks(list(rows.values()), [f"{name}\n{count:,}" for name, count in rows.items()])
    axes.minorticks_off()
    if log:
        log_ticks(axes, "y")
    add_legend(figure, series, cut_note(series), references)
    return figure


@drawn
def sets(results: Results, experiment: str, data: Sequence[str], measure: Measure, *, label: str, log: bool) -> Figure:
    """A row for each data set; methods are shifted vertically, so that equal values do not overlap."""
    series = drawable(series_of(results, experiment, data, measure), log)
    names = list(dict.fromkeys(point.data for points in series.values() for point in points))
    figure, (axes,) = canvas(1.15 + 0.5 * max(len(names), 1))
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f6f8fb", linewidth=0, zorder=0)
    floor = -np.inf if log else zoom(series)
    for (method, points), shift in zip(series.items(), np.linspace(-0.31, 0.31, max(len(series), 2)), strict=False):
        places = [(max(p.value, floor), names.index(p.data) + shift, p.cut) for p in points]
        add_markers(axes, places, method)
        for point, (x, y, _) in zip(points, places, strict=True):
            if point.value < floor:
                axes.annotate(f"◂ {point.value:.1f}", (x, y), (7, 0), textcoords="offset points", va="center", size=7)
    axes.set(xlabel=label, ylim=(max(len(names), 1) - 0.5, -0.5), yticks=range(len(names)), yticklabels=names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if log:
        log_ticks(axes, "x")
    add_legend(figure, series, cut_note(series))
    return figure


def zoom(series: Series) -> float:
    """The start of the axis, so that outliers do not compress all other values."""
    values = [point.value for points in series.values() for point in points]
    if not values:
        return -np.inf
    low, high = np.percentile(values, [25, 75])
    return float(max(min(values), low - 3.0 * (high - low)))


def drawable(series: Series, log: bool) -> Series:
    """The series without values that a logarithmic axis cannot show, and without empty methods."""
    kept = {method: [p for p in points if p.value > 0 or not log] for method, points in series.items()}
    return {method: points for method, points in kept.items() if points}


def cut_note(series: Series) -> str:
    """What hollow markers mean, if there are any."""
    return CUT if any(point.cut for points in series.values() for point in points) else ""


class Curve(NamedTuple):
    """One run of the experiment "convergence"; gaps are the smallest so far."""

    iteration: np.ndarray
    seconds: np.ndarray
    evaluations: np.ndarray
    gap: np.ndarray
    relative: np.ndarray
    cut: bool


@drawn
def convergence(results: Results, data: str) -> Figure:
    """The relative gap against iterations, seconds and kernel evaluations."""
    curves = curves_of(results, data)
    figure, panels = canvas(3.7, columns=3, sharey=True)
    fields = {"iteration": "iterations k", "seconds": "training time (s)", "evaluations": "kernel evaluations"}
    for axes, (field, label) in zip(panels, fields.items(), strict=True):
        for method, curve in curves.items():
            x = getattr(curve, field)
            axes.plot(x, curve.relative, **line_of(method))
            axes.plot(x[-1], curve.relative[-1], **marker_of(method, curve.cut))
        axes.set(xscale="log", yscale="log", xlabel=label)
        log_ticks(axes, "x")
    panels[0].set_ylabel("relative gap, smallest so far")
    log_ticks(panels[0], "y")
    if "fw" in curves:
        add_reference(panels[0], curves["fw"].iteration[-1], 3.0 * curves["fw"].relative[-1], slope=-1.0)
    add_legend(figure, curves, CUT_CURVE if any(c.cut for c in curves.values()) else "", [reference("O(1/k)")])
    return figure


@drawn
def linear_rate(results: Results, data: str) -> Figure:
    """The relative gap against iterations, not their logarithm: a linear rate is a straight line.

    Each method has a panel, because iterations differ by orders of magnitude; the dotted line fits the second half.
    """
    curves = {method: curve for method, curve in curves_of(results, data).items() if method in FRANK_WOLFE}
    figure, panels = canvas(3.3, columns=max(len(curves), 1), sharey=True)
    for axes, (method, curve) in zip(panels, curves.items(), strict=False):
        axes.plot(curve.iteration, curve.relative, **line_of(method, width=2.0))
        axes.plot(curve.iteration[-1], curve.relative[-1], **marker_of(method, curve.cut))
        axes.set(yscale="log", xlabel="iterations")
        axes.set_title(METHODS[method], color=LOOKS[method].color, loc="left")
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=3)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        add_rate(axes, curve)
    panels[0].set_ylabel("relative gap, smallest so far")
    if curves:
        log_ticks(panels[0], "y")
    cut = CUT_CURVE if any(curve.cut for curve in curves.values()) else ""
    add_legend(figure, curves, cut, [reference("the rate of the second half")])
    return figure


def add_rate(axes: Axes, curve: Curve) -> None:
    """A straight line through the second half of the iterations, and how many of them halve the gap."""
    late = (curve.iteration >= curve.iteration[-1] / 2) & (curve.relative > 0)
    if np.count_nonzero(late) < 3:
        return
    slope, height = np.polyfit(curve.iteration[late], np.log(curve.relative[late]), 1)
    ends = np.array([0.0, curve.iteration[-1]])
    axes.plot(ends, np.exp(height + slope * ends), **DOTTED)
    if slope < 0:
        text = f"in the end halves every\n{np.log(2) / -slope:,.0f} iterations"
        place: Keywords = {"transform": axes.transAxes, "ha": "right", "va": "top", "multialignment": "left"}
        axes.text(0.98, 0.98, text, size=8, color=QUIET, **place)


@drawn
def iterations_by_accuracy(results: Results, data: str) -> Figure:
    """Iterations until the gap is at most eps, against 1 / eps, with a line of slope 1."""
    reached = {method: first_reached(curve) for method, curve in curves_of(results, data).items()}
    reached = {method: pair for method, pair in reached.items() if len(pair[0])}
    figure, (axes,) = canvas(3.9)
    for method, (accuracies, iterations) in reached.items():
        axes.plot(1.0 / accuracies, iterations, **line_of(method))
        axes.plot(1.0 / accuracies, iterations, **marker_of(method, cut=False))
    axes.set(xscale="log", yscale="log", xlabel="1 / eps", ylabel="iterations until gap ≤ eps")
    log_ticks(axes, "x")
    log_ticks(axes, "y")
    if "fw" in reached:
        accuracies, iterations = reached["fw"]
        add_reference(axes, 1.0 / accuracies[-1], 2.0 * iterations[-1], slope=1.0)
    add_legend(figure, reached, "", [reference("in proportion to 1 / eps")])
    return figure


def first_reached(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies half a decade apart, and the iterations that reached them."""
    logs = 2 * np.log10(curve.gap[curve.gap > 0])
    powers = np.arange(np.floor(logs[0]), np.ceil(logs[-1]) - 1, -1) if len(logs) else np.empty(0)
    accuracies = 10.0 ** (powers / 2)
    places = np.array([np.argmax(curve.gap <= eps) for eps in accuracies], dtype=int)
    return accuracies, curve.iteration[places]


def curves_of(results: Results, data: str) -> dict[str, Curve]:
    """The first repetition of each method that has a curve."""
    curves = {}
    for method in results.methods("convergence"):
        run = next((run for run in results.runs("convergence", data, method) if run.get("curve")), None)
        if run is not None:
            fields = {name: np.asarray(values, dtype=float) for name, values in run["curve"].items()}
            with np.errstate(divide="ignore"):  # a value of zero gives infinity, which is not drawn
                relative = np.minimum.accumulate(fields["gap"] / np.abs(fields["value"]))
            x = {name: fields[name] for name in ("iteration", "seconds", "evaluations", "gap")}
            curves[method] = Curve(**x, relative=relative, cut=run["measures"]["cut"])
    return curves
