"""A report as one HTML file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import escape
from importlib.resources import files

from .document import (
    BADGES,
    Block,
    Bullets,
    Cell,
    Document,
    FigureBlock,
    Group,
    Heading,
    Overview,
    Paragraph,
    TableBlock,
    marked,
)


def to_html(document: Document) -> str:
    """One file that contains the style sheet and the drawings."""
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
        case Overview(groups):
            return '<section class="overview">\n' + "\n".join(map(html_group, groups)) + "\n</section>"
        case FigureBlock(_, caption, svg):
            drawing = f'<div class="drawing">{inline_svg(svg, f"{block.anchor}--")}</div>'
            return f'<figure id="{block.anchor}">\n{drawing}\n{html_caption(label, caption)}\n</figure>'
        case TableBlock():
            return html_table(block, label)


def html_group(group: Group) -> str:
    """One part of an overview."""
    items = "".join(f"<li>{html_text(item)}</li>" for item in group.items)
    badge = f"{html_badge(group.mark, BADGES[group.mark])} " if group.mark else ""
    return f'<div class="group"><p>{badge}{html_text(group.title)}</p><ul>{items}</ul></div>'


def html_badge(mark: str, words: str) -> str:
    """A mark as a badge."""
    return f'<span class="badge {mark.replace(" ", "-")}" title="{escape(mark)}">{escape(words)}</span>'


def html_caption(label: str, caption: str) -> str:
    """Number and caption."""
    return f"<figcaption><b>{label}.</b> {html_text(caption)}</figcaption>"


def html_table(table: TableBlock, label: str) -> str:
    """A table that scrolls if it is too wide; one with sentences shows its rows below each other on a narrow screen."""
    kinds = ["number" if numeric else "text" for numeric in table.numeric]
    head = "".join(f'<th class="{kind}">{escape(c)}</th>' for c, kind in zip(table.columns, kinds, strict=True))
    rows = [
        "<tr>" + "".join(html_cell(*of) for of in zip(row, kinds, table.columns, strict=True)) + "</tr>"
        for row in table.cells
    ]
    lines = [
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">',
        f'<table class="{"wordy" if table.wordy else "plain"}"><thead><tr>{head}</tr></thead><tbody>',
        *rows,
        "</tbody></table></div>",
        *([f'<p class="note">{html_text(table.note)}</p>'] if table.note else []),
    ]
    caption = html_caption(label, table.caption)
    folded = ["<details><summary>", caption, "</summary>", *lines, "</details>"]
    lines = folded if table.folded else [caption, *lines]
    return "\n".join([f'<figure class="table" id="{table.anchor}">', *lines, "</figure>"])


def html_cell(cell: Cell, kind: str, column: str) -> str:
    """A cell with its badge before the text, so that digits stay aligned, and its spread below."""
    text = "" if cell.text == cell.mark else escape(cell.text)
    if cell.mark == "best":
        text = f"<b>{text}</b>"
    elif cell.mark:
        text = f"{html_badge(cell.mark, cell.badge)} {text}".rstrip()
    if cell.spread:
        text += f"<small>{escape(cell.spread)}</small>"
    return f'<td class="{kind}" data-column="{escape(column)}">{text}</td>'


def html_text(text: str) -> str:
    """Text with its marks as elements and everything else escaped."""

    def element(span: re.Match[str]) -> str:
        if span["code"]:
            return f"<code>{escape(span['code'])}</code>"
        if span["bold"]:
            return f"<b>{html_text(span['bold'])}</b>"
        return f'<a href="{escape(span["address"])}">{escape(span["text"])}</a>'

    return marked(text, escape, element)


def inline_svg(svg: str, prefix: str) -> str:
    """The drawing as an element of a page: ids get a prefix, and references to the outside are removed."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if local(child.tag) in ("metadata", "style", "script"):  # the page has its own style sheet
                parent.remove(child)
    for element in root.iter():
        element.tag = local(element.tag)
        attributes = {local(name): value for name, value in element.items() if not local(name).startswith("on")}
        element.attrib = {name: renamed(name, value, prefix) for name, value in attributes.items()}
        if not element.get("href", "#").startswith(("#", "data:image/")):
            del element.attrib["href"]
    root.set("role", "img")
    return ElementTree.tostring(root, "unicode").strip()


def local(name: str) -> str:
    """A name without its namespace, which HTML does not need."""
    return name.rpartition("}")[2]


def renamed(name: str, value: str, prefix: str) -> str:
    """The value of an attribute, with the prefix before any id in it."""
    if name == "id":
        return prefix + value
    if name == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return re.sub(r"url\((['\"]?)#", rf"url(\1#{prefix}", value)
