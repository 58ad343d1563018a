"""What a first pass over streams of rows finds: sizes, the types to write, and whether labels are numbers or text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Matrix
from ..columns import is_sparse
from ..container import require
from ..datasets.labels import as_integers, checked_labels, is_text
from ..datasets.shards import first_bad_row
from .csv_tables import are_integers, are_numbers
from .row_streams import Stream

LONGEST_LABEL = 1000  # characters: an array of text gives all its entries the length of the longest
Progress = Callable[[str, int, int | None], object]  # what was done to how many rows, of how many
LARGEST_SINGLE = float(np.finfo(np.float32).max)


@dataclass
class LabelKind:
    """Whether labels are integers, other numbers, or text; cells of text are numbers if all of them are."""

    numbers: str = ""  # the first source whose labels are numbers and not cells of text
    text: str = ""  # the first source with labels that are not numbers
    integers: bool = True

    def add(self, stream: Stream, labels: np.ndarray) -> None:
        """Look at the labels of a block."""
        if is_text(labels):
            self._add_text(stream, {str(label) for label in labels})
            return
        self.numbers = self.numbers or stream.name
        self.integers &= labels.dtype.kind != "f" or as_integers(labels).dtype.kind == "i"
        self._check(stream)

    def _add_text(self, stream: Stream, distinct: set[str]) -> None:
        longest = max(map(len, distinct), default=0)
        too_long = f"{stream.name}: has a label of {longest} characters; at most {LONGEST_LABEL} are supported"
        require(longest <= LONGEST_LABEL, too_long)
        self.integers &= are_integers(distinct)
        if not (stream.cells and are_numbers(distinct)):
            self.text = self.text or stream.name
        self._check(stream)

    def _check(self, stream: Stream) -> None:
        if self.text and self.numbers:
            other = self.numbers if stream.name == self.text else self.text
            kinds = ("text", "numbers") if stream.name == self.text else ("numbers", "text")
            raise ValueError(f"{stream.name}: the labels are {kinds[0]}, but those of {other} are {kinds[1]}")

    def converted(self, labels: np.ndarray) -> np.ndarray:
        """Labels of a block in the type of all labels."""
        if self.text:
            return labels.astype(str)
        if is_text(labels):
            return np.array(
                list(map(int if self.integers else float, labels)), np.int64 if self.integers else np.float64
            )
        if labels.dtype.kind == "f" or not self.integers:
            return labels.astype(np.int64 if self.integers else np.float64)
        return labels


@dataclass
class Survey:
    """Sizes of all streams together, and what their rows and labels are."""

    rows: int = 0
    columns: int = 0
    entries: int = 0  # that are not zero
    first: str = ""  # the first stream that has rows
    sparse: bool = False
    single: bool = True
    largest: float = 0.0
    labelled: bool = False
    kind: LabelKind = field(default_factory=LabelKind)

    @property
    def mostly_zero(self) -> bool:
        """Whether at least half of all values are zero."""
        return 2 * self.entries <= self.rows * self.columns

    def add(self, stream: Stream, X: Matrix, y: np.ndarray | None, before: int) -> None:
        """Look at a block; ``before`` is the number of rows of its stream before it."""
        bad = first_bad_row(X)
        where = f"{stream.name}: row {before + (bad or 0)} (the first row is 0)"
        require(bad is None, f"{where} has a value that is NaN or infinite")
        if not self.first:
            self.first, self.sparse, self.labelled, self.columns = stream.name, is_sparse(X), y is not None, X.shape[1]
        self._check(stream, X, y is not None)
        self._add_values(X)
        if y is not None:
            self.kind.add(stream, checked_labels(stream.name, y, X.shape[0]))

    def _check(self, stream: Stream, X: Matrix, labelled: bool) -> None:
        """``ValueError`` unless the block is of the same kind as the first one."""
        kinds = ("sparse", "dense") if is_sparse(X) else ("dense", "sparse")
        require(is_sparse(X) == self.sparse, f"{stream.name}: is {kinds[0]}, but {self.first} is {kinds[1]}")
        width = f"has {X.shape[1]} features, not the {self.columns} of {self.first}"
        require(self.sparse or X.shape[1] == self.columns, f"{stream.name}: {width}")
        had = ("has labels", "has none") if labelled else ("has no labels", "has some")
        require(labelled == self.labelled, f"{stream.name}: {had[0]}, but {self.first} {had[1]}")

    def _add_values(self, X: Matrix) -> None:
        values = X.data if is_sparse(X) else np.asarray(X)
        self.rows, self.columns = self.rows + X.shape[0], max(self.columns, X.shape[1])
        self.entries += int(np.count_nonzero(values))
        self.single &= X.dtype == np.float32
        self.largest = max(self.largest, float(values.max(initial=0)), -float(values.min(initial=0)))

    def dtype(self, wanted: DTypeLike | None) -> np.dtype:
        """The type to write: by default float32 if all rows are."""
        dtype = np.dtype(wanted if wanted is not None else np.float32 if self.single else np.float64)
        fits = dtype == np.float64 or self.largest <= LARGEST_SINGLE
        require(fits, f"dtype=float32 cannot hold {self.largest:g}: use float64")
        return dtype


def survey(streams: Sequence[Stream], progress: Progress) -> Survey:
    """Read all streams once."""
    found = Survey()
    for stream in streams:
        before = found.rows
        for X, y in stream.blocks():
            found.add(stream, X, y, found.rows - before)
            progress("counted", found.rows, None)
    names = ", ".join(stream.name for stream in streams[:3])
    require(found.rows, f"{names}: has no rows")
    require(found.columns, f"{names}: has no features")
    return found
