"""The files of a report: report.html, report.md, figures/*.svg and tables/*.csv."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from ..writing import whole_file
from .document import BADGES, Block, Bullets, Cell, Document, FigureBlock, Heading, Paragraph, TableBlock, marked
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
    """The texts of the cells, and a column of marks beside them, so that numbers stay numbers."""
    lines = [[*table.columns, "marks"]]
    for row in table.cells:
        beside = zip(table.columns, row, strict=True)
        marks = [f"{column}: {cell.mark}" for column, cell in beside if cell.mark and cell.text not in ("", cell.mark)]
        lines.append([*(cell.text or cell.mark for cell in row), "; ".join(marks)])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


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
    """A cell with its mark in words or in bold."""
    text = "" if cell.text == cell.mark else plain_markdown(cell.text)
    if cell.mark == "best":
        return f"**{text}**"
    return f"{text} ({BADGES[cell.mark]})" if cell.mark and text else text or BADGES.get(cell.mark, "")


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
