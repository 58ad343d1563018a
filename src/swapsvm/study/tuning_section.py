"""The section of the report on the tuning of C and gamma."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import tables, tuning_figures
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .protocol import RULES, TODAY
from .records import Record
from .summary import Results
from .tuning_curves import Curve, tuning_curves


def tuning_section(results: Results, lines: Sequence[Record]) -> Iterator[Block]:
    """How many fits were cut, and the curves over C."""
    curves = tuning_curves(lines)
    if not curves:
        return
    used = {d: C for d in curves if (C := used_cost(results, d)) is not None}
    every = [curve for by_method in curves.values() for curve in by_method.values()]
    yield Heading("Tuning")
    yield Paragraph(
        f"C and the width of the kernel were chosen on validation rows, once for all methods. Of "
        f"{sum(c.fits for c in every)} fits {sum(c.cut for c in every)} were cut at their limit and say little about "
        "their C. Where a fit of CVM was cut, the block engine decides, which solves the same problems exactly."
    )
    rows = [tuning_row(d, m, curve, used.get(d)) for d, by_method in curves.items() for m, curve in by_method.items()]
    columns = ("data set", "method", "fits", "cut", "best C", "accuracy, %", "C of the study", "accuracy there, %")
    yield TableBlock(
        "tuning", "The fits of the tuning, and the best C by each method's curve.", columns, rows, folded=True
    )
    caption = "Validation accuracy in percent over C, at the best width where several were tried."
    yield FigureBlock("tuning", caption, tuning_figures.tuning(curves, used))


def used_cost(results: Results, data: str) -> float | None:
    """The C of the runs on a data set."""
    for name in (*RULES, "relative"):
        for run in (run for run in results.all_runs(name) if run["data"] == data):
            return float(run["parameters"]["C"])
    return None


def tuning_row(data: str, method: str, curve: Curve, used: float | None) -> tuple[str | Cell, ...]:
    """The fits of one data set with one method."""
    at_used = next((f"{100 * p.accuracy:.2f}" for p in curve.points if used == p.C), "")
    best = Cell(f"{100 * curve.best.accuracy:.2f}", "cut" if curve.best.cut else "")
    costs = (f"{curve.best.C:g}", best, "" if used is None else f"{used:g}", at_used)
    return (tables.label(data), TODAY[method], str(curve.fits), str(curve.cut), *costs)
