"""The critical-difference diagram of [Demsar06]: methods on an axis of ranks, bars join those that do not differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..extras import needed_by
from .statistics import RankDiagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Heights in rows of text; the axis is at 0, names are below it.
RULER = 1.5
FIRST_BAR = -0.45
BAR_SPACING = 0.4
ROW_INCHES = 0.3
INK, QUIET, BAR = "0.15", "0.55", "#0072B2"


class Label(NamedTuple):
    """The name of a method, and its side and row below the axis."""

    name: str
    rank: float
    left: bool
    row: int


def draw_ranks(diagram: RankDiagram, title: str = "") -> Figure:
    """Draw the diagram of ``rank_diagram``; the best method is on the left."""
    with needed_by("the report"):
        from matplotlib.figure import Figure

    methods = len(diagram.names)
    labels = list(place_labels(diagram))
    first_row = FIRST_BAR - BAR_SPACING * len(diagram.cliques) - 0.4
    bottom = first_row - max(label.row for label in labels) - 0.6
    figure = Figure(figsize=(7.0, ROW_INCHES * (RULER + 1.4 - bottom)), layout="constrained")
    axes = figure.subplots()
    draw_axis(axes, methods)
    draw_ruler(axes, diagram)
    draw_bars(axes, diagram)
    for label in labels:
        draw_label(axes, label, first_row, methods)
    room = 0.45 * (methods - 1)  # for the names
    axes.set(xlim=(1 - room, methods + room), ylim=(bottom, RULER + 0.9))
    axes.set_axis_off()
    axes.set_title(title, loc="left", size=11, weight="bold", color=INK)
    return figure


def place_labels(diagram: RankDiagram) -> Iterator[Label]:
    """Better half on the left, others on the right, outermost highest, so that lines do not cross."""
    half = (len(diagram.names) + 1) // 2
    for place, (name, rank) in enumerate(zip(diagram.names, diagram.ranks, strict=True)):
        left = place < half
        yield Label(name, rank, left, place if left else len(diagram.names) - 1 - place)


def draw_axis(axes: Axes, methods: int) -> None:
    """A line with a tick for each rank, from 1 to the number of methods."""
    axes.plot([1, methods], [0, 0], color=INK, linewidth=1.2, solid_capstyle="butt")
    for rank in range(1, methods + 1):
        axes.plot([rank, rank], [0, 0.25], color=INK, linewidth=1.0)
        axes.text(rank, 0.38, str(rank), ha="center", va="bottom", size=9, color=INK)
    for rank in range(1, methods):
        axes.plot([rank + 0.5, rank + 0.5], [0, 0.14], color=INK, linewidth=1.0)


def draw_ruler(axes: Axes, diagram: RankDiagram) -> None:
    """The length of the critical difference, above the axis."""
    end = 1 + diagram.difference
    axes.plot([1, end], [RULER, RULER], color=QUIET, linewidth=1.2)
    for x in (1, end):
        axes.plot([x, x], [RULER - 0.13, RULER + 0.13], color=QUIET, linewidth=1.2)
    text = f"critical difference {diagram.difference:.2f} (Nemenyi, level {diagram.level:g})"
    axes.text(1, RULER + 0.22, text, ha="left", va="bottom", size=8.5, color=QUIET)


def draw_bars(axes: Axes, diagram: RankDiagram) -> None:
    """One bar for each group of methods that do not differ."""
    rank_of = dict(zip(diagram.names, diagram.ranks, strict=True))
    for place, clique in enumerate(diagram.cliques):
        height = FIRST_BAR - BAR_SPACING * place
        ends = [rank_of[clique[0]], rank_of[clique[-1]]]
        axes.plot(ends, [height] * 2, color=BAR, linewidth=4.5, solid_capstyle="round", zorder=3)


def draw_label(axes: Axes, label: Label, first_row: float, methods: int) -> None:
    """A line from the rank on the axis to the name, with the rank beside it."""
    margin = 0.06 * (methods - 1) * (-1 if label.left else 1)
    end = (1 if label.left else methods) + margin
    height = first_row - label.row
    axes.plot([label.rank, label.rank, end], [0, height, height], color=QUIET, linewidth=0.9, zorder=1)
    axes.plot([label.rank], [0], "o", color=INK, markersize=4, zorder=4)
    side = "right" if label.left else "left"
    text = f"{label.name}  {label.rank:.2f}" if label.left else f"{label.rank:.2f}  {label.name}"
    axes.text(end + margin / 4, height, text, ha=side, va="center", size=10, color=INK)
