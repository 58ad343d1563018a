"""The three directions at one point of the simplex, for a small problem: maximize g(a) = -a'Qa.

The gradient selects the vertices; arrows end where an exact line search does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..extras import needed_by
from ..rays import Away, Ray, SwapRay, Toward
from .drawing import INK, QUIET, Keywords, canvas, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SKETCH_Q = np.array([[1.0, 0.1, 0.3], [0.1, 1.3, 0.2], [0.3, 0.2, 2.4]])
SKETCH_POINT = np.array([0.1, 0.45, 0.45])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
SUBSCRIPTS = "₁₂₃"
DIRECTIONS = {"toward": "#E69F00", "away": "#0072B2", "swap": "#009E73"}


class Step(NamedTuple):
    """A direction from the point: where the exact line search ends, and where the simplex ends."""

    name: str
    formula: str
    end: np.ndarray
    farthest: np.ndarray

    @property
    def gain(self) -> float:
        """The increase of g."""
        return float(sketch_value(self.end) - sketch_value(SKETCH_POINT))


def sketch_value(a: np.ndarray) -> np.ndarray:
    """g(a) = -a'Qa, also of rows."""
    return -np.sum((a @ SKETCH_Q) * a, axis=-1)


def sketch_optimum() -> np.ndarray:
    """The optimum is interior, so all entries of Qa are equal."""
    a = np.linalg.solve(SKETCH_Q, np.ones(3))
    return a / a.sum()


def sketch_steps() -> list[Step]:
    """The three directions with the vertices that the gradient selects."""
    gradient = -2.0 * SKETCH_Q @ SKETCH_POINT
    i, j = int(np.argmax(gradient)), int(np.argmin(gradient))
    toward, away = f"e{SUBSCRIPTS[i]}", f"e{SUBSCRIPTS[j]}"
    rays: list[tuple[str, str, Ray]] = [
        ("toward", f"{toward} \u2212 a", Toward(i)),
        ("away", f"a \u2212 {away}", Away(j)),
        ("swap", f"{toward} \u2212 {away}", SwapRay(i, j)),
    ]
    steps = []
    for name, formula, ray in rays:
        d, longest = ray.direction(SKETCH_POINT), ray.longest(SKETCH_POINT)
        step = min(float(gradient @ d / (2.0 * d @ SKETCH_Q @ d)), longest)
        steps.append(Step(name, formula, SKETCH_POINT + step * d, SKETCH_POINT + longest * d))
    return steps


@drawn
def simplex_sketch() -> Figure:
    """Toward, away and swap from one point: dashed to the boundary, an arrow to the largest g."""
    with needed_by("the report"):
        from matplotlib.lines import Line2D
        from matplotlib.patches import Polygon

    figure, (axes,) = canvas(4.6)
    weights = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60.0
    axes.add_patch(Polygon(CORNERS, closed=True, facecolor="#f6f8fb", edgecolor=QUIET, linewidth=1.2, zorder=1))
    x, y = (weights @ CORNERS).T
    axes.tricontour(x, y, sketch_value(weights), levels=14, colors="#b9c2cf", linewidths=0.8, linestyles="solid")
    for step in sketch_steps():
        add_step(axes, step)
    add_labels(axes)
    lines = [
        Line2D([], [], color=DIRECTIONS[s.name], linewidth=2.4, label=f"{s.name}, {s.formula}: gains {s.gain:.3f}")
        for s in sketch_steps()
    ]
    figure.legend(handles=lines, loc="outside upper left", ncols=3, columnspacing=1.8)
    axes.set(aspect="equal", xlim=(-0.35, 1.35), ylim=(-0.08, 0.95))
    axes.set_axis_off()
    return figure


def add_step(axes: Axes, step: Step) -> None:
    """A direction's two parts."""
    color = DIRECTIONS[step.name]
    start, end, farthest = (point @ CORNERS for point in (SKETCH_POINT, step.end, step.farthest))
    axes.plot(*zip(start, farthest, strict=True), color=color, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
    head = "-|>,head_width=0.3,head_length=0.6"
    arrow = {"arrowstyle": head, "color": color, "linewidth": 2.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=arrow, zorder=4)


def add_labels(axes: Axes) -> None:
    """Corners, the point and the optimum."""
    gradient = SKETCH_Q @ SKETCH_POINT
    roles = {int(np.argmin(gradient)): ", largest gradient", int(np.argmax(gradient)): ", smallest gradient"}
    places = {0: ("right", (-7, 0)), 1: ("left", (7, 0)), 2: ("center", (0, 9))}
    beside: Keywords = {"textcoords": "offset points", "va": "center", "size": 10}
    for corner, (side, offset) in places.items():
        axes.annotate(f"e{SUBSCRIPTS[corner]}{roles.get(corner, '')}", CORNERS[corner], offset, ha=side, **beside)
    for point, name, marker, side in ((SKETCH_POINT, "a", "o", "left"), (sketch_optimum(), "optimum", "X", "right")):
        axes.plot(*(point @ CORNERS), marker, color=INK, markersize=8, markeredgecolor="white", zorder=6)
        axes.annotate(name, point @ CORNERS, (8 if side == "left" else -8, 0), ha=side, zorder=6, **beside)
