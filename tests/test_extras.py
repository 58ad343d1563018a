"""A package that is missing is named by the function that needs it, with the command that installs it."""

import ast
import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import swapsvm
from swapsvm import SVC, SVCCV, SVRCV, plot_trace
from swapsvm.datasets import Shards
from swapsvm.extras import needed_by
from swapsvm.files import export_onnx, read_table
from swapsvm.study.diagram import draw_ranks
from swapsvm.study.drawing import canvas
from swapsvm.study.reproduce import reproduce
from swapsvm.study.sketch import simplex_sketch

ROOT = Path(swapsvm.__file__).parent
OPTIONAL = {"matplotlib", "rich", "onnx", "pyarrow", "dask", "distributed", "pandas", "polars", "skl2onnx", "skops"}
AT_ONCE = {"demo.py", "fitting/bar.py"}  # the demo asks for all of them first; without the bar there are lines
X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.arange(30) % 2


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an empty table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.parquet").touch()
    return tmp_path


def forget(monkeypatch, *packages):
    """The modules of packages as if they had never been imported."""
    for name in [name for name in sys.modules if name.startswith(tuple(f"{package}." for package in packages))]:
        monkeypatch.delitem(sys.modules, name)


SEARCH = {"Cs": [1.0], "gammas": [1.0], "cv": 2}
USES = [
    ("plot_trace", "matplotlib", lambda: plot_trace(SVC().fit(X, Y))),
    ("plot_scores", "matplotlib", lambda: SVCCV(**SEARCH).fit(X, Y).plot_scores()),
    ("plot_scores", "matplotlib", lambda: SVRCV(**SEARCH, epsilons=[0.1]).fit(X, Y).plot_scores()),
    ("export_onnx", "onnx", lambda: export_onnx(SVC().fit(X, Y), "model.onnx")),
    ("a Parquet file", "pyarrow", lambda: read_table("data.parquet")),
    ("a Parquet file", "pyarrow", lambda: Shards(["data.parquet"])),
    ("the report", "matplotlib", lambda: reproduce(None, Path("report"), 1, False)),
    ("the report", "rich", lambda: reproduce(None, Path("report"), 1, False)),
    ("the report", "matplotlib", lambda: draw_ranks(SimpleNamespace())),
    ("the report", "matplotlib", lambda: canvas(1.0)),
    ("the report", "matplotlib", simplex_sketch),
]


@pytest.mark.parametrize(("user", "package", "use"), USES)
def test_a_missing_package_is_named_with_its_user(user, package, use, here, monkeypatch):
    forget(monkeypatch, package)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"^{user} needs {package}: pip install {package}$"):
        use()


@pytest.mark.parametrize("package", ["dask", "distributed"])
def test_estimators_over_dask_name_both_of_its_packages(package, monkeypatch):
    forget(monkeypatch, "swapsvm.dask", package)
    monkeypatch.delitem(sys.modules, "swapsvm.dask", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'^swapsvm\.dask needs {package}: pip install "dask\[array\]" distributed$'):
        importlib.import_module("swapsvm.dask")


def test_other_errors_of_an_import_stay_as_they_are():
    with pytest.raises(ImportError, match="cannot import name 'nothing'"), needed_by("this test"):
        from math import nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'swapsvm.nothing'"), needed_by("this test"):
        importlib.import_module("swapsvm.nothing")


def lazy_imports(tree):
    """Imports inside functions, and whether they are in a ``with needed_by(...)``."""
    covered = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and "needed_by" in ast.unparse(node.items[0])
        for child in node.body
    }
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node, id(node) in covered


def roots(node):
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return {name.partition(".")[0] for name in names}


def test_every_lazy_import_says_who_needs_it():
    seen = 0
    for path in ROOT.rglob("*.py"):
        for node, covered in lazy_imports(ast.parse(path.read_text("utf-8"))):
            if roots(node) & OPTIONAL and path.relative_to(ROOT).as_posix() not in AT_ONCE:
                assert covered, f"{path.name}, line {node.lineno}"
                seen += 1
    assert seen >= 10


def test_no_message_names_a_package_that_no_index_has():
    """As long as swapsvm is not on PyPI, pip finds no extra of it."""
    for path in ROOT.rglob("*.py"):
        assert not re.search(r"pip install \W?swapsvm", path.read_text("utf-8")), path.name
