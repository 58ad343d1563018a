"""Text stays text in every rendering, drawings do not collide, files are complete."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest

from swapsvm.study.document import (
    Bullets,
    Cell,
    Document,
    FigureBlock,
    Heading,
    Paragraph,
    TableBlock,
)
from swapsvm.study.html import inline_svg, to_html
from swapsvm.study.report_files import to_csv, to_markdown, write

HOSTILE = "<script>alert(1)</script> <img src=x onerror=y> & \"q\" 'p' | a"
SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 1 1">
<metadata>http://example.org</metadata><style>*{fill: red}</style><script>alert(1)</script>
<defs><path id="p" d="M0 0"/><clipPath id="c"><rect width="1" height="1"/></clipPath></defs>
<g clip-path="url(#c)" onclick="alert(1)"><use xlink:href="#p" style="clip-path: url(#c)"/>
<text>id="p" &lt;b&gt;</text></g>
<use xlink:href="http://example.org/outside.svg#p"/></svg>"""


def table(**changes):
    rows = [
        ["w1a", "1.25", Cell("1,000", "best"), Cell("", "confirmed")],
        ["a|b", Cell("60", "cut"), "\u2013", "not run"],
    ]
    fields = {"name": "seconds", "caption": "Times", "columns": ["data", "CVM", "FW", "verdict"], "rows": rows}
    return TableBlock(**{**fields, **changes})


def document(*blocks):
    return Document("Title", "Subtitle", blocks)


def everything(text):
    return Document(
        text,
        text,
        [
            Heading(text),
            Paragraph(text),
            Bullets([text]),
            table(
                caption=text, columns=[text] * 4, rows=[[text, Cell(text, "best"), Cell(text, "cut"), text]], note=text
            ),
            FigureBlock("drawing", text, SVG),
        ],
    )


class Elements(HTMLParser):
    """Elements and attributes of a page, and its text outside the style sheet."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = set(), [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.open = [*self.open, tag]

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


def test_hostile_text_is_text_in_html():
    page = Elements(to_html(everything(HOSTILE)))
    assert not page.tags & {"script", "img"}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) == 18  # every text once, the title and the heading twice


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "//example.org/x", "vbscript:x"])
def test_links_that_could_run_something_stay_text(address):
    text = f"[x]({address})"
    assert "<a href" not in to_html(document(Paragraph(text))).split("<main>")[1]
    assert r"\[x\]" in to_markdown(document(Paragraph(text)), "figures")


def test_marks_of_running_text():
    page = to_html(document(Paragraph("**b `c<d`** and [e](https://example.org/?a=1&b=2), [f](#table-x)")))
    assert "<b>b <code>c&lt;d</code></b>" in page
    assert '<a href="https://example.org/?a=1&amp;b=2">e</a>, <a href="#table-x">f</a>' in page


def test_two_drawings_share_no_id_and_keep_their_references():
    page = Elements(to_html(document(FigureBlock("one", "", SVG), FigureBlock("two", "", SVG))))
    ids = page.values("id")
    assert len(ids) == len(set(ids)) == 6
    assert {"#figure-one--p", "#figure-two--p"} <= set(page.values("href"))
    assert page.values("clip-path") == ["url(#figure-one--c)", "url(#figure-two--c)"]
    assert page.values("style") == ["clip-path: url(#figure-one--c)", "clip-path: url(#figure-two--c)"]
    assert page.text.count('id="p" <b>') == 2


def test_headings_never_share_an_anchor():
    page = Elements(to_html(document(Heading("Figure: one"), Heading("A"), Heading("A"), FigureBlock("one", "", SVG))))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert [f"#{name}" for name in ids if "--" not in name][:3] == page.values("href")[:3]


def test_a_page_needs_nothing_from_outside():
    page = to_html(everything("text"))
    assert "http" not in page
    assert "url(" not in page.split("</style>")[0]
    assert "@import" not in page
    assert all(value.startswith("#") for value in Elements(page).values("href"))


def test_an_inline_drawing_has_no_prolog_and_no_style_for_the_page():
    drawing = inline_svg(SVG, "x-")
    assert drawing.startswith("<svg ")
    assert not re.search(r"<\?xml|DOCTYPE|<style|<metadata|<script|xmlns", drawing)


def test_numbers_are_on_the_right_and_the_first_column_never():
    assert table().numeric == [False, True, True, False]
    assert table(rows=[["1", "2 %", "≥ 60 s", "1.2e-05"]]).numeric == [False, True, True, True]
    assert table(rows=[["1", "2nd place", "\u2013", "1·10⁻³"]]).numeric == [False, False, False, True]
    assert table(rows=[]).numeric == [False] * 4


def test_tables_and_figures_are_numbered():
    page = to_html(document(table(), FigureBlock("one", "First", SVG), table(name="other", caption="Others")))
    assert re.findall(r"<figcaption><b>(.*?)</b>", page) == ["Table 1.", "Figure 1.", "Table 2."]


def test_badges_are_readable_without_colour():
    page = to_html(document(table(rows=[["x", Cell("5", "cut"), Cell("", "not confirmed"), Cell("", "not decided")]])))
    for badge in (">cut</span> 5", "✗ not confirmed", "○ not decided"):
        assert badge in page


def test_markdown_tables_have_one_cell_between_pipes():
    text = to_markdown(document(table(caption="a | b")), "figures")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1] == "| :--- | ---: | ---: | :--- |"
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5] * 4
    assert rows[2] == "| w1a | 1.25 | **1,000** | ✓ confirmed |"
    assert rows[3] == "| a\\|b | 60 (cut) | \u2013 | not run |"


def test_hostile_text_is_text_in_markdown():
    text = to_markdown(everything(HOSTILE), "figures")
    assert not re.search(r"(?<!\\)<(?!/?a\b)", text)
    assert "![" in text and "](figures/drawing.svg)" in text
    assert to_markdown(document(Paragraph("1. a *b* `c`")), "f").endswith("1\\. a \\*b\\* `c`\n")


def test_csv_has_the_cells_and_marks_in_a_column_of_their_own():
    rows = list(csv.reader(io.StringIO(to_csv(table()))))
    assert rows[0] == ["data", "CVM", "FW", "verdict", "marks"]
    assert rows[1] == ["w1a", "1.25", "1,000", "confirmed", "FW: best"]
    assert rows[2] == ["a|b", "60", "\u2013", "not run", "CVM: cut"]
    plain = table(rows=[["a,b", 'c"d', "e\nf", "4"]])
    assert list(csv.reader(io.StringIO(to_csv(plain), newline=""))) == [list(plain.columns), list(plain.rows[0])]


def test_writing_is_deterministic_and_leaves_no_drafts(tmp_path):
    report = document(Heading("A"), table(), FigureBlock("one", "First", SVG))
    contents = []
    for _ in range(2):
        write(report, tmp_path / "out")
        contents.append({p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()})
    assert contents[0] == contents[1]
    names = {"report.html", "report.md", "figures/one.svg", "tables/seconds.csv"}
    assert {path.as_posix() for path in contents[0]} == {f"out/{name}" for name in names}


def test_a_failed_write_keeps_the_earlier_file(tmp_path, monkeypatch):
    write(document(Heading("A")), tmp_path)
    before = (tmp_path / "report.md").read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        write(document(Heading("B")), tmp_path)
    assert (tmp_path / "report.md").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.md"]


@pytest.mark.parametrize("name", ["../x", "", "a b", "A"])
def test_names_are_file_names(name):
    with pytest.raises(ValueError, match="name"):
        document(FigureBlock(name, "", SVG))


def test_bad_blocks_are_refused():
    with pytest.raises(ValueError, match="once"):
        document(table(), table())
    with pytest.raises(ValueError, match="a row of 1 cells for 4 columns"):
        table(rows=[["x"]])
    with pytest.raises(ValueError, match="'good'"):
        Cell("x", "good")
