"""Colours, axes and labels that the figures share.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = {
    "block": "#D55E00",
    "block, 16 MB cache": "#D55E00",
    "intelex": "#0072B2",
    "scikit-learn": "#E69F00",
    "libsvm": "#009E73",
    "thundersvm": "#CC79A7",
    "swap2": "#0072B2",
    "swap": "#56B4E9",
    "mfw": "#009E73",
    "fw": "#E69F00",
    "cvm": "#CC79A7",
}
MARKERS = {"intelex": "o", "scikit-learn": "s", "libsvm": "^", "thundersvm": "D", "block": "o"}
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#888888",
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "svg.fonttype": "none",
    "figure.dpi": 130,
}


def plain_numbers(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    if axis.get_scale() == "log" and high < 300 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def label_ends(axes: Any, ends: list[tuple[float, float, str, Any]]) -> None:
    """Names in the right margin, at the ends of the curves, moved apart where they would overlap."""
    low, high = np.log(axes.get_ylim())
    previous = -np.inf
    for _, y, text, colour in sorted(ends, key=lambda end: (end[1], -end[0])):
        previous = max((np.log(y) - low) / (high - low), previous + 0.075)
        axes.text(1.02, previous, text, color=colour, va="center", size=9, transform=axes.transAxes)
