"""Labels of rows in files: which column they are, and what they must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..container import check_text, require
from .array_files import mapped

PLACE = re.compile(r"-?[0-9]{1,9}")
ENDING = ".labels.npy"


def label_column(names: Sequence[str], label: str | None, n_features: int | None, named: bool = True) -> int | None:
    """Index of the label column among these; None if there are exactly ``n_features`` columns and no ``label``."""
    if label is None:
        return None if n_features == len(names) else 0
    if named and label in names:
        require(
            names.count(label) == 1,
            f"has {names.count(label)} columns {label!r}: choose one by its place, counted from 1",
        )
        return names.index(label)
    place = int(label) if PLACE.fullmatch(label) else 0
    bare = f"there are {len(names)} columns" if PLACE.fullmatch(label) else "there is no header line"
    known = f"the columns are {', '.join(names[:8])}" if named else bare
    require(0 < abs(place) <= len(names), f"has no label column {label!r} ({known}): choose one with --label")
    return place - 1 if place > 0 else len(names) + place


def as_integers(labels: np.ndarray) -> np.ndarray:
    """Labels as integers if all of them are whole numbers."""
    whole = (np.abs(labels) < 2**53) & (labels == np.trunc(labels))
    return labels.astype(np.int64) if whole.all() else labels


def checked_labels(name: Path | str, y: np.ndarray, n_rows: int) -> np.ndarray:
    """The labels, which must be finite numbers or text, one per row."""
    require(y.shape == (n_rows,), f"{name}: the labels have shape {y.shape}, not ({n_rows},), one per row")
    if y.dtype.kind == "U":
        check_text(y)
    if y.dtype.kind == "f":
        require(np.isfinite(y).all(), f"{name}: the labels are not all finite")
    text = y.dtype == object and all(isinstance(label, str) for label in y)
    require(text or y.dtype.kind in "biufU", f"{name}: labels of type {y.dtype} are neither numbers nor text")
    return y


def labels_file(path: Path | str) -> Path:
    """The file of the labels of an npy or npz file: ``NAME.labels.npy`` beside it."""
    return Path(path).with_suffix(ENDING)


def read_labels(path: Path | str, n_rows: int) -> np.ndarray | None:
    """The labels of an npy or npz file, if their file exists."""
    labels = labels_file(path)
    return checked_labels(labels, np.array(mapped(labels)), n_rows) if labels.exists() else None


def joined_labels(parts: Sequence[tuple[str, np.ndarray | None]]) -> np.ndarray | None:
    """The labels of several files by name, which must all have some, of one kind."""
    missing = [name for name, labels in parts if labels is None]
    if len(missing) == len(parts):
        return None
    require(not missing, f"{', '.join(missing[:1])}: has no labels, but other shards have some")
    filled = [(name, labels) for name, labels in parts if labels is not None and len(labels)]
    check_kinds(filled)
    return np.concatenate([labels for _, labels in filled] or [np.empty(0)])


def check_kinds(parts: Sequence[tuple[str, np.ndarray]]) -> None:
    """``ValueError`` unless the labels are all numbers or all text."""
    text = [name for name, labels in parts if is_text(labels)]
    numbers = [name for name, labels in parts if not is_text(labels)]
    if text and numbers:
        raise ValueError(f"{text[0]}: the labels are text, but those of {numbers[0]} are numbers")


def is_text(labels: np.ndarray) -> bool:
    """Whether these labels are text."""
    return labels.dtype.kind in "UO"
