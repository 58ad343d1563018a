"""The figure of the tuning: for each data set the curves over C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .drawing import DOTTED, add_legend, add_markers, drawn, grid_canvas, line_of, log_ticks, reference
from .figures import CUT
from .tuning_curves import Curve, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4


@drawn
def tuning(curves: Curves, used: Mapping[str, float]) -> Figure:
    """One small panel for each data set: validation accuracy over C, and a dotted line at the C that the runs used."""
    lines = max(1, -(-len(curves) // COLUMNS))
    figure, panels = grid_canvas(lines, COLUMNS, height=1.7 * lines + 0.5)
    for axes, (name, by_method) in zip(panels, curves.items(), strict=False):
        draw_curves(axes, by_method)
        axes.set_title(name, loc="left", fontsize=9.0)
        if name in used:
            axes.axvline(used[name], **DOTTED)
    for axes in panels[len(curves) :]:
        axes.set_axis_off()
    every = [curve for by_method in curves.values() for curve in by_method.values()]
    methods = dict.fromkeys(method for by_method in curves.values() for method in by_method)
    add_legend(figure, methods, CUT if any(curve.cut for curve in every) else "", [reference("the C of the study")])
    return figure


def draw_curves(axes: Axes, by_method: Mapping[str, Curve]) -> None:
    """One panel; hollow points had a fit that was cut."""
    for method, curve in by_method.items():
        axes.plot([p.C for p in curve.points], [100 * p.accuracy for p in curve.points], **line_of(method))
        add_markers(axes, [(p.C, 100 * p.accuracy, p.cut) for p in curve.points], method)
    log_ticks(axes, "x")
    axes.tick_params(labelsize=7.0)
