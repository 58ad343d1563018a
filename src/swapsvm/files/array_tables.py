"""Tables as arrays: npy, memory-mapped, and npz."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from ..container import require
from ..datasets.array_files import mapped, member_names, parser_errors_named, read_member
from ..datasets.labels import as_integers, checked_labels
from ..datasets.svmlight import Source
from .table import Request, Table


def path_of(source: Source, kind: str) -> Path:
    """The path of a source that must not be a stream."""
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"{kind} cannot be read from a stream: name a file")
    return Path(source)


def read_npy(source: Source, request: Request) -> Table:
    """Memory-map X; read y from ``request.labels`` or from y.npy in the same folder."""
    path = path_of(source, "npy")
    labels = Path(request.labels) if request.labels else path.with_name("y.npy")
    if not labels.exists() and (request.labels or request.requires_labels):
        raise ValueError(f"{path}: the labels file {labels} does not exist: name it with --labels")
    X = mapped(path)
    y = np.array(mapped(labels)) if labels.exists() and labels != path else None
    return checked_table(path, X, y, labels)


def read_npz(source: Source, request: Request) -> Table:
    """Read the arrays X and y of an archive."""
    path = path_of(source, "npz")
    with parser_errors_named(path, "npz"), zipfile.ZipFile(path) as archive:
        names = member_names(archive)
        require("X" in names, f"it has no array X, only {names[:8]}")
        require("y" in names or not request.requires_labels, f"it has no array y with the labels, only {names[:8]}")
        arrays = {name: read_member(archive, name) for name in ("X", "y") if name in names}
    return checked_table(path, arrays["X"], arrays.get("y"), path)


def checked_table(path: Path, X: np.ndarray, y: np.ndarray | None, labels: Path) -> Table:
    """X, which must be a matrix of numbers, and y, if any, from the file ``labels``; whole numbers become integers."""
    matrix = X.ndim == 2 and X.dtype.kind in "biuf"
    require(matrix, f"{path}: X is {X.ndim}-dimensional of {X.dtype}, not a matrix of numbers")
    if y is None:
        return Table(X, None)
    checked = checked_labels(labels, y, len(X))
    return Table(X, as_integers(checked) if checked.dtype.kind == "f" else checked)
