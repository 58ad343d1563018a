"""The common style of the drawings: each method has one colour and one marker everywhere."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec

import numpy as np

from ..extras import needed_by
from .protocol import TODAY

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Arguments = ParamSpec("Arguments")
INK, QUIET, GRID = "#1c2330", "#5b6575", "#dde2ea"
STYLE: dict[Any, Any] = {  # matplotlib types its keys and values one by one
    "svg.fonttype": "none",
    "svg.hashsalt": "swapsvm",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # sizes are measured with it; see as_svg
    "font.size": 9.0,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "text.color": INK,
}
LEGEND = 118  # characters of a line of the legend; a handle takes the room of six
WIDTH = 9.2  # inches, the report's column
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Keywords = dict[str, Any]  # of a call of matplotlib
DOTTED: Keywords = {"color": QUIET, "linestyle": (0, (1, 2)), "linewidth": 1.4, "zorder": 2}


class Look(NamedTuple):
    """How a method is drawn; the colours of Okabe and Ito are distinct for the colour-blind."""

    color: str
    marker: str
    size: float = 5.5
    width: float = 1.4
    order: int = 3


LOOKS = {
    "cvm": Look("#000000", "s", size=5.0),
    "fw": Look("#E69F00", "^"),
    "mfw": Look("#56B4E9", "v"),
    "swap": Look("#009E73", "o"),
    "swap2": Look("#0072B2", "D", size=5.0),
    "block": Look("#D55E00", "*", size=11.0, width=2.6, order=4),
}
OTHER_COLORS = ("#CC79A7", "#7A5195", "#8C6D1F", "#5B6575", "#A3260B", "#3F7F93")
OTHER_MARKERS = ("P", "X", "p", "h", "<", ">", "d", "8")


def look_of(method: str) -> Look:
    """The look of a method; those that are not the paper's take the other colours in turn."""
    if method in LOOKS:
        return LOOKS[method]
    place = [name for name in TODAY if name not in LOOKS].index(method)
    return Look(OTHER_COLORS[place % len(OTHER_COLORS)], OTHER_MARKERS[place % len(OTHER_MARKERS)])


def drawn(draw: Callable[Arguments, Figure]) -> Callable[Arguments, str]:
    """Draw in the report's style and return SVG text, the same for the same input."""

    @wraps(draw)
    def as_svg(*args: Arguments.args, **kwargs: Arguments.kwargs) -> str:
        with needed_by("the report"):
            import matplotlib

        text = io.StringIO()
        with matplotlib.rc_context(STYLE):
            draw(*args, **kwargs).savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue().replace("'DejaVu Sans', ", "")  # the reader's own font

    return as_svg


def canvas(height: float, columns: int = 1, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels side by side."""
    with needed_by("the report"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(1, columns, sharey=sharey, squeeze=False)
    for axes in panels[0, 1:]:
        axes.tick_params(axis="y", which="both", left=not sharey)
    return figure, list(panels[0])


def grid_canvas(lines: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels in lines and columns."""
    with needed_by("the report"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(lines, columns, squeeze=False).ravel())


def line_of(method: str, width: float | None = None) -> Keywords:
    """Keywords of a line."""
    look = look_of(method)
    return {"color": look.color, "linewidth": width or look.width, "zorder": look.order, "solid_joinstyle": "round"}


def marker_of(method: str, cut: bool) -> Keywords:
    """Keywords of a marker, hollow if the run was cut."""
    look = look_of(method)
    common = {"linestyle": "none", "marker": look.marker, "zorder": look.order + 2}
    if cut:
        edge = {"markerfacecolor": "white", "markeredgecolor": look.color, "markeredgewidth": 1.3}
        return {**common, **edge, "markersize": look.size}
    edge = {"markerfacecolor": look.color, "markeredgecolor": "white", "markeredgewidth": 0.6}
    return {**common, **edge, "markersize": look.size + 1.3}  # the white edge covers part of it


def add_markers(axes: Axes, places: Sequence[tuple[float, float, bool]], method: str) -> None:
    """Markers at x and y, hollow where a run was cut."""
    for cut in (False, True):
        chosen = [(x, y) for x, y, hollow in places if hollow == cut]
        if chosen:
            axes.plot(*zip(*chosen, strict=True), **marker_of(method, cut))


def add_spreads(axes: Axes, ends: Sequence[tuple[tuple[float, float], tuple[float, float]]], method: str) -> None:
    """Thin lines from the smallest to the largest value over the seeds."""
    look = look_of(method)
    for (x, y), (to_x, to_y) in ends:
        axes.plot([x, to_x], [y, to_y], color=look.color, linewidth=1.1, alpha=0.65, zorder=look.order)


def reference(label: str) -> Artist:
    """A dotted line of the legend."""
    with needed_by("the report"):
        from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **DOTTED)


def add_reference(axes: Axes, x: float, y: float, slope: float) -> None:
    """A line through a point of logarithmic axes, whose limits do not change."""
    ends, limits = np.array(axes.get_xlim()), axes.get_ylim()
    axes.set(xlim=ends, ylim=limits)
    axes.plot(ends, y * (ends / x) ** slope, **DOTTED)


def add_legend(figure: Figure, methods: Iterable[str], cut: str, references: Sequence[Artist] = ()) -> None:
    """Above the panels, in one line if it fits."""
    with needed_by("the report"):
        from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], label=TODAY[method], **{**marker_of(method, False), **line_of(method), "linestyle": "-"})
        for method in methods
    ]
    if cut:
        handles.append(Line2D([], [], label=cut, **{**marker_of("swap", True), "markeredgecolor": QUIET}))
    handles += references
    if handles:
        columns = legend_columns([str(handle.get_label()) for handle in handles])
        figure.legend(handles=handles, loc="outside upper left", ncols=columns, columnspacing=1.4, handlelength=1.8)


def legend_columns(labels: Sequence[str]) -> int:
    """The most columns whose widest entries fit beside each other; entries go down the columns."""
    for columns in range(len(labels), 1, -1):
        deep = -(-len(labels) // columns)
        widest = [max(map(len, labels[start : start + deep])) + 6 for start in range(0, len(labels), deep)]
        if sum(widest) <= LEGEND:
            return columns
    return 1


def log_ticks(axes: Axes, which: Literal["x", "y"]) -> None:
    """Few ticks with readable numbers: 0.1, 1, 10 near one, else powers of ten."""
    with needed_by("the report"):
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    axes.set(**{f"{which}scale": "log"})
    axis, (low, high) = (axes.xaxis, axes.get_xlim()) if which == "x" else (axes.yaxis, axes.get_ylim())
    decades = np.log10(high / low)
    subs = (1, 2, 5) if decades < 1.6 else (1, 3) if decades < 3 else (1,)
    plain = decades < 4.5 and low >= 0.9e-3 and high <= 2e5
    axis.set_major_locator(MaxNLocator(5) if decades < 0.6 else LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}" if plain else power_of_ten(value)))
    axis.set_minor_formatter(NullFormatter())
    if decades >= 3:
        axis.set_minor_locator(NullLocator())


def power_of_ten(value: float) -> str:
    """10⁻³, 2·10⁵."""
    exponent = int(np.floor(np.log10(value) + 1e-9))
    factor = value / 10.0**exponent
    before = "" if abs(factor - 1) < 1e-6 else f"{factor:.3g}·"
    return f"{before}10{str(exponent).translate(SUPERSCRIPTS)}"
