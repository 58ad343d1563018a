"""A report as a list of blocks, and its renderings: one HTML file, Markdown with figures, tables as CSV.

Text of blocks may use three marks: ``**bold**``, `` `code` `` and ``[text](address)``. Headings and cells are plain.
"""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from ..writing import whole_file

# In the reading order of a badge: a sign that black-and-white print keeps, and words.
BADGES = {
    "cut": "cut",
    "confirmed": "✓ confirmed",
    "not confirmed": "✗ not confirmed",
    "not testable": "○ not testable",
}
MARKS = ("", "best", *BADGES)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
NUMBER = re.compile(r"\W{0,2}\d((?![^\W\d]{3}).)*")  # units are short
SPAN = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|\[(?P<text>[^\]]+)\]\((?P<address>[^()\s]+)\)")
ADDRESS = re.compile(r"https?://\S+|#[\w-]+|(?!//)[\w./-]+(#[\w-]+)?")


@dataclass(frozen=True)
class Heading:
    """The title of a section (level 2) or of a part of it (level 3)."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """A table cell that says more than its text; the mark is one of ``MARKS``."""

    text: str
    mark: str = ""

    def __post_init__(self) -> None:
        if self.mark not in MARKS:
            raise ValueError(f"mark {self.mark!r}: use one of {MARKS}")


@dataclass(frozen=True)
class Table:
    """Formatted cells; columns of numbers are aligned to the right, but never the first one."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row of {len(row)} cells for {len(self.columns)} columns")

    @property
    def cells(self) -> list[list[Cell]]:
        """All rows as cells."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """Which columns are aligned to the right."""
        columns = zip(*self.cells, strict=True) if self.rows else [() for _ in self.columns]
        return [place > 0 and all_numbers(column) for place, column in enumerate(columns)]


@dataclass(frozen=True)
class Figure:
    """An SVG drawing."""

    name: str
    caption: str
    svg: str


Block = Heading | Paragraph | Bullets | Table | Figure


@dataclass(frozen=True)
class Document:
    """A report; tables and figures have names of their own, which are those of their files."""

    title: str
    subtitle: str
    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        for kind in (Table, Figure):
            for name, count in Counter(block.name for block in self.blocks if isinstance(block, kind)).items():
                if count > 1 or not NAME.fullmatch(name):
                    raise ValueError(
                        f"{kind.__name__} name {name!r}: use it once, of lower-case letters, digits, - and _"
                    )

    def labelled(self) -> Iterator[tuple[Block, str]]:
        """Blocks with "Table 1", "Figure 3"; headings with the name of their anchor, others with nothing."""
        numbers = Counter[str]()
        anchors = Counter(anchor_of(block) for block in self.blocks if isinstance(block, Table | Figure))
        for block in self.blocks:
            if isinstance(block, Table | Figure):
                kind = type(block).__name__
                numbers[kind] += 1
                yield block, f"{kind} {numbers[kind]}"
            elif isinstance(block, Heading):
                anchor = re.sub(r"[^\w -]", "", block.text.lower()).strip().replace(" ", "-") or "section"
                anchors[anchor] += 1
                yield block, anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor] - 1}"  # as GitHub has it
            else:
                yield block, ""


def anchor_of(block: Table | Figure) -> str:
    """What a link to it names."""
    return f"{type(block).__name__.lower()}-{block.name}"


def all_numbers(cells: Sequence[Cell]) -> bool:
    """Whether cells hold numbers, apart from some that are missing."""
    texts = [cell.text.strip() for cell in cells if re.search(r"\w", cell.text)]
    verdicts = any(not cell.text and cell.mark for cell in cells)
    return bool(texts) and not verdicts and all(NUMBER.fullmatch(text) for text in texts)


def write(document: Document, folder: Path) -> None:
    """Write report.html, report.md, figures/*.svg and tables/*.csv, each of them whole or not at all."""
    for block in document.blocks:
        if isinstance(block, Figure):
            replace_file(folder / "figures" / f"{block.name}.svg", block.svg)
        elif isinstance(block, Table):
            replace_file(folder / "tables" / f"{block.name}.csv", to_csv(block))
    replace_file(folder / "report.md", to_markdown(document, "figures"))
    replace_file(folder / "report.html", to_html(document))


def replace_file(path: Path, text: str) -> None:
    """Write it as a whole, so that a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode())


def to_csv(table: Table) -> str:
    """The cells' texts; marks beside a text in a column of their own, so that numbers stay numbers."""
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
    """Whether a cell has a mark that its text does not say."""
    return bool(cell.mark) and cell.text not in ("", cell.mark)


# ---- HTML -------------------------------------------------------------------------------------------------------


def to_html(document: Document) -> str:
    """One file that needs no other: style sheet and drawings are in it."""
    style = files(__package__).joinpath("report.css").read_text("utf-8")
    body = "\n".join(html_block(block, label) for block, label in document.labelled())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(document.title)}</title>
<style>
{style}</style>
</head>
<body>
{html_contents(document)}
<main>
<header><h1>{escape(document.title)}</h1><p class="subtitle">{html_text(document.subtitle)}</p></header>
{body}
</main>
</body>
</html>
"""


def html_contents(document: Document) -> str:
    """Links to the headings."""
    items = [
        f'<li class="level-{block.level}"><a href="#{escape(anchor)}">{escape(block.text)}</a></li>'
        for block, anchor in document.labelled()
        if isinstance(block, Heading)
    ]
    return '<nav aria-label="Contents"><p>Contents</p><ul>\n' + "\n".join(items) + "\n</ul></nav>"


def html_block(block: Block, label: str) -> str:
    """One block."""
    match block:
        case Heading(text, level):
            return f'<h{level:d} id="{escape(label)}">{escape(text)}</h{level:d}>'
        case Paragraph(text):
            return f"<p>{html_text(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{html_text(item)}</li>" for item in items) + "\n</ul>"
        case Figure():
            drawing = inline_svg(block.svg, f"{anchor_of(block)}--")
            return f'<figure id="{anchor_of(block)}">\n{drawing}\n{html_caption(block, label)}\n</figure>'
        case Table():
            return html_table(block, label)


def html_caption(block: Table | Figure, label: str) -> str:
    """Number and caption."""
    return f"<figcaption><b>{label}.</b> {html_text(block.caption)}</figcaption>"


def html_table(table: Table, label: str) -> str:
    """A table that scrolls by itself where it is too wide."""
    kinds = ["number" if numeric else "text" for numeric in table.numeric]
    head = "".join(f'<th class="{kind}">{escape(c)}</th>' for c, kind in zip(table.columns, kinds, strict=True))
    rows = [
        "<tr>" + "".join(html_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in table.cells
    ]
    return "\n".join(
        [
            f'<figure class="table" id="{anchor_of(table)}">',
            html_caption(table, label),
            f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">',
            f"<table><thead><tr>{head}</tr></thead><tbody>",
            *rows,
            "</tbody></table></div>",
            f'<p class="note">{html_text(table.note)}</p></figure>' if table.note else "</figure>",
        ]
    )


def html_cell(cell: Cell, kind: str) -> str:
    """The badge is before the text, so that digits stay below digits."""
    text = "" if cell.text == cell.mark else escape(cell.text)
    if cell.mark == "best":
        text = f"<b>{text}</b>"
    elif cell.mark:
        badge = f'<span class="badge {cell.mark.replace(" ", "-")}">{BADGES[cell.mark]}</span>'
        text = f"{badge} {text}".rstrip()
    return f'<td class="{kind}">{text}</td>'


def html_text(text: str) -> str:
    """Text with its three marks as elements, all else escaped."""

    def element(span: re.Match[str]) -> str:
        if span["code"]:
            return f"<code>{escape(span['code'])}</code>"
        if span["bold"]:
            return f"<b>{html_text(span['bold'])}</b>"
        return f'<a href="{escape(span["address"])}">{escape(span["text"])}</a>'

    return marked(text, escape, element)


def marked(text: str, plain: Callable[[str], str], element: Callable[[re.Match[str]], str]) -> str:
    """Text with its marked parts rendered by one function and what is between them by another."""
    pieces, end = [], 0
    for span in spans(text):
        pieces += [plain(text[end : span.start()]), element(span)]
        end = span.end()
    return "".join([*pieces, plain(text[end:])])


def spans(text: str) -> Iterator[re.Match[str]]:
    """The marked parts; a link with an address that could run something is left as it stands."""
    return (span for span in SPAN.finditer(text) if not span["address"] or ADDRESS.fullmatch(span["address"]))


def inline_svg(svg: str, prefix: str) -> str:
    """The drawing as an element of a page: names, which drawings share, get a prefix; it refers to nothing outside."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if local(child.tag) in ("metadata", "style", "script"):  # the page's style sheet has the drawings' style
                parent.remove(child)
    for element in root.iter():
        element.tag = local(element.tag)
        element.attrib = {local(name): renamed(local(name), value, prefix) for name, value in element.items()}
        for name in [name for name in element.attrib if name.startswith("on")]:
            del element.attrib[name]
        if not element.get("href", "#").startswith(("#", "data:image/")):
            del element.attrib["href"]
    root.set("role", "img")
    return ElementTree.tostring(root, "unicode").strip()


def local(name: str) -> str:
    """A name without its name space, which HTML does not need."""
    return name.rpartition("}")[2]


def renamed(name: str, value: str, prefix: str) -> str:
    """An attribute's value with the prefix before the name it gives or refers to."""
    if name == "id":
        return prefix + value
    if name == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return re.sub(r"url\((['\"]?)#", rf"url(\1#{prefix}", value)


# ---- Markdown ---------------------------------------------------------------------------------------------------


def to_markdown(document: Document, figures: str) -> str:
    """GitHub's Markdown, with links to the drawings in the folder ``figures``."""
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
        case Figure(name, caption):
            image = f"![{plain_markdown(caption)}]({figures}/{name}.svg)"
            return f'<a id="{anchor_of(block)}"></a>\n{image}\n\n**{label}.** {markdown_text(caption)}'
        case Table():
            return markdown_table(block, label)


def markdown_table(table: Table, label: str) -> str:
    """Caption, table and note."""
    rule = ["---:" if numeric else ":---" for numeric in table.numeric]
    rows = [[plain_markdown(column) for column in table.columns], rule]
    rows += [[markdown_cell(cell) for cell in row] for row in table.cells]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    caption = f'<a id="{anchor_of(table)}"></a>\n**{label}.** {markdown_text(table.caption)}'
    return "\n\n".join(filter(None, [caption, lines, markdown_text(table.note)]))


def markdown_cell(cell: Cell) -> str:
    """A cell with its mark in words or in bold."""
    text = "" if cell.text == cell.mark else plain_markdown(cell.text)
    if cell.mark == "best":
        return f"**{text}**"
    return f"{text} ({BADGES[cell.mark]})" if cell.mark and text else text or BADGES.get(cell.mark, "")


def markdown_text(text: str) -> str:
    """Text with its three marks, all else escaped."""

    def element(span: re.Match[str]) -> str:
        if span["code"]:
            return f"`{' '.join(span['code'].split())}`"
        if span["bold"]:
            return f"**{markdown_text(span['bold'])}**"
        return f"[{plain_markdown(span['text'])}]({span['address']})"

    line = marked(text, plain_markdown, element)
    return re.sub(r"^(\d*)([-+.)])(?=\s)", r"\1\\\2", line)  # else it were a list


def plain_markdown(text: str) -> str:
    """One line whose characters mean nothing but themselves."""
    line = re.sub(r"\s+", " ", text)
    return re.sub(r"[\\`*\[\]<>&|~#$]|(?<!\w)_|_(?!\w)", r"\\\g<0>", line)
