"""Models in files of any format: the first bytes tell which to read, the extension which to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from ..container import opened
from ..writing import PathLike, check_writable_file
from .libsvm import check_exportable, check_pairs, export_libsvm, import_libsvm
from .native import MODEL, load, save
from .onnx_files import check_convertible, export_onnx
from .onnx_models import check_label_type


@dataclass(frozen=True)
class ModelFormat:
    """A writer, and checks that raise before a fit what it would raise after it: with any classes, or with these."""

    write: Callable[[BaseEstimator, PathLike], None]
    check: Callable[[BaseEstimator], None]
    check_classes: Callable[[BaseEstimator, np.ndarray], None]


def read_model(path: PathLike) -> BaseEstimator:
    """Read a model in swapsvm's format or in LIBSVM's text."""
    return load(path) if format_of_model(path) == "native" else import_libsvm(path)


def format_of_model(path: PathLike) -> str:
    """``"native"`` or ``"libsvm"``."""
    with opened(path) as file:
        head = file.read(len(MODEL.magic))
    if head.startswith(b"svm_type"):
        return "libsvm"
    if head == MODEL.magic:
        return "native"
    if Path(path).suffix.lower() == ".onnx":
        way_out = "use onnxruntime, or name the model from which it was made"
        raise ValueError(f"{path}: ONNX models are written here, but not read: {way_out}")
    raise ValueError(f"{path}: is neither a model saved by swapsvm nor one of LIBSVM")


def write_model(model: BaseEstimator, path: PathLike) -> None:
    """Write LIBSVM's text if the extension is .libsvm, ONNX if it is .onnx, else swapsvm's format."""
    format_for(path).write(model, path)


def check_target(path: PathLike, model: BaseEstimator) -> None:
    """Raise, before a fit of the model, the error that writing it would raise after it."""
    check_writable_file(path)
    format_for(path).check(model)


def check_labels(path: PathLike, model: BaseEstimator, y: np.ndarray | None) -> None:
    """The same for these labels, if the model is a classifier."""
    if is_classifier(model):
        format_for(path).check_classes(model, np.unique(np.asarray(y)))


def format_for(path: PathLike) -> ModelFormat:
    """The format that the extension stands for."""
    return WRITERS.get(Path(path).suffix.lower(), NATIVE)


NATIVE = ModelFormat(save, lambda model: None, lambda model, classes: None)
WRITERS = {
    ".libsvm": ModelFormat(export_libsvm, check_exportable, check_pairs),
    ".onnx": ModelFormat(export_onnx, check_convertible, lambda model, classes: check_label_type(classes)),
}
