"""Texts name only files that exist: pages, docstrings and comments, and the links between pages.

A reference is a name that ends like a source file, a page or a table of settings. It is resolved by its last parts:
``state/hull.py`` is ``src/swapsvm/state/hull.py``. Placeholders are written with angle brackets: ``solvers/<name>.py``.
"""

import ast
import io
import os
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ["packaging", "recipe", "src", "core", "tests", "benchmarks", "campaign", "examples", "docs"]
GENERATED = {"build", "__pycache__", "results", "reproduction"}
PAGES = ["README.md", "DESIGN.md", "CONTRIBUTING.md", "SECURITY.md"]  # CHANGELOG.md names files of its time

NAME = re.compile(
    r"(?<![\w./<>*{}$:~-])(?:\.\.?/)*((?:[\w.-]+/)*[\w-]+\.(?:py|pyi|hpp|cpp|md|toml|css|cff))(?![\w/*-])"
)
FOLDER = re.compile(r"(?<!`)`((?:[\w-]+/)+)`(?!`)")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)[^)]*\)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@cache
def existing():
    """Every end of the path of a file or a folder of the project, in whole parts."""
    paths = [ROOT / name for name in os.listdir(ROOT) if (ROOT / name).is_file()]
    for folder in FOLDERS:
        found = (ROOT / folder).rglob("*")
        paths += [ROOT / folder, *(p for p in found if not {"__pycache__", "build"} & set(p.relative_to(ROOT).parts))]
    ends = set()
    for path in paths:
        parts = path.relative_to(ROOT).parts
        ends |= {"/".join(parts[start:]) + "/" * path.is_dir() for start in range(len(parts))}
    return ends


def texts_in_python(source):
    """Docstrings and comments."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node, clean=False) or ""


def texts_of(path):
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        return texts_in_python(source)
    if path.suffix in (".hpp", ".cpp"):
        return COMMENT.findall(source)
    return [source]


def missing_names(path):
    """Names of files, and in pages of folders, that do not exist."""
    for text in texts_of(path):
        yield from (name for name in NAME.findall(text) if name not in existing())
        if path.suffix == ".md":
            yield from (name for name in FOLDER.findall(text) if name not in existing())


def broken_links(path):
    """Targets that are neither a file nor a page that the gallery makes from an example."""
    for target in LINK.findall(path.read_text("utf-8")):
        example = ROOT / "examples" / f"{Path(target).stem}.py"
        if not (path.parent / target).exists() and not ("examples/" in target and example.exists()):
            yield target


def sources():
    """Every text of the project that is written by hand."""
    found = [ROOT / name for name in [*PAGES, "Makefile", "CMakeLists.txt", ".ci/run"]]
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            generated = GENERATED & set(path.relative_to(ROOT).parts) or (ROOT / "docs" / "examples") in path.parents
            if path.suffix in (".py", ".pyi", ".hpp", ".cpp", ".md") and not generated:
                found.append(path)
    return found


def of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sources(), ids=of)
def test_files_that_a_text_names_exist(path):
    assert sorted(set(missing_names(path))) == []


@pytest.mark.parametrize("path", [path for path in sources() if path.suffix == ".md"], ids=of)
def test_links_between_pages_resolve(path):
    assert sorted(set(broken_links(path))) == []


# ---- the check itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        ("page.md", "See `core/nowhere.hpp` and core/block.hpp.", ["core/nowhere.hpp"]),
        ("page.md", "The theory is in NOWHERE.md, the pages in `docs/` and `nowhere/`.", ["NOWHERE.md", "nowhere/"]),
        ("module.py", '"""As ``nowhere/solve.py`` does."""\n', ["nowhere/solve.py"]),
        ("module.py", "x = 1  # test_nowhere.py measures it\n", ["test_nowhere.py"]),
        ("header.hpp", "// bounds: nowhere.hpp\n", ["nowhere.hpp"]),
        ("header.hpp", "/* bounds:\n   nowhere.hpp */\n", ["nowhere.hpp"]),
    ],
)
def test_a_file_that_does_not_exist_is_found(tmp_path, name, text, missing):
    (tmp_path / name).write_text(text)
    assert list(missing_names(tmp_path / name)) == missing


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "`state/hull.py`, solve.py, ../core/block.hpp, `docs/`, `solvers/<name>.py`, `core/*.hpp`"),
        ("page.md", "your X.npy, model.swapsvm, /home/you/train.py, https://example.org/page.md"),
        ("module.py", 'path = "nowhere.py"\n'),
        ("header.hpp", '#include "nowhere.hpp"\n'),
    ],
)
def test_other_names_are_no_references(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert list(missing_names(tmp_path / name)) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "here.md").write_text(
        "[a](here.md#a) [b](nowhere.md) [c](https://a.org) [e](examples/plot_c_path.rst) [f](examples/plot_f.rst)"
    )
    assert list(broken_links(tmp_path / "here.md")) == ["nowhere.md", "examples/plot_f.rst"]
