"""Tables as text: cells separated by commas, tabs or semicolons, with or without a header line."""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import numpy as np

from ..container import require
from ..datasets.labels import PLACE
from ..datasets.svmlight import Source, content_errors_named, opened, unpacked
from .table import Request, Table

DELIMITERS = ",\t;"
BLOCK = 1 << 17  # cells of the rows that are yielded together
MISSING = ("", "nan", "na", "n/a", "null", "none", "?")  # how programs write that there is no value, in lower case
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def read_csv(source: Source, request: Request) -> Table:
    """Read a table of numbers in which one column is labels of any kind.

    The first line is a header if any of its cells, except the label's, is text: neither a number nor a missing value.
    The delimiter is the first of comma, tab and semicolon that occurs in it.
    """
    values, labels = array("d"), []
    seen: dict[str, str] = {}
    with _opened(source, request) as rows:
        for label, numbers in rows:
            values.extend(numbers)
            labels.append(seen.setdefault(label, label))  # equal labels share one object
    X = np.array(values).reshape(-1, rows.n_features)
    return Table(X, None if rows.at is None else labels_of(labels, seen))


def csv_blocks(source: Source, request: Request) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """The same rows, about a megabyte at a time; labels are cells of text, whatever they stand for."""
    values, labels = array("d"), []
    with _opened(source, request) as rows:
        for label, numbers in rows:
            values.extend(numbers)
            labels.append(label)
            if len(values) >= BLOCK:
                yield _block(rows, values, labels)
                values, labels = array("d"), []
        yield _block(rows, values, labels)


def _block(rows: Rows, values: array[float], labels: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    X = np.array(values).reshape(-1, rows.n_features)
    return X, None if rows.at is None else np.array(labels, dtype=object)


@contextmanager
def _opened(source: Source, request: Request) -> Iterator[Rows]:
    """The rows of a file; errors about its content name it."""
    with content_errors_named(source, csv.Error), opened(source) as file, unpacked(file) as content:
        text = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
        try:
            yield Rows(text, request)
        finally:
            text.detach()


class Rows:
    """The rows of an open text: for each its label, empty if there is none, and its numbers."""

    def __init__(self, text: io.TextIOWrapper, request: Request) -> None:
        first = text.readline()
        delimiter = next((sign for sign in DELIMITERS if sign in first), ",")
        self._reader = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
        names = [name.strip() for name in next(self._reader, [])]
        named, self.at = _heading(names, request)
        self._names, self._named, self._width = names, named, len(names)
        self._first = [] if named else [names]
        self.n_features = self._width - (self.at is not None)
        self._chosen = request.label is not None
        self._hint = f" (the labels are {self._labels_place()}: choose another column with --label)"
        require(self.n_features, f"has no features: its only column is the labels{self._hint}")

    def __iter__(self) -> Iterator[tuple[str, list[float]]]:
        for row in filter(None, chain(self._first, self._reader)):
            try:
                require(len(row) == self._width, f"{len(row)} cells instead of {self._width}")
                label = "" if self.at is None else row.pop(self.at).strip()
                require(label or self.at is None, f"the label is empty{self._hint}")
                yield label, self._numbers(row)
            except ValueError as error:
                raise ValueError(f"line {self._reader.line_num}: {error}") from None

    def _numbers(self, cells: list[str]) -> list[float]:
        try:
            numbers = list(map(float, cells))
        except ValueError:
            place = next(place for place, cell in enumerate(cells) if not is_number(cell))
            raise ValueError(self._complaint(place, cells[place].strip())) from None
        if not math.isfinite(sum(numbers)):  # a sum of finite numbers can overflow
            for place in (place for place, number in enumerate(numbers) if not math.isfinite(number)):
                raise ValueError(self._complaint(place, cells[place].strip()))
        return numbers

    def _complaint(self, feature: int, cell: str) -> str:
        """What is wrong with this cell, which is not a finite number, and the way out."""
        place = self._column(feature + (self.at is not None and feature >= self.at))
        if cell.lower() in MISSING:
            way_out = "leave such rows out, or fit a pipeline in Python that fills them in"
            return f"{place}: {cell!r} is a missing value: {way_out}"
        if is_number(cell):
            return f"{place}: {cell[:40]!r} is not a finite number: leave such rows out"
        found = f"{place}: {cell[:40]!r} is not a number"
        if self.at is not None and not self._chosen:
            return f"{found}{self._hint}"
        return f"{found}: leave the column out, or fit a pipeline in Python that encodes it"

    def _labels_place(self) -> str:
        return "in no column" if self.at is None else f"in {self._column(self.at)}"

    def _column(self, at: int) -> str:
        return f"column {at + 1}{f', {self._names[at]!r}' if self._named else ''}"


def _heading(first: list[str], request: Request) -> tuple[bool, int | None]:
    """Whether the first line is a header, and the index of the label column."""
    require(any(first), "has no rows")
    by_place = request.label is None or PLACE.fullmatch(request.label)
    at = request.column(first, named=False) if by_place else 0
    values = all(is_number(cell) or cell.lower() in MISSING for place, cell in enumerate(first) if place != at)
    named = not values or (not by_place and request.label in first)
    return named, request.column(first, named)


def is_number(cell: str) -> bool:
    """Whether this is a number of Python, NaN and infinity included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def labels_of(texts: Sequence[str], distinct: Iterable[str]) -> np.ndarray:
    """Integers or else numbers if all labels are, else text (objects: no padding to the longest)."""
    distinct = list(distinct)
    if are_integers(distinct):
        return np.array([int(text) for text in texts], dtype=np.int64)
    if are_numbers(distinct):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=object)


def are_integers(texts: Iterable[str]) -> bool:
    """Whether all of these are integers that fit into 64 bits."""
    return all(map(INTEGER.fullmatch, texts))


def are_numbers(texts: Iterable[str]) -> bool:
    """Whether all of these are finite numbers."""
    return all(is_number(text) and math.isfinite(float(text)) for text in texts)
