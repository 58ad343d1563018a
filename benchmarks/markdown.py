"""Tables in Markdown, and the cells that several reports share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .summary import Cell, Table

MEGABYTE = 2**20


def table_lines(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def size_of(table: Table, data: str) -> str:
    known = [table.cell(data, s).first for s in table.solvers if table.cell(data, s).records]
    shape = next((r for r in known if "rows" in r), None)
    if shape is None:
        return ""
    return f"{shape['rows']} x {shape['features']}" + (f", {100 * shape['density']:.2g}% full" * shape["sparse"])


def seconds(cell: Cell) -> str:
    """Median and extremes, or how the run ended."""
    values = cell.values("fit_seconds")
    if not cell.records:
        return ""
    if not values:
        return "timeout" if cell.timed_out else f"{cell.first['status']} in {cell.first.get('stage', 'loading')}"
    ended = "" if all(r["status"] == "ok" for r in cell.records) else f", {cell.records[-1]['status']} later"
    return f"{cell.median('fit_seconds'):.3g} ({min(values):.3g}-{max(values):.3g}){ended}"


def percent(cell: Cell) -> str:
    value = cell.median("accuracy")
    return "" if value is None else f"{100 * value:.2f}"


def megabytes(cell: Cell) -> float | None:
    peak = cell.median("peak_bytes")
    return None if peak is None else peak / MEGABYTE
