"""Imports go one way, and the public surface is what ``__all__`` says."""

import ast
import importlib
from pathlib import Path

import pytest

import swapsvm

ROOT = Path(swapsvm.__file__).parent
LAYERS = [
    ["_core", "arrays"],
    ["columns"],
    ["kernels", "datasets", "writing", "container", "parameters"],
    ["gram"],
    ["problems"],
    ["rays", "trace"],
    ["state"],
    ["solvers"],
    ["stopping", "solve"],
    ["geometry", "estimators"],
    ["files"],
    ["study", "plotting"],
    ["demo", "commands", "cli"],
]
DRAWINGS = ("diagram", "drawing", "figures", "sketch")
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
    if room_of(path) not in ("estimators", "demo", "plotting", "commands"):
        assert "sklearn" not in roots or names & {"sklearn.exceptions"}
        assert "pandas" not in roots
        assert "rich" not in roots or path == ROOT / "study" / "reproduce.py"
        assert "matplotlib" not in roots or (path.parent == ROOT / "study" and path.stem in DRAWINGS)


@pytest.mark.parametrize(
    "module",
    [
        "swapsvm",
        "swapsvm.datasets",
        "swapsvm.files",
        "swapsvm.geometry",
        "swapsvm.kernels",
        "swapsvm.problems",
        "swapsvm.solvers",
    ],
)
def test_all_is_the_public_surface(module):
    module = importlib.import_module(module)
    assert module.__all__ == sorted(module.__all__, key=lambda n: (not n.isupper(), n[0].islower() or n[0] == "_", n))
    for name in module.__all__:
        assert hasattr(module, name)
