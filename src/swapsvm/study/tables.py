"""Tables of measures by data set and method: medians over the seeds, with the smallest and the largest value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..datasets.registry import find_entry, registry
from .document import Cell, TableBlock
from .protocol import PAPER_METHODS, TODAY
from .records import Measure
from .summary import Results, Spread

CUT = (
    "Medians over the seeds, and below them the smallest and the largest value. > : a run was cut at its limit, so "
    "the time is a lower bound."
)
FORMS: dict[Measure, Callable[[float], str]] = {
    "accuracy": lambda value: f"{100 * value:.2f}",
    "seconds": lambda value: f"{value:.3g}" if value < 1000 else f"{value:.0f}",
    "model_size": "{:.0f}".format,
    "iterations": "{:.0f}".format,
    "evaluations": "{:.2g}".format,
    "relative_gap": "{:.1e}".format,
}
WORK: dict[Measure, str] = {"iterations": "iterations", "evaluations": "kernel values", "relative_gap": "relative gap"}


def measure_table(
    results: Results, experiment: str, data: Sequence[str], measure: Measure, name: str, caption: str
) -> TableBlock:
    """One measure, with a row for each data set and a column for each method."""
    methods = results.methods(experiment)
    rows = [(label(d), *measure_cells(results, experiment, d, methods, measure)) for d in data]
    return TableBlock(name, caption, ("data set", *(TODAY[m] for m in methods)), rows, CUT, folded=True)


def to_cvm_table(results: Results, experiment: str, data: Sequence[str], title: str) -> TableBlock:
    """Differences of accuracies to CVM, and speed-ups over it."""
    others = [m for m in results.methods(experiment) if m in PAPER_METHODS and m != "cvm"]
    columns = ("data set", *(f"d {TODAY[m]}" for m in others), *(f"CVM / {TODAY[m]}" for m in others))
    rows = []
    for d in data:
        losses = [results.loss(d, m, experiment) for m in others]
        differences = [f"{100 * loss.low[0]:+.2f}" if loss.exact else "" for loss in losses]
        rows.append((label(d), *differences, *(speedup_cell(results, experiment, d, m) for m in others)))
    caption = f"{title}: difference to CVM's accuracy, and speed-up over CVM."
    note = "d: relative to CVM's accuracy, in percent; positive if CVM is better. CVM / x: CVM's time over that of x."
    return TableBlock(f"{experiment}-to-cvm", caption, columns, rows, note, folded=True)


def speedup_cell(results: Results, experiment: str, data: str, method: str) -> str:
    """A speed-up, or its bound; empty without runs."""
    if not all(results.runs(experiment, data, m) for m in ("cvm", method)):
        return ""
    found = str(results.speedup(data, method, experiment=experiment))
    return found.replace("at least", ">").replace("at most", "<").replace("unknown", "?")


def share_table(results: Results, experiment: str, data: Sequence[str], title: str) -> TableBlock:
    """Support vectors in percent of the rows."""
    methods = results.methods(experiment)
    rows = []
    for d in data:
        sizes = [results.median(experiment, d, m, "model_size") for m in methods]
        rows.append((label(d), *("" if s is None else f"{100 * s / find_entry(d).rows:.1f}" for s in sizes)))
    caption = f"{title}: support vectors in percent of the training rows."
    return TableBlock(f"{experiment}-share", caption, ("data set", *(TODAY[m] for m in methods)), rows, folded=True)


def work_table(results: Results, experiment: str, data: Sequence[str], title: str) -> TableBlock:
    """Iterations, kernel values and the certified gap."""
    methods = results.methods(experiment)
    rows = [
        (f"{label(d)}: {name}", *measure_cells(results, experiment, d, methods, measure))
        for d in data
        for measure, name in WORK.items()
    ]
    columns = ("data set", *(TODAY[m] for m in methods))
    caption = f"{title}: iterations, kernel values computed, and the certified relative gap at the end."
    return TableBlock(f"{experiment}-work", caption, columns, rows, CUT, folded=True)


def measure_cells(
    results: Results, experiment: str, data: str, methods: Sequence[str], measure: Measure
) -> list[Cell | str]:
    """One row of a table; cut runs and the best value are marked."""
    found = {m: results.spread(experiment, data, m, measure) for m in methods}
    known = [spread.middle for spread in found.values() if spread]
    form = FORMS[measure]
    best = form(max(known) if measure == "accuracy" else min(known)) if known else None
    return [
        measure_cell(spread, form, best, results.cut(experiment, data, m), measure == "seconds")
        for m, spread in found.items()
    ]


def measure_cell(
    spread: Spread | None, form: Callable[[float], str], best: str | None, cut: bool, timed: bool
) -> Cell | str:
    """A median with its spread."""
    if spread is None:
        return Cell("", "cut") if cut else ""
    text = form(spread.middle)
    mark = "cut" if cut else "best" if text == best else ""
    ends = (form(spread.low), form(spread.high))
    return Cell(f"> {text}" if cut and timed else text, mark, " to ".join(ends) if ends[0] != ends[1] else "")


def label(data: str) -> str:
    """The name of a data set in the paper."""
    return registry()[data].paper or data
