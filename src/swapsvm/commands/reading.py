"""DATA: a file, a folder of shards, standard input or the name of a data set, as rows that fit a model."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..arrays import Matrix
from ..container import require
from ..datasets import Shards
from ..datasets.loading import load
from ..datasets.registry import registry
from ..files.steps import first_step
from ..files.table import Request, Table
from ..files.tables import format_of, read_table
from ..passes.files import all_rows
from .output import note, say

STDIN = "-"  # as DATA
TEST = ".t"  # after the name of a data set: its test rows
NO_LABELS = "0"  # as --label
WITH_COLUMNS = ("csv", "parquet")  # formats in which any column can be the label


class Need(NamedTuple):
    """What a verb needs of rows: this many features, if any are given, and labels, unless they are optional."""

    n_features: int | None = None
    labels: bool = True


def read_data(arguments: argparse.Namespace, need: Need, *, sharded: bool = False) -> Table:
    """Read DATA. If ``sharded``, rows of a folder, or of any file with ``--memory``, stay in their files."""
    name = arguments.data
    say(f"reading {name}")
    memory = getattr(arguments, "memory", None)
    require(name, "DATA is empty: name a file")
    require(name != STDIN or memory is None, "--memory needs a file: standard input cannot be read again and again")
    if Path(name).is_dir() or (memory is not None and Path(name).exists()):
        return read_shards(arguments, need, memory, sharded)
    table = read_any(name, arguments, need)
    require(table.y is not None or not need.labels, f"{name}: has no labels")
    return table


def read_shards(arguments: argparse.Namespace, need: Need, memory: str | None, sharded: bool) -> Table:
    """Rows of shards, in their files or all in memory."""
    for option in ("format", "labels"):
        unset = getattr(arguments, option, None) is None
        require(unset, f"--{option} is for a file that is read as a whole: leave it out for shards and with --memory")
    width = need.n_features or getattr(arguments, "features", None)
    shards = Shards(arguments.data, label=arguments.label, n_features=width, memory_limit=memory)
    require(shards.y is not None or not need.labels, f"the shards in {arguments.data} have no labels")
    return Table(shards if sharded else all_rows(shards), shards.y)


def read_any(name: str, arguments: argparse.Namespace, need: Need) -> Table:
    """Rows and labels of one file or data set, in memory."""
    named = is_data_set(name)
    format, labels = None if named else arguments.format or format_of(name), getattr(arguments, "labels", None)
    where = "has its labels in a place of their own"
    require(format in WITH_COLUMNS or arguments.label is None, f"{name}: {where}: --label is for CSV and Parquet")
    require(format == "npy" or labels is None, f"{name}: {where}: --labels is for npy")
    if named:
        return read_data_set(name)
    request = Request(arguments.label, labels, need.n_features, needed=need.labels)
    return read_table(stdin() if name == STDIN else name, arguments.format, request)


def stdin() -> BinaryIO:
    """Standard input, which can be closed."""
    require(sys.stdin is not None, "standard input is closed: name a file")
    return sys.stdin.buffer


def check_inputs_stay(output: str | None, *inputs: str | None) -> None:
    """Refuse an output file that is one of the files to read, which it would replace."""
    for name in inputs:
        if output and name and Path(name).is_file() and Path(output).is_file():
            same = os.path.samefile(name, output)
            require(not same, f"{output}: is a file to read, which the output would replace: name another output file")


def is_data_set(name: str) -> bool:
    """Whether this is the name of a data set, or of its test rows, and of no file here."""
    known = name.removesuffix(TEST) in registry()
    if known and Path(name).exists():
        note(f"{name} is the file in this folder, not the data set of that name")
    return known and not Path(name).exists()


def read_data_set(name: str) -> Table:
    """The training rows of a data set, or its test rows if the name ends in .t."""
    note(f"{name} is the data set of that name (see `swapsvm datasets`), not a file")
    data = load(name.removesuffix(TEST))
    if not name.endswith(TEST):
        return Table(data.X_train, data.y_train)
    if data.X_test is None:
        raise ValueError(f"the data set {data.name} has no test rows")
    return Table(data.X_test, data.y_test)


def check_label_is_known(arguments: argparse.Namespace) -> None:
    """Ask which column is the label where a wrong guess would go unnoticed, as nothing is learned from it."""
    if has_columns(arguments) and arguments.label is None:
        raise ValueError(f"{arguments.data}: is one of its columns a label? Name it with --label, or use --label 0")


def has_columns(arguments: argparse.Namespace) -> bool:
    """Whether any column of DATA can be the label."""
    return (arguments.format or format_of(arguments.data)) in WITH_COLUMNS


def fitted_to(n_features: int, X: Matrix, name: str, *, of: str = "the model was trained on") -> Matrix:
    """Rows with exactly this many features: sparse rows can lack the last ones, which are zero."""
    found: int = X.shape[1]
    if isinstance(X, np.ndarray):
        require(found == n_features, f"{name}: the rows have {found} features, not the {n_features} that {of}")
        return X
    more = f"{name}: has a feature {found}, but {of} {n_features}: `swapsvm train --features {found}` makes room for it"
    require(found <= n_features, more)
    return X if found == n_features else sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def needs_all_rows(model: Any) -> bool:  # any estimator or pipeline
    """Whether the model cannot predict rows in shards."""
    return isinstance(model, Pipeline) or getattr(model, "kernel", None) == "precomputed"


def rows_for(model: Any, X: Matrix | Shards, name: str) -> Matrix | Shards:  # any estimator or pipeline
    """Rows that the model can predict."""
    if isinstance(X, Shards):
        return X
    usable = not sp.issparse(X) or getattr(model, "kernel", None) != "precomputed"
    require(usable, "a precomputed kernel must be dense: use CSV, Parquet, npz or npy")
    rows = fitted_to(first_step(model).n_features_in_, X, name)
    if isinstance(rows, np.ndarray) or get_tags(model).input_tags.sparse:
        return rows
    return np.asarray(rows.toarray())  # for a pipeline that centres, or encodes
