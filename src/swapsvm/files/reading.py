"""A model from a file of any format that can be read, and into one that its name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..estimators import SVC
from ..writing import PathLike, check_writable_file
from .libsvm import KERNEL_NAMES, export_libsvm, import_libsvm
from .native import MODEL, load, save
from .onnx_graph import export_onnx, import_onnx

LIBSVM_BEGINS = b"svm_type"


def read_model(path: PathLike) -> SVC:
    """The model of a native file or of LIBSVM's text, told apart by their first bytes."""
    return load(path) if format_of_model(path) == "native" else import_libsvm(path)


def format_of_model(path: PathLike) -> str:
    """``"native"`` or ``"libsvm"``."""
    with Path(path).open("rb") as file:
        head = file.read(len(MODEL.magic))
    if head.startswith(LIBSVM_BEGINS):
        return "libsvm"
    if head == MODEL.magic:
        return "native"
    raise ValueError(f"{path}: is neither a model saved by swapsvm nor one of LIBSVM")


def write_model(model: SVC, path: PathLike) -> None:
    """Write LIBSVM's text to a file that ends in .libsvm, ONNX to one that ends in .onnx, else the native format."""
    WRITERS.get(Path(path).suffix.lower(), save)(model, path)


def check_goal(path: PathLike, kernel: str) -> None:
    """An error, before the work, if a model with that kernel could not be written there."""
    check_writable_file(path)
    goal = Path(path)
    if goal.suffix.lower() == ".libsvm" and kernel not in KERNEL_NAMES:
        raise ValueError(f"LIBSVM has no kernel {kernel!r}, only {list(KERNEL_NAMES)}: use another ending")
    if goal.suffix.lower() == ".onnx":
        import_onnx()


WRITERS: dict[str, Callable[[Any, PathLike], None]] = {".libsvm": export_libsvm, ".onnx": export_onnx}
