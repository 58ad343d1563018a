"""The files of a report: report.html, report.md, figures/*.svg and tables/*.csv."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ..writing import whole_file
from .document import Cell, Document, FigureBlock, TableBlock
from .html import to_html
from .markdown import to_markdown


def write(document: Document, folder: Path) -> None:
    """Write all files, each completely or not at all."""
    for block in document.blocks:
        if isinstance(block, FigureBlock):
            replace_file(folder / "figures" / f"{block.name}.svg", block.svg)
        elif isinstance(block, TableBlock):
            replace_file(folder / "tables" / f"{block.name}.csv", to_csv(block))
    replace_file(folder / "report.md", to_markdown(document, "figures"))
    replace_file(folder / "report.html", to_html(document))


def replace_file(path: Path, text: str) -> None:
    """Write the file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode())


def to_csv(table: TableBlock) -> str:
    """The texts of the cells, and a column of marks beside them, so that numbers stay numbers."""
    marks = [
        "; ".join(f"{column}: {cell.mark}" for column, cell in zip(table.columns, row, strict=True) if beside(cell))
        for row in table.cells
    ]
    lines = [[cell.text or cell.mark for cell in row] for row in table.cells]
    columns = list(table.columns)
    if any(marks):
        columns.append("marks")
        lines = [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *lines])
    return text.getvalue()


def beside(cell: Cell) -> bool:
    """Whether a cell has a mark that its text does not show."""
    return bool(cell.mark) and cell.text not in ("", cell.mark)
