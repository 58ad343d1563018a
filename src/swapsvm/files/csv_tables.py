"""Tables as text: cells separated by commas, tabs or semicolons, with or without a header line."""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Iterable
from itertools import chain

import numpy as np

from ..container import require
from ..datasets.labels import PLACE
from ..datasets.svmlight import Source, content_errors_named, opened, unpacked
from .table import Request, Table

DELIMITERS = ",\t;"
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def read_csv(source: Source, request: Request) -> Table:
    """Read a table of numbers in which one column is labels of any kind.

    The first line is a header if any of its cells, except the label's, is not a number. The delimiter is the first of
    comma, tab and semicolon that occurs in it.
    """
    with content_errors_named(source, csv.Error), opened(source) as file, unpacked(file) as content:
        text = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
        try:
            return _read(text, request)
        finally:
            text.detach()


def _read(text: io.TextIOWrapper, request: Request) -> Table:
    first = text.readline()
    delimiter = next((sign for sign in DELIMITERS if sign in first), ",")
    reader = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
    names = [name.strip() for name in next(reader, [])]
    named, at = _heading(names, request)
    width = len(names)
    rows: Iterable[list[str]] = reader if named else chain([names], reader)
    values, labels = array("d"), []
    seen: dict[str, str] = {}
    for row in filter(None, rows):
        try:
            require(len(row) == width, f"{len(row)} cells instead of {width}")
            if at is not None:
                cell = row.pop(at).strip()
                require(cell, "the label is empty")
                labels.append(seen.setdefault(cell, cell))  # equal labels share one object
            values.extend(_numbers(row))
        except ValueError as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None
    n_features = width - (at is not None)
    require(n_features, "has no features: its only column is the labels")
    return Table(np.array(values).reshape(-1, n_features), None if at is None else _labels_of(labels, seen))


def _heading(first: list[str], request: Request) -> tuple[bool, int | None]:
    """Whether the first line is a header, and the index of the label column."""
    require(any(first), "has no rows")
    by_place = request.label is None or PLACE.fullmatch(request.label)
    at = request.column(first, named=False) if by_place else 0
    numbers = all(_is_number(cell) for place, cell in enumerate(first) if place != at)
    named = not numbers or (not by_place and request.label in first)
    return named, request.column(first, named)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(cells: list[str]) -> list[float]:
    try:
        numbers = list(map(float, cells))
    except ValueError:
        bad = next(cell for cell in cells if not _is_number(cell))
        raise ValueError(f"{bad[:40]!r} is not a number") from None
    if not math.isfinite(sum(numbers)):  # a sum of finite numbers can overflow
        bad = next((cell for cell, number in zip(cells, numbers, strict=True) if not math.isfinite(number)), "")
        require(not bad, f"{bad[:40]!r} is not a finite number")
    return numbers


def _labels_of(texts: list[str], distinct: Iterable[str]) -> np.ndarray:
    """Integers or else numbers if all labels are, else text (objects: no padding to the longest)."""
    if all(map(INTEGER.fullmatch, distinct)):
        return np.array([int(text) for text in texts], dtype=np.int64)
    if all(_is_number(text) and math.isfinite(float(text)) for text in distinct):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=object)
