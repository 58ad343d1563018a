"""The pages are correct: their Python runs, the API pages cover the public modules, and types are shipped."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
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
