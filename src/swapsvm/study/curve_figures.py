"""The report's figures of single runs: gaps against work, rates, and iterations against accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .drawing import (
    DOTTED,
    QUIET,
    Keywords,
    add_legend,
    add_reference,
    canvas,
    drawn,
    line_of,
    log_ticks,
    look_of,
    marker_of,
    reference,
)
from .protocol import FRANK_WOLFE, TODAY
from .summary import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CUT_CURVE = "cut at the limit of time or iterations"


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
        axes.set_title(TODAY[method], color=look_of(method).color, loc="left")
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
