"""Plots of fitted models. Not everybody has matplotlib, so only functions import it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from .extras import needed_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimators import SVC

AXES = {"seconds": "seconds", "iteration": "iterations", "evaluations": "kernel values computed"}


def require_extra(purpose: str) -> None:
    """Raise ``ImportError`` now, not after the fits, if matplotlib or rich is missing."""
    with needed_by(purpose):
        for package in ("matplotlib", "rich"):
            import_module(package)


def plot_trace(model: SVC, x: str = "seconds", ax: Axes | None = None) -> Axes:
    """Draw the relative gap during a fit, one line for each pair of classes.

    Parameters
    ----------
    model : SVC
        A fitted model.
    x : {"seconds", "iteration", "evaluations"}
        The measure of work.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if x not in AXES:
        raise ValueError(f"x={x!r} must be one of {', '.join(AXES)}")
    if not hasattr(model, "trace_"):
        raise ValueError("the model has no trace_: call fit first")
    if ax is None:
        with needed_by("plot_trace"):
            from matplotlib.figure import Figure

        ax = Figure(figsize=(6.4, 4.0), layout="constrained").subplots()
    pairs = np.unique(model.trace_["pair"])
    for pair in pairs:
        records = model.trace_[model.trace_["pair"] == pair]
        gap = np.minimum.accumulate(records["gap"] / np.abs(records["value"]))
        ax.plot(np.maximum.accumulate(records[x]), gap, color="#0072B2", alpha=max(0.25, 1 / len(pairs)), linewidth=1.6)
    ax.axhline(model.tol, color="0.6", linewidth=0.8, linestyle="--")
    ax.text(
        0.01, model.tol, f"tol = {model.tol:g} ", transform=ax.get_yaxis_transform(), ha="left", va="bottom", size=8
    )
    ax.set(xlabel=AXES[x], ylabel="relative duality gap (smallest so far)", yscale="log")
    ax.set_title(f"{model.solver}: {len(pairs)} pair{'s' * (len(pairs) > 1)} of classes", loc="left", size=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92", linewidth=0.6)
    return ax
