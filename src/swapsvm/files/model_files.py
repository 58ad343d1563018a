"""Models in files of any format: the first bytes tell which to read, the extension which to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..estimators import SVC
from ..writing import PathLike, check_writable_file
from .libsvm import KERNEL_NAMES, export_libsvm, import_libsvm
from .native import MODEL, load, save
from .onnx_graph import export_onnx, import_onnx


def read_model(path: PathLike) -> SVC:
    """Read a model in swapsvm's format or in LIBSVM's text."""
    return load(path) if format_of_model(path) == "native" else import_libsvm(path)


def format_of_model(path: PathLike) -> str:
    """``"native"`` or ``"libsvm"``."""
    with Path(path).open("rb") as file:
        head = file.read(len(MODEL.magic))
    if head.startswith(b"svm_type"):
        return "libsvm"
    if head == MODEL.magic:
        return "native"
    raise ValueError(f"{path}: is neither a model saved by swapsvm nor one of LIBSVM")


def write_model(model: SVC, path: PathLike) -> None:
    """Write LIBSVM's text if the extension is .libsvm, ONNX if it is .onnx, else swapsvm's format."""
    WRITERS.get(Path(path).suffix.lower(), save)(model, path)


def check_target(path: PathLike, kernel: str) -> None:
    """Raise, before a fit, the error that writing a model with that kernel would raise after it."""
    check_writable_file(path)
    extension = Path(path).suffix.lower()
    if extension == ".libsvm" and kernel not in KERNEL_NAMES:
        raise ValueError(f"LIBSVM has no kernel {kernel!r}, only {list(KERNEL_NAMES)}: use another extension")
    if extension == ".onnx":
        import_onnx()


WRITERS: dict[str, Callable[[SVC, PathLike], None]] = {".libsvm": export_libsvm, ".onnx": export_onnx}
