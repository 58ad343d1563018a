"""Imports go one way, and the public surface is what ``__all__`` says."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import swapsvm

ROOT = Path(swapsvm.__file__).parent
LAYERS = [
    ["_core", "arrays", "extras"],
    ["columns", "rows"],
    ["kernels", "datasets", "writing", "container", "parameters"],
    ["passes"],
    ["gram"],
    ["problems"],
    ["rays", "trace"],
    ["state"],
    ["solvers"],
    ["stopping", "timing", "result", "certificates", "run", "solve"],
    ["models", "geometry"],
    ["fitting"],
    ["estimators"],
    ["selection", "reduction", "dask", "explain"],
    ["files"],
    ["study", "plotting"],
    ["demo", "commands", "cli", "__main__"],
]
LEARNING = ("fitting", "estimators", "selection", "reduction", "dask", "files", "explain")  # know scikit-learn
DRAWINGS = ("curve_figures", "diagram", "drawing", "figures", "sketch", "tuning_figures")
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path):
    """Rooms of this package that a file imports."""
    package = ["swapsvm", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            full = [part for part in base if part]
            yield from (full[1:2] or [alias.name for alias in node.names])


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    for room in imported_rooms(path):
        if room != "__version__":
            assert LEVEL[room] <= LEVEL[room_of(path)], f"{path.name} imports {room}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_scikit_learn_and_matplotlib_stay_in_their_rooms(path):
    tree = ast.parse(path.read_text())
    names = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level}
    roots = {name.split(".")[0] for name in names}
    if room_of(path) not in (*LEARNING, "demo", "plotting", "commands"):
        assert "sklearn" not in roots or names & {"sklearn.exceptions"}
        assert "pandas" not in roots
        assert "rich" not in roots or path == ROOT / "study" / "reproduce.py"
        assert "matplotlib" not in roots or (path.parent == ROOT / "study" and path.stem in DRAWINGS)


def private_names(tree):
    """Names with one leading underscore that a module defines: functions, classes, methods, attributes of self."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if is_annotated(node) else []
        for target in (name for found in targets for name in ast.walk(found)):
            if isinstance(target, ast.Name) and is_private(target.id):
                yield target.id
            if isinstance(target, ast.Attribute) and is_private(target.attr):
                yield target.attr


def is_annotated(node):
    return isinstance(node, ast.AnnAssign)


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_"


PRIVATE = {path: set(private_names(ast.parse(path.read_text()))) for path in MODULES}
OWN = {"self", "cls"}


def foreign_private_members(path, tree):
    """Private members of another module that a module reads: imported by name, or through an object."""
    elsewhere = set().union(*(names for other, names in PRIVATE.items() if other != path)) - PRIVATE[path]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            yield from (alias.name for alias in node.names if is_private(alias.name) and alias.name != "_core")
        if isinstance(node, ast.Attribute) and node.attr in elsewhere:
            owner = node.value
            called_super = isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
            if not called_super and getattr(owner, "id", "") not in OWN:
                yield node.attr


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_reads_private_members_of_another(path):
    assert list(foreign_private_members(path, ast.parse(path.read_text()))) == []


def test_private_members_of_another_module_are_found():
    path = ROOT / "solve.py"
    name = sorted(PRIVATE[ROOT / "gram.py"] - PRIVATE[path])[0]
    assert list(foreign_private_members(path, ast.parse(f"run.{name}"))) == [name]
    assert list(foreign_private_members(path, ast.parse(f"from .gram import {name}"))) == [name]
    assert list(foreign_private_members(path, ast.parse(f"self.{name}, super().{name}"))) == []


@pytest.mark.parametrize(
    "module",
    [
        "swapsvm",
        "swapsvm.datasets",
        "swapsvm.files",
        "swapsvm.geometry",
        "swapsvm.kernels",
        "swapsvm.models",
        "swapsvm.problems",
        "swapsvm.solvers",
    ],
)
def test_all_is_the_public_surface(module):
    module = importlib.import_module(module)
    assert module.__all__ == sorted(module.__all__, key=lambda n: (not n.isupper(), n[0].islower() or n[0] == "_", n))
    for name in module.__all__:
        assert hasattr(module, name)


def test_names_of_the_package_are_imported_when_they_are_used():
    code = (
        "import swapsvm; print(swapsvm.kernels.Rbf(2.0), swapsvm.SVC(C=3), *(set(swapsvm.__all__) - {*dir(swapsvm)}))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert found == "Rbf(gamma=2.0) SVC(C=3)\n"
    with pytest.raises(AttributeError, match="module 'swapsvm' has no attribute 'SVMC'"):
        swapsvm.SVMC  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'SVMC'"):
        from swapsvm import SVMC  # noqa: F401
