"""The files of a report: report.html, report.md, figures/*.svg and tables/*.csv."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ..writing import whole_file
from .document import (
    BADGES,
    Block,
    Bullets,
    Cell,
    Document,
    FigureBlock,
    Heading,
    Overview,
    Paragraph,
    TableBlock,
    marked,
)
from .html import to_html


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
    """The texts of the cells, and columns of marks and spreads beside them, so that numbers stay numbers."""
    lines = [[cell.text or cell.mark for cell in row] for row in table.cells]
    head = list(table.columns)
    for name, beside in (("marks", mark_beside), ("spreads", lambda cell: cell.spread)):
        notes = [noted(table.columns, row, beside) for row in table.cells]
        if any(notes):
            head.append(name)
            lines = [[*line, note] for line, note in zip(lines, notes, strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *lines])
    return text.getvalue()


def mark_beside(cell: Cell) -> str:
    """The mark of a cell that shows something else."""
    return cell.mark if cell.text not in ("", cell.mark) else ""


def noted(columns: Sequence[str], row: Sequence[Cell], beside: Callable[[Cell], str]) -> str:
    """What belongs to the cells of a row, with the names of their columns."""
    return "; ".join(f"{column}: {beside(cell)}" for column, cell in zip(columns, row, strict=True) if beside(cell))


def to_markdown(document: Document, figures: str) -> str:
    """The report, with links to the drawings in the folder ``figures``."""
    blocks = [f"# {plain_markdown(document.title)}", markdown_text(document.subtitle)]
    blocks += [markdown_block(block, label, figures) for block, label in document.labelled()]
    return "\n\n".join(filter(None, blocks)) + "\n"


def markdown_block(block: Block, label: str, figures: str) -> str:
    """One block."""
    match block:
        case Heading(text, level):
            return f"{'#' * level} {plain_markdown(text)}"
        case Paragraph(text):
            return markdown_text(text)
        case Bullets(items):
            return "\n".join(f"- {markdown_text(item)}" for item in items)
        case Overview(groups):
            return "\n\n".join(
                " ".join(filter(None, [BADGES.get(mark, ""), markdown_text(title)]))
                + "\n\n"
                + "\n".join(f"- {markdown_text(item)}" for item in items)
                for mark, title, items in groups
            )
        case FigureBlock(name, caption):
            image = f"![{plain_markdown(caption)}]({figures}/{name}.svg)"
            return f'<a id="{block.anchor}"></a>\n{image}\n\n**{label}.** {markdown_text(caption)}'
        case TableBlock():
            return markdown_table(block, label)


def markdown_table(table: TableBlock, label: str) -> str:
    """Caption, table and note."""
    rule = ["---:" if numeric else ":---" for numeric in table.numeric]
    rows = [[plain_markdown(column) for column in table.columns], rule]
    rows += [[markdown_cell(cell) for cell in row] for row in table.cells]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    caption = f'<a id="{table.anchor}"></a>\n**{label}.** {markdown_text(table.caption)}'
    return "\n\n".join(filter(None, [caption, lines, markdown_text(table.note)]))


def markdown_cell(cell: Cell) -> str:
    """A cell with its mark in words or in bold, and its spread."""
    text = "" if cell.text == cell.mark else plain_markdown(cell.text)
    if cell.mark == "best":
        text = f"**{text}**"
    elif cell.mark:
        text = f"{text} ({cell.badge})" if text else cell.badge
    return rf"{text} \[{plain_markdown(cell.spread)}\]" if cell.spread else text


def markdown_text(text: str) -> str:
    """Text with its marks and everything else escaped."""

    def element(span: re.Match[str]) -> str:
        if span["code"]:
            return f"`{' '.join(span['code'].split())}`"
        if span["bold"]:
            return f"**{markdown_text(span['bold'])}**"
        return f"[{plain_markdown(span['text'])}]({span['address']})"

    line = marked(text, plain_markdown, element)
    return re.sub(r"^(\d*)([-+.)])(?=\s)", r"\1\\\2", line)  # it would start a list


def plain_markdown(text: str) -> str:
    """The text as one line without markup."""
    line = re.sub(r"\s+", " ", text)
    return re.sub(r"[\\`*\[\]<>&|~#$]|(?<!\w)_|_(?!\w)", r"\\\g<0>", line)
