"""LIBSVM's model text.

svm_type, kernel_type, degree, gamma, coef0        nr_class, total_sv
rho      a number per function; a value is the sum over support vectors minus rho
label    classes only: in the order of their pairs; a positive value votes for the first of a pair
nr_sv    classes only: number of support vectors of each class
SV       one line per support vector: coefficients (against the other classes in order), then index:value ...
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._core import SvmlightReader
from ..container import require
from ..kernels import Kernel, make_kernel

KERNEL_NAMES = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
CLASSIFIERS = ("c_svc", "nu_svc")
FUNCTIONS = ("epsilon_svr", "nu_svr", "one_class")  # types of one function
IGNORED = ("probA", "probB", "prob_density_marks")  # of probabilities, which the estimators do not have
EXPECTED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
OF_CLASSES = ("label", "nr_sv")
PARAMETERS = ("degree", "gamma", "coef0")
SEVERAL = ("rho", *OF_CLASSES, *IGNORED)
WHOLE = re.compile(rb"[+-]?[0-9]{1,10}")
Lines = Iterator[tuple[int, bytes]]  # numbered from 1, without white space at the ends
READER_LINE = re.compile(r"^line \d+: ")  # the line number of the reader of entries


@dataclass(frozen=True, eq=False)
class Text:
    """The content of a model text; ``coef`` has a row for each support vector. One function has no labels."""

    svm_type: str
    kernel: Kernel
    rho: Sequence[float]
    coef: np.ndarray
    rows: sp.csr_matrix
    labels: Sequence[int] = ()
    counts: Sequence[int] = ()

    def lines(self) -> Iterator[str]:
        """The lines of the file."""
        yield f"svm_type {self.svm_type}"
        yield f"kernel_type {KERNEL_NAMES[self.kernel.name]}"
        for name in PARAMETERS:
            if name in self.kernel.parameter_names():
                yield f"{name} {getattr(self.kernel, name)!r}"
        yield f"nr_class {len(self.labels) or 2}"
        yield f"total_sv {len(self.coef)}"
        for name, values in (("rho", self.rho), ("label", self.labels), ("nr_sv", self.counts)):
            if len(values):
                yield " ".join([name, *map(repr, values)])
        yield "SV"
        yield from self._vector_lines()

    def _vector_lines(self) -> Iterator[str]:
        last = self._last_feature()
        for row, numbers in enumerate(self.coef.tolist()):
            part = slice(self.rows.indptr[row], self.rows.indptr[row + 1])
            entries = zip(self.rows.indices[part].tolist(), self.rows.data[part].tolist(), strict=True)
            yield " ".join([*map(repr, numbers), *(f"{index + 1}:{value!r}" for index, value in entries), *last])
            last = []

    def _last_feature(self) -> list[str]:
        """A zero of the last feature if no vector has it: the header has no place for their number."""
        width = self.rows.shape[1]
        return [] if width - 1 in self.rows.indices else [f"{width}:0.0"]


def read_text(lines: Lines, n_features: int = 0) -> Text:
    """The content of a model text, or ``ValueError`` with the line; 0: as many features as the largest index."""
    header = _read_header(lines)
    for key in EXPECTED:
        require(key in header, f"its header has no {key}")
    kind = header["svm_type"][0].decode("ascii", "replace")
    known = (*CLASSIFIERS, *FUNCTIONS)
    require(kind in known, f"svm_type {kind[:40]!r} is unknown: use one of {list(known)}")
    [n_classes], [total] = _whole(header, "nr_class"), _whole(header, "total_sv")
    rho = [_number("rho", text) for text in header["rho"]]
    labels, counts = _classes(header, n_classes, total, len(rho)) if kind in CLASSIFIERS else ([], [])
    one = n_classes == 2 and len(rho) == 1
    require(labels or one, f"a {kind} has one function: nr_class 2 and one number of rho, not {n_classes}, {len(rho)}")
    coef, rows = _read_vectors(lines, n_classes, total, n_features)
    return Text(kind, _read_kernel(header), rho, coef, rows, labels, counts)


def _read_header(lines: Lines) -> dict[str, list[bytes]]:
    header: dict[str, list[bytes]] = {}
    for number, line in lines:
        if line == b"SV":
            return header
        name, *values = line.split() or [b""]
        key, at = name.decode("ascii", "replace"), f"line {number}"
        known = key in (*EXPECTED, *OF_CLASSES, *PARAMETERS, *IGNORED)
        require(known, f"{at}: {key[:40]!r} is not an entry of a LIBSVM model")
        require(key not in header, f"{at}: {key} occurs twice")
        require(key in SEVERAL or len(values) == 1, f"{at}: {key} needs one value, not {len(values)}")
        header[key] = values
    raise ValueError("ends before the line SV: not a LIBSVM model, or truncated")


def _classes(header: dict[str, list[bytes]], n_classes: int, total: int, n_rho: int) -> tuple[list[int], list[int]]:
    """Labels, and numbers of support vectors of each class."""
    for key in OF_CLASSES:
        require(key in header, f"its header has no {key}")
    labels, counts = _whole(header, "label"), _whole(header, "nr_sv")
    require(n_classes >= 2, f"nr_class {n_classes}: at least two classes are needed")
    require(len(labels) == len(set(labels)) == n_classes, f"label does not list {n_classes} different labels")
    require(len(counts) == n_classes and min(counts) >= 0, f"nr_sv does not list {n_classes} counts")
    require(sum(counts) == total, f"nr_sv adds up to {sum(counts)}, total_sv is {total}")
    require(n_rho == n_classes * (n_classes - 1) // 2, f"rho does not list a number for each pair of {n_classes}")
    return labels, counts


def _read_kernel(header: dict[str, list[bytes]]) -> Kernel:
    name = header["kernel_type"][0].decode("ascii", "replace")
    known = {theirs: ours for ours, theirs in KERNEL_NAMES.items()}
    require(name in known, f"kernel_type {name!r} is not one of {list(known)}")
    values = {key: _number(key, header[key][0]) for key in PARAMETERS if key in header}
    if "degree" in values:
        require(values["degree"] == int(values["degree"]), f"degree {values['degree']} is not an integer")
        values["degree"] = int(values["degree"])
    kernel = make_kernel(known[name], **values)
    for key in kernel.parameter_names():
        require(key in values, f"its header has no {key}")
    return kernel


def _read_vectors(lines: Lines, n_classes: int, total: int, n_features: int) -> tuple[np.ndarray, sp.csr_matrix]:
    """Coefficients, (total, n_classes - 1), and support vectors; memory grows with the lines, not with ``total``."""
    reader, coefs, found = SvmlightReader(n_features), array("d"), 0
    for number, line in lines:
        if not line:
            continue
        found += 1
        *numbers, entries = [*line.split(None, n_classes - 1), b""][:n_classes]
        try:
            require(found <= total, f"more than the {total} support vectors of total_sv")
            require(len(numbers) == n_classes - 1, f"{n_classes - 1} coefficients are needed")
            coefs.extend(_number("coefficient", text) for text in numbers)
            reader.feed(b"0 %b\n" % entries)
        except ValueError as error:
            raise ValueError(f"line {number}: {READER_LINE.sub('', str(error))}") from None
    require(found == total, f"is truncated: it has {found} of {total} support vectors")
    _, data, indices, indptr, columns = reader.finish()
    matrix = sp.csr_matrix((data, indices, indptr), shape=(total, max(columns, 1)))
    return np.array(coefs).reshape(total, n_classes - 1), matrix


def _whole(header: dict[str, list[bytes]], key: str) -> list[int]:
    values = header[key]
    require(all(WHOLE.fullmatch(text) for text in values), f"{key} has an entry that is not an integer of 32 bits")
    return [int(text) for text in values]


def _number(key: str, text: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    require(math.isfinite(value), f"{key} {text[:40].decode('ascii', 'replace')!r} is not a finite number")
    return value
