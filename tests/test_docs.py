"""The pages are correct: their Python runs, the API pages cover the public modules, and types are shipped."""

import doctest
import html
import importlib
import importlib.util
import pkgutil
import re
import warnings
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

import swapsvm
from swapsvm import datasets
from swapsvm.datasets import DatasetError, loading

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)?")
WIDTH = 100  # of a line of code on a page, which then needs no scrolling at 1400 pixels
MODULES = [m.name for m in pkgutil.walk_packages(swapsvm.__path__, "swapsvm.") if "_core" not in m.name]


def blocks_of(page):
    """The Python blocks, each padded with empty lines, so that errors show the line of the page."""
    text = page.read_text("utf-8")
    return ["\n" * text.count("\n", 0, found.start(1)) + found[1] for found in BLOCK.finditer(text)]


@pytest.fixture
def few_rows(monkeypatch):
    """Use only local data sets, and only their first rows."""

    def missing(file):
        raise DatasetError(f"{file.name} is not here")

    def load_few(name, rows=1000, **options):
        data = loading.load(name, **options)
        parts = ("X_train", "y_train", "X_test", "y_test")
        return replace(data, **{part: getattr(data, part)[:rows] for part in parts})

    monkeypatch.setattr(loading, "download", missing)
    monkeypatch.setattr(datasets, "load", load_few)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_python_on_a_page_runs(page, few_rows, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some pages write files
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        try:
            exec(compile(block, str(page), "exec"), names)
        except DatasetError:
            continue


README = blocks_of(ROOT / "README.md")


@pytest.mark.parametrize("block", README, ids=range(len(README)))
def test_a_block_of_the_readme_runs_alone(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})


def test_the_readme_shows_what_its_blocks_print(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(shown) == len(README)
    for block, text in zip(README, shown, strict=True):
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
        # Instruction sets round differently, so a gap differs, and a row can be a support vector or not.
        assert [float(n) for n in NUMBER.findall(printed)] == pytest.approx(
            [float(n) for n in NUMBER.findall(text)], 0.2
        )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.name)
def test_lines_of_code_fit_the_site(page):
    long = [line for block in blocks_of(page) for line in block.splitlines() if len(line) > WIDTH]
    assert long == []


def test_pages_with_python_were_found():
    assert sum(len(blocks_of(page)) for page in PAGES) > 20


@pytest.mark.parametrize("module", [name for name in MODULES if name != "swapsvm.study"])
def test_examples_in_docstrings_are_right(module):
    module = importlib.import_module(module)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_every_public_module_has_an_api_page():
    shown = set(re.findall(r"automodule:: (\S+)", "".join(p.read_text() for p in (ROOT / "docs" / "api").glob("*.md"))))
    public = {name for name in ["swapsvm", *MODULES] if hasattr(importlib.import_module(name), "__all__")}
    assert public - {"swapsvm.estimators"} <= shown  # these are public in swapsvm


def test_the_api_index_lists_every_public_name():
    index = (ROOT / "docs" / "api" / "index.md").read_text()
    rows = dict(re.findall(r"^\| \[(swapsvm[\w.]*)\]\(\w+\.md\) \| (.*) \|$", index, re.MULTILINE))
    assert len(rows) == len(list((ROOT / "docs" / "api").glob("*.md"))) - 1  # a row for each page except the index
    for module, row in rows.items():
        names = set(getattr(importlib.import_module(module), "__all__", [])) - {"__version__"}
        assert names <= set(re.findall(r"`(\w+)`", row)), module


def test_types_are_shipped():
    assert resources.files(swapsvm).joinpath("py.typed").is_file()


# ---- executed pages -----------------------------------------------------------------------------------------------

PAGE = """# Page

```python
x = 2
print("printed", x)
x + 1
```

```python
import matplotlib.pyplot as plt
plt.plot([1, x]);
```

```{drawn}
"hidden" + " code"
```

% not executed

```python
no_such_name
```
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Build a site of one page; returns its HTML."""
    application = pytest.importorskip("sphinx.application")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    settings = {"extensions": ["myst_parser", "executed"], "html_theme": "basic"}

    def build(text):
        (tmp_path / "index.md").write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of Sphinx about itself
            folders = [str(tmp_path), None, str(tmp_path / "html"), str(tmp_path / "trees"), "html"]
            app = application.Sphinx(*folders, confoverrides=settings, status=None, warning=None)
            app.build()
        return (tmp_path / "html" / "index.html").read_text("utf-8")

    return build


def test_output_stands_below_its_block(site):
    page = site(PAGE)
    outputs = re.findall(r'<div class="output.*?<pre>(.*?)</pre>', page, re.DOTALL)
    assert [html.unescape(re.sub("<.*?>", "", output)).split() for output in outputs] == [
        ["printed", "2", "3"],
        ["'hidden", "code'"],
    ]
    assert page.count('src="data:image/svg+xml;base64,') == 1
    assert page.index("printed") < page.index("data:image")
    assert "no_such_name" in page
    assert "+ &quot; code" not in re.sub("<.*?>", "", page)


def test_a_block_that_fails_fails_the_build(site):
    errors = pytest.importorskip("sphinx.errors")
    with pytest.raises(errors.ExtensionError, match="index, line 5: ZeroDivisionError"):
        site("# Page\n\nText.\n\n```python\n1 / 0\n```\n")


# ---- the check of the built site ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_offline", ROOT / "docs" / "check_offline.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<link rel="preload" href="https://fonts.example/a.woff2" as="font">',
        '<img src="http://example.org/a.png">',
        "<style>@import 'https://example.org/a.css';</style>",
        '<p style="background: url(https://example.org/a.png)">',
    ],
)
def test_loads_from_elsewhere_are_found(check, tmp_path, text):
    (tmp_path / "page.html").write_text(text)
    assert check.main(str(tmp_path)) == 1


def test_links_and_local_files_are_fine(check, tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org">out</a><script src="_static/x.js"></script><link rel="stylesheet" href="a.css">'
        '<img src="data:image/png;base64,AA=="><svg xmlns="http://www.w3.org/2000/svg"><use href="#b"/></svg>'
    )
    (tmp_path / "a.css").write_text("@font-face { src: url(fonts/a.woff2) } a { background: url('data:image/png,') }")
    assert check.main(str(tmp_path)) == 0


def test_style_sheets_are_read(check, tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url(https://fonts.example/a.woff2) }")
    assert check.main(str(tmp_path)) == 1
