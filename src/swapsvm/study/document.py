"""A report as a list of blocks.

Text can use three marks: ``**bold**``, `` `code` `` and ``[text](address)``. Headings and cells are plain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

# Each badge has a sign that black-and-white print keeps, and words.
BADGES = {
    "cut": "cut",
    "confirmed": "✓ confirmed",
    "depends on the stop rule": "◐ depends on the stop rule",
    "not confirmed": "✗ not confirmed",
    "not rejected": "≈ not rejected",
    "not decided": "○ not decided",
}
WORDY = 60  # characters
MARKS = ("", "best", *BADGES)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
NUMBER = re.compile(r"\W{0,2}\d((?![^\W\d]{3}).)*")  # units are short
SPAN = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|\[(?P<text>[^\]]+)\]\((?P<address>[^()\s]+)\)")
ADDRESS = re.compile(r"https?://\S+|#[\w-]+|(?!//)[\w./-]+(#[\w-]+)?")


class Heading(NamedTuple):
    """The title of a section (level 2) or subsection (level 3)."""

    text: str
    level: int = 2


class Paragraph(NamedTuple):
    """Running text."""

    text: str


class Bullets(NamedTuple):
    """A list."""

    items: Sequence[str]


class Group(NamedTuple):
    """A part of an overview: a mark of ``BADGES`` or none, what it counts, and short sentences."""

    mark: str
    title: str
    items: Sequence[str]


class Overview(NamedTuple):
    """Short sentences in groups, which fit on a screen together."""

    groups: Sequence[Group]


@dataclass(frozen=True)
class Cell:
    """A table cell with a mark, one of ``MARKS``, and the spread of its number; ``brief`` is only the badge's sign."""

    text: str
    mark: str = ""
    spread: str = ""
    brief: bool = False

    def __post_init__(self) -> None:
        if self.mark not in MARKS:
            raise ValueError(f"mark {self.mark!r} is unknown: use one of {MARKS}")

    @property
    def badge(self) -> str:
        """The badge in words, or its sign; empty without one."""
        words = BADGES.get(self.mark, "")
        return words[:1] if self.brief else words


@dataclass(frozen=True)
class Numbered:
    """A table or figure."""

    kind: ClassVar[str]
    name: str
    caption: str

    @property
    def anchor(self) -> str:
        """The target of links to it."""
        return f"{self.kind.lower()}-{self.name}"


@dataclass(frozen=True)
class TableBlock(Numbered):
    """Formatted cells; columns of numbers are aligned to the right, except the first."""

    kind = "Table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""
    folded: bool = False  # closed until the reader opens it

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row of {len(row)} cells for {len(self.columns)} columns")

    @property
    def cells(self) -> list[list[Cell]]:
        """All rows as cells."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    @property
    def wordy(self) -> bool:
        """Whether a cell holds a sentence, so that a narrow screen shows the rows below each other."""
        return any(len(cell.text) > WORDY for row in self.cells for cell in row)

    @property
    def numeric(self) -> list[bool]:
        """Which columns are aligned to the right."""
        columns = zip(*self.cells, strict=True) if self.rows else [() for _ in self.columns]
        return [place > 0 and all_numbers(column) for place, column in enumerate(columns)]


@dataclass(frozen=True)
class FigureBlock(Numbered):
    """An SVG drawing."""

    kind = "Figure"
    svg: str


Block = Heading | Paragraph | Bullets | Overview | TableBlock | FigureBlock


@dataclass(frozen=True)
class Document:
    """A report; the names of tables and figures are unique, and are the names of their files."""

    title: str
    subtitle: str
    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        named = Counter((block.kind, block.name) for block in self.blocks if isinstance(block, Numbered))
        for (kind, name), count in named.items():
            if count > 1 or not NAME.fullmatch(name):
                raise ValueError(f"{kind} name {name!r}: use it once, with lower-case letters, digits, - and _ only")

    def labelled(self) -> Iterator[tuple[Block, str]]:
        """Blocks with labels: "Table 1" or "Figure 3", the anchor of a heading, or nothing."""
        numbers = Counter[str]()
        anchors = Counter(block.anchor for block in self.blocks if isinstance(block, Numbered))
        for block in self.blocks:
            if isinstance(block, Numbered):
                numbers[block.kind] += 1
                yield block, f"{block.kind} {numbers[block.kind]}"
            elif isinstance(block, Heading):
                anchor = re.sub(r"[^\w -]", "", block.text.lower()).strip().replace(" ", "-") or "section"
                anchors[anchor] += 1
                yield block, anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor] - 1}"  # as on GitHub
            else:
                yield block, ""


def all_numbers(cells: Sequence[Cell]) -> bool:
    """Whether all cells that are not empty hold numbers."""
    texts = [cell.text.strip() for cell in cells if re.search(r"\w", cell.text)]
    verdicts = any(not cell.text and cell.mark for cell in cells)
    return bool(texts) and not verdicts and all(NUMBER.fullmatch(text) for text in texts)


def marked(text: str, plain: Callable[[str], str], element: Callable[[re.Match[str]], str]) -> str:
    """Text with its marked parts rendered by ``element`` and the text between them by ``plain``."""
    pieces, end = [], 0
    for span in SPAN.finditer(text):
        if not span["address"] or ADDRESS.fullmatch(span["address"]):  # an address that could run a script stays text
            pieces += [plain(text[end : span.start()]), element(span)]
            end = span.end()
    return "".join([*pieces, plain(text[end:])])
