"""Tables of measures by data set and method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..datasets.registry import registry
from .document import Cell, TableBlock
from .protocol import METHODS
from .records import Measure
from .summary import Results

CUT = "> : cut at the limit of the run, so the time is a lower bound."
FORMS: dict[Measure, Callable[[float], str]] = {
    "accuracy": lambda value: f"{100 * value:.2f}",
    "seconds": lambda value: f"{value:.3g}" if value < 1000 else f"{value:.0f}",
    "model_size": "{:.0f}".format,
    "iterations": "{:.0f}".format,
    "evaluations": "{:.2g}".format,
    "relative_gap": "{:.1e}".format,
}
WORK: dict[Measure, str] = {"iterations": "iterations", "evaluations": "kernel values", "relative_gap": "relative gap"}
MeasureTable = Callable[[Results, str, str, str, Sequence[str]], TableBlock]


def accuracy_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Accuracies, and how far they are below CVM's."""
    methods = results.methods(experiment)
    others = [m for m in methods if m != "cvm"] if "cvm" in methods else []
    columns = ("data set", *(METHODS[m] for m in methods), *(f"d {METHODS[m]}" for m in others))
    rows = []
    for d in data:
        losses = [results.loss(d, m, experiment) for m in others]
        differences = ["" if loss is None else f"{100 * loss:+.2f}" for loss in losses]
        rows.append((label(d), *measure_cells(results, experiment, d, methods, "accuracy"), *differences))
    note = "d: difference to CVM relative to CVM's accuracy, in percent; positive if CVM is better."
    caption = f"{title}: test accuracy, percent."
    return TableBlock(f"{prefix}-accuracy", caption, columns, tuple(rows), note if "cvm" in methods else "")


def time_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Times and speed-ups over CVM."""
    methods = results.methods(experiment)
    others = [m for m in methods if m != "cvm"] if "cvm" in methods and experiment == "paper" else []
    columns = ("data set", *(METHODS[m] for m in methods), *(f"CVM / {METHODS[m]}" for m in others))
    rows = []
    for d in data:
        speedups = [speedup_cell(results, d, m) for m in others]
        rows.append((label(d), *measure_cells(results, experiment, d, methods, "seconds"), *speedups))
    caption = f"{title}: training time, seconds{', and speed-up over CVM' if others else ''}."
    return TableBlock(f"{prefix}-time", caption, columns, tuple(rows), CUT)


def speedup_cell(results: Results, data: str, method: str) -> str:
    """A speed-up, or its bound; empty without runs."""
    if not all(results.runs("paper", data, m) for m in ("cvm", method)):
        return ""
    return str(results.speedup(data, method)).replace("at least", ">").replace("at most", "<").replace("unknown", "?")


def size_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Support vectors, and their share of the rows."""
    methods = results.methods(experiment)
    columns = ("data set", *(METHODS[m] for m in methods), *(f"{METHODS[m]}, %" for m in methods))
    rows = []
    for d in data:
        sizes = [results.median(experiment, d, m, "model_size") for m in methods]
        shares = ["" if size is None else f"{100 * size / registry()[d].rows:.1f}" for size in sizes]
        rows.append((label(d), *measure_cells(results, experiment, d, methods, "model_size"), *shares))
    caption = f"{title}: size of the models, in support vectors and in percent of the training rows."
    return TableBlock(f"{prefix}-size", caption, columns, tuple(rows))


def work_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Iterations, kernel values and the certified gap."""
    methods = results.methods(experiment)
    rows = [
        (f"{label(d)}: {name}", *measure_cells(results, experiment, d, methods, measure))
        for d in data
        for measure, name in WORK.items()
    ]
    columns = ("data set", *(METHODS[m] for m in methods))
    caption = f"{title}: iterations, kernel values computed, and the certified relative gap at the end."
    return TableBlock(f"{prefix}-work", caption, columns, tuple(rows))


def measure_cells(
    results: Results, experiment: str, data: str, methods: Sequence[str], measure: Measure, mark_best: bool = True
) -> list[Cell | str]:
    """One row of a table; cut runs and the best value are marked."""
    form = FORMS[measure]
    values = {m: results.median(experiment, data, m, measure) for m in methods}
    known = [value for value in values.values() if value is not None]
    best = form(max(known) if measure == "accuracy" else min(known)) if known and mark_best else None
    cells: list[Cell | str] = []
    for m, value in values.items():
        text, cut = "" if value is None else form(value), results.cut(experiment, data, m)
        mark = "cut" if cut else "best" if text and text == best else ""
        cells.append(Cell(f"> {text}" if cut and measure == "seconds" else text, mark))
    return cells


def label(data: str) -> str:
    """The name of a data set in the paper."""
    return registry()[data].paper or data
