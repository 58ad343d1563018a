"""``load``: from a name to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Matrix
from .download import download
from .files import find, read_file
from .recipes import RECIPES, Rows
from .registry import DataFile, DatasetError, Entry, find_entry


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray or csr_matrix
        Rows of features; ``X_test`` is None if the set has no test rows.
    y_train, y_test : ndarray
        Class labels as integers, or targets of a regression as floats.
    task : {"classification", "regression"}
    values : str
        What the features are, and how they were scaled.
    """

    name: str
    X_train: Matrix
    y_train: np.ndarray
    X_test: Matrix | None
    y_test: np.ndarray | None
    task: str
    values: str


def load(name: str, dtype: DTypeLike = np.float64) -> Dataset:
    """Load a data set.

    Files are searched in the folder ``$SWAPSVM_DATA`` and in the cache directory (``$SWAPSVM_CACHE``, by default the
    platform's own), as plain text, ``.bz2`` or ``.gz``, and otherwise downloaded to the cache. Each reading is verified
    against the checksums of the registry.

    Parameters
    ----------
    name : str
        One of ``swapsvm.datasets.names()``.
    dtype : {numpy.float64, numpy.float32}
        The type of the features.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetError
        If a file is damaged, or missing and cannot be downloaded.

    Examples
    --------
    >>> from swapsvm.datasets import load
    >>> adult = load("a1a")  # doctest: +SKIP
    >>> adult.X_train.shape, adult.X_test.shape  # doctest: +SKIP
    ((1605, 123), (30956, 123))
    """
    entry = find_entry(name)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
    read = [read_part(entry, file, dtype) for file in entry.files]
    train, test = RECIPES[entry.recipe](read[0], read[1] if entry.test else None)
    check_sizes(entry, train, test)
    X_test, y_test = (features_of(entry, test), test.y) if test else (None, None)
    task = "classification" if entry.classes else "regression"
    return Dataset(name, features_of(entry, train), train.y, X_test, y_test, task, entry.values)


def obtain(file: DataFile) -> Path:
    """A local copy, downloaded if there is none."""
    return find(file) or download(file)


def read_part(entry: Entry, file: DataFile, dtype: DTypeLike) -> Rows:
    """One file as rows."""
    X, y = read_file(obtain(file), file, entry.file_features or entry.features)
    labels = y.astype(np.int64) if entry.classes else y
    if (labels != y).any():
        raise DatasetError(f"{file.name} has a class label that is not an integer")
    return Rows(X.astype(dtype, copy=False), labels)


def check_sizes(entry: Entry, train: Rows, test: Rows | None) -> None:
    """Compare what was read with the registry: of some files only the archive has a checksum."""
    found = (train.y.size, test.y.size if test else 0, np.unique(train.y).size if entry.classes else 0)
    wanted = (entry.rows, entry.test_rows, entry.classes)
    if found != wanted:
        raise DatasetError(f"{entry.name} has (rows, test rows, classes) {found}, but should have {wanted}")


def features_of(entry: Entry, part: Rows) -> Matrix:
    """X, dense if the registry says so."""
    return part.X.toarray() if entry.dense else part.X
