"""Tables of measures by data set and method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..datasets.registry import registry
from .document import Cell, TableBlock
from .evidence import speedup, told
from .protocol import METHODS
from .records import Measure
from .summary import Results

CUT = "> : cut at the limit of the run, so the time is a lower bound."

Formatter = Callable[[float], str]


def accuracy_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Accuracies, and how far they are below CVM's."""
    methods = results.methods(experiment)
    reference = "cvm" in methods
    columns = ["data set", *(METHODS[m] for m in methods)]
    if reference:
        columns += [f"d {METHODS[m]}" for m in methods if m != "cvm"]
    rows = []
    for d in data:
        row = measure_cells(results, experiment, d, methods, "accuracy", percent, highest=True)
        if reference:
            row += [difference(results, experiment, d, m) for m in methods if m != "cvm"]
        rows.append((label(d), *row))
    note = (
        "d: difference to CVM relative to CVM's accuracy, in percent; positive if CVM is better." if reference else ""
    )
    return TableBlock(f"{prefix}-accuracy", f"{title}: test accuracy, percent.", tuple(columns), tuple(rows), note)


def difference(results: Results, experiment: str, data: str, method: str) -> str:
    """(a_CVM - a) / a_CVM in percent; empty if a run was cut."""
    base, own = (results.median(experiment, data, m, "accuracy") for m in ("cvm", method))
    if base is None or own is None or any(results.cut(experiment, data, m) for m in ("cvm", method)):
        return ""
    return f"{100 * (base - own) / base:+.2f}"


def time_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Times and speed-ups over CVM."""
    methods = results.methods(experiment)
    others = [m for m in methods if m != "cvm"] if "cvm" in methods and experiment == "paper" else []
    columns = ("data set", *(METHODS[m] for m in methods), *(f"CVM / {METHODS[m]}" for m in others))
    rows = []
    for d in data:
        row: list[Cell | str] = measure_cells(results, experiment, d, methods, "seconds", number, highest=False)
        row += [speedup_cell(results, d, m) for m in others]
        rows.append((label(d), *row))
    caption = f"{title}: training time, seconds{', and speed-up over CVM' if others else ''}."
    return TableBlock(f"{prefix}-time", caption, columns, tuple(rows), CUT)


def speedup_cell(results: Results, data: str, method: str) -> str:
    """A speed-up, or its bound."""
    interval = speedup(results, data, method)
    if interval is None:
        return ""
    return told(interval).replace("at least", ">").replace("at most", "<").replace("unknown", "?")


def size_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Support vectors, and their share of the rows."""
    methods = results.methods(experiment)
    columns = ("data set", *(METHODS[m] for m in methods), *(f"{METHODS[m]}, %" for m in methods))
    rows = []
    for d in data:
        cells = measure_cells(results, experiment, d, methods, "model_size", lambda v: f"{v:.0f}", highest=False)
        parts = [results.median(experiment, d, m, "model_size") for m in methods]
        shares = ["" if part is None else f"{100 * part / registry()[d].rows:.1f}" for part in parts]
        rows.append((label(d), *cells, *shares))
    caption = f"{title}: size of the models, in support vectors and in percent of the training rows."
    return TableBlock(f"{prefix}-size", caption, columns, tuple(rows))


def work_table(results: Results, experiment: str, prefix: str, title: str, data: Sequence[str]) -> TableBlock:
    """Iterations, kernel values and the certified gap."""
    methods = results.methods(experiment)
    measures: dict[Measure, tuple[str, Formatter]] = {
        "iterations": ("iterations", lambda v: f"{v:.0f}"),
        "evaluations": ("kernel values", lambda v: f"{v:.2g}"),
        "relative_gap": ("relative gap", exponential),
    }
    rows = []
    for d in data:
        for measure, (name, form) in measures.items():
            cells = measure_cells(results, experiment, d, methods, measure, form, highest=False)
            rows.append((f"{label(d)}: {name}", *cells))
    columns = ("data set", *(METHODS[m] for m in methods))
    caption = f"{title}: iterations, kernel values computed, and the certified relative gap at the end."
    return TableBlock(f"{prefix}-work", caption, columns, tuple(rows))


def measure_cells(
    results: Results,
    experiment: str,
    data: str,
    methods: Sequence[str],
    measure: Measure,
    form: Formatter,
    *,
    highest: bool | None,
) -> list[Cell | str]:
    """One row of a table; cut runs are marked, and the best value is if ``highest`` says which is best."""
    values = {m: results.median(experiment, data, m, measure) for m in methods}
    known = [value for value in values.values() if value is not None]
    best = (max(known) if highest else min(known)) if known else None
    cells: list[Cell | str] = []
    for m, value in values.items():
        if value is None:
            cells.append("")
            continue
        cut = results.cut(experiment, data, m)
        text = f"> {form(value)}" if cut and measure == "seconds" else form(value)
        is_best = highest is not None and best is not None and form(value) == form(best)
        cells.append(Cell(text, "cut" if cut else "best" if is_best else ""))
    return cells


def label(data: str) -> str:
    """The name of a data set in the paper."""
    return registry()[data].paper or data


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def percent(value: float) -> str:
    """Two decimals."""
    return f"{100 * value:.2f}"


def exponential(value: float) -> str:
    """Two digits."""
    return f"{value:.1e}"
