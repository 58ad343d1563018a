"""LIBSVM's model text: the decision function of an SVC in it, and back.

    svm_type c_svc          kernel_type, degree, gamma, coef0        nr_class, total_sv
    rho      one number a pair of classes; a decision value is the sum over support vectors minus rho
    label    the classes in the order of the pairs; a positive value votes for the first of a pair
    nr_sv    support vectors of each class
    SV       a line each: its coefficients against the other classes in their order, then index:value ...

SVC's own layout is the same for more than two classes; of two, it takes the second as positive. Both are read as, and
written from, ``Decisions``, where every pair has both orientations.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from .._core import SvmlightReader
from ..container import require
from ..estimators import SVC
from ..kernels import Kernel, make_kernel
from ..models import Pairwise, Vectors
from ..writing import PathLike, whole_file
from .checks import check_model
from .parts import check_savable

KERNEL_NAMES = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
PREDICTED_ALIKE = ("c_svc", "nu_svc")
READ_OVER = ("probA", "probB", "prob_density_marks")  # probabilities: an SVC has none
EXPECTED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv")
PARAMETERS = ("degree", "gamma", "coef0")
SEVERAL = ("rho", "label", "nr_sv", *READ_OVER)
LARGEST_LABEL = 2**31 - 1
WHOLE = re.compile(rb"[+-]?[0-9]{1,10}")
THEIR_LINE = re.compile(r"^line \d+: ")  # what the reader of entries calls the line


@dataclass(frozen=True)
class Decisions:
    """Between any two classes c, d, by position, the function that is positive for c.

    ``coefs[c][d]`` are the coefficients of the support vectors of c in it (those of d are ``-coefs[d][c]``), and
    ``bias[c, d]`` is its constant; both are 0 for c = d.
    """

    labels: list[int]
    vectors: list[sp.csr_matrix]
    coefs: list[np.ndarray]
    bias: np.ndarray

    def chosen(self, order: Sequence[int]) -> Decisions:
        """Some of the classes, in that order."""
        return Decisions(
            [self.labels[c] for c in order],
            [self.vectors[c] for c in order],
            [self.coefs[c][list(order)] for c in order],
            self.bias[np.ix_(order, order)],
        )

    def layout(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Coefficients of each class against the others, (n_classes - 1, own vectors), and biases of the pairs.

        Oriented as LIBSVM's: positive for the first class of a pair.
        """
        n_classes = len(self.labels)
        tables = [np.delete(_turned(coefs, c), c, axis=0) for c, coefs in enumerate(self.coefs)]
        return tables, self.bias[np.triu_indices(n_classes, 1)]


def from_layout(labels: list[int], vectors: list[sp.csr_matrix], tables: list[Any], bias: Any) -> Decisions:
    """The inverse of ``layout``."""
    n_classes = len(labels)
    coefs = [_turned(np.insert(table, c, 0.0, axis=0), c) for c, table in enumerate(tables)]
    constants = np.zeros((n_classes, n_classes))
    constants[np.triu_indices(n_classes, 1)] = bias
    return Decisions(labels, vectors, coefs, constants - constants.T)


def _turned(coefs: np.ndarray, c: int) -> np.ndarray:
    """Coefficients of class c against all classes, with the other sign against those before it."""
    return np.concatenate([-coefs[:c], coefs[c:]])


# ---- export ------------------------------------------------------------------------------------------------------


def export_libsvm(model: SVC, path: PathLike) -> None:
    """Write the decision function of an SVC as a LIBSVM model.

    LIBSVM's programs then give the decision values of this model (up to rounding; float32 data are float64 there), and
    its labels but for ties: among classes with equally many votes LIBSVM takes the first, SVC the one with the larger
    sum of decision values. Parameters that prediction does not need are lost.

    Parameters
    ----------
    model : SVC
        Fitted, with kernel linear, poly, rbf or sigmoid and integer labels.
    path : str or path
        Where to; the file appears as a whole or not at all.

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel or labels.
    """
    check_savable(model)
    require(model.kernel in KERNEL_NAMES, f"LIBSVM has no kernel {model.kernel!r}, only {list(KERNEL_NAMES)}")
    decisions = _of_model(model)
    with whole_file(path) as file:
        for line in _lines(model.model_.vectors.kernel, decisions):
            file.write(line.encode("ascii") + b"\n")


def _of_model(model: SVC) -> Decisions:
    """Of two classes the positive one, the second, comes first, so that decision values keep their sign."""
    labels, n_classes = _integers(model.classes_), len(model.classes_)
    matrix = sp.csr_matrix(model.support_vectors_, copy=True)
    matrix.sum_duplicates()  # LIBSVM wants increasing indices
    cuts = np.cumsum(model.n_support_)[:-1]
    tables = np.split(model.dual_coef_, cuts, axis=1)
    bounds = [0, *cuts.tolist(), matrix.shape[0]]
    vectors = [matrix[begin:end] for begin, end in pairwise(bounds)]
    if n_classes == 2:
        return from_layout(labels[::-1], vectors[::-1], tables[::-1], model.intercept_)
    return from_layout(labels, vectors, tables, model.intercept_).chosen(model.model_.present)


def _integers(classes: np.ndarray) -> list[int]:
    numbers = classes.dtype.kind in "biuf" and bool((np.abs(classes.astype(float)) <= LARGEST_LABEL).all())
    if not numbers or (classes != classes.astype(np.int64)).any():
        raise ValueError(f"LIBSVM's labels are integers of 32 bits, not {classes.tolist()[:3]}: fit with such labels")
    return [int(label) for label in classes]


def _lines(kernel: Any, decisions: Decisions) -> Iterator[str]:
    tables, bias = decisions.layout()
    yield "svm_type c_svc"
    yield f"kernel_type {KERNEL_NAMES[kernel.name]}"
    for name in PARAMETERS:
        if name in kernel.parameter_names():
            yield f"{name} {getattr(kernel, name)!r}"
    yield f"nr_class {len(decisions.labels)}"
    yield f"total_sv {sum(vectors.shape[0] for vectors in decisions.vectors)}"
    yield _joined("rho", (-bias).tolist())
    yield _joined("label", decisions.labels)
    yield _joined("nr_sv", [vectors.shape[0] for vectors in decisions.vectors])
    yield "SV"
    for vectors, table in zip(decisions.vectors, tables, strict=True):
        yield from _vector_lines(vectors, table)


def _vector_lines(vectors: sp.csr_matrix, table: np.ndarray) -> Iterator[str]:
    for row, coefs in enumerate(table.T.tolist()):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        entries = zip(vectors.indices[part].tolist(), vectors.data[part].tolist(), strict=True)
        yield " ".join([*map(repr, coefs), *(f"{index + 1}:{value!r}" for index, value in entries)])


def _joined(name: str, values: list[Any]) -> str:
    return " ".join([name, *map(repr, values)])


# ---- import ------------------------------------------------------------------------------------------------------


def import_libsvm(path: PathLike) -> SVC:
    """Read a LIBSVM model for classification as an SVC.

    It gives LIBSVM's decision values, and its labels but for ties of votes (see ``export_libsvm``). The file says
    nothing about the training: ``stop_reason_`` is ``"imported"``, the gap is infinite, ``support_`` just counts, C is
    the default, and ``n_features_in_`` is the largest index that occurs.

    Parameters
    ----------
    path : str or path
        A model of type c_svc or nu_svc with kernel linear, polynomial, rbf or sigmoid. Probabilities are read over.

    Returns
    -------
    SVC

    Raises
    ------
    ValueError
        For malformed text, with the file and the number of the line.
    """
    with Path(path).open("rb") as file:
        try:
            return _read(Lines(file))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


class Lines:
    """The lines of a file, counted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self.number += 1
            yield line.strip()

    def require(self, condition: Any, complaint: str) -> None:
        """``ValueError`` with the complaint and the line just read, unless the condition holds."""
        require(condition, f"line {self.number}: {complaint}")


def _read(lines: Lines) -> SVC:
    header = _read_header(lines)
    labels, counts, bias = _header_numbers(header)
    coefs, matrix = _read_vectors(lines, len(labels), sum(counts))
    cuts = np.cumsum(counts)[:-1]
    bounds = [0, *cuts.tolist(), len(coefs)]
    vectors = [matrix[begin:end] for begin, end in pairwise(bounds)]
    decisions = from_layout(labels, vectors, np.split(coefs.T, cuts, axis=1), bias)
    kernel = _read_kernel(header)
    model = SVC(kernel=kernel.name, **asdict(kernel))
    _set_attributes(model, kernel, decisions.chosen(np.argsort(labels).tolist()), matrix.shape[1])
    check_model(model)
    return model


def _read_header(lines: Lines) -> dict[str, list[bytes]]:
    header: dict[str, list[bytes]] = {}
    for line in lines:
        if line == b"SV":
            return header
        name, *values = line.split() or [b""]
        key = name.decode("ascii", "replace")
        lines.require(key in (*EXPECTED, *PARAMETERS, *READ_OVER), f"{key[:40]!r} is not an entry of a LIBSVM model")
        lines.require(key not in header, f"{key} occurs twice")
        lines.require(key in SEVERAL or len(values) == 1, f"{key} needs one value, not {len(values)}")
        header[key] = values
    raise ValueError("ends before the line SV: not a LIBSVM model, or truncated")


def _header_numbers(header: dict[str, list[bytes]]) -> tuple[list[int], list[int], np.ndarray]:
    """Labels, support vectors of each class, and biases of the pairs."""
    for key in EXPECTED:
        require(key in header, f"its header has no {key}")
    kind = header["svm_type"][0].decode("ascii", "replace")
    require(kind in PREDICTED_ALIKE, f"svm_type {kind!r} is no classifier: use one of {list(PREDICTED_ALIKE)}")
    [n_classes], [total] = _whole(header, "nr_class"), _whole(header, "total_sv")
    labels, counts = _whole(header, "label"), _whole(header, "nr_sv")
    rho = np.array([_number("rho", text) for text in header["rho"]])
    require(n_classes >= 2, f"nr_class {n_classes}: at least two classes are needed")
    require(len(labels) == len(set(labels)) == n_classes, f"label does not list {n_classes} different labels")
    require(len(counts) == n_classes and min(counts) >= 0, f"nr_sv does not list {n_classes} counts")
    require(sum(counts) == total, f"nr_sv adds up to {sum(counts)}, total_sv is {total}")
    require(len(rho) == n_classes * (n_classes - 1) // 2, f"rho does not list a number for each pair of {n_classes}")
    return labels, counts, -rho


def _read_kernel(header: dict[str, list[bytes]]) -> Kernel:
    name = header["kernel_type"][0].decode("ascii", "replace")
    known = {theirs: ours for ours, theirs in KERNEL_NAMES.items()}
    require(name in known, f"kernel_type {name!r} is not one of {list(known)}")
    values: dict[str, Any] = {key: _number(key, header[key][0]) for key in PARAMETERS if key in header}
    if "degree" in values:
        require(values["degree"] == int(values["degree"]), f"degree {values['degree']} is not an integer")
        values["degree"] = int(values["degree"])
    kernel = make_kernel(known[name], **values)
    for key in kernel.parameter_names():
        require(key in values, f"its header has no {key}")
    return kernel


def _read_vectors(lines: Lines, n_classes: int, total: int) -> tuple[np.ndarray, sp.csr_matrix]:
    """Coefficients, (total, n_classes - 1), and support vectors; memory grows with what is read, not with ``total``."""
    reader, coefs, found = SvmlightReader(0), array("d"), 0
    for line in lines:
        if not line:
            continue
        found += 1
        lines.require(found <= total, f"more than the {total} support vectors of total_sv")
        *numbers, entries = [*line.split(None, n_classes - 1), b""][:n_classes]
        lines.require(len(numbers) == n_classes - 1, f"{n_classes - 1} coefficients are needed")
        try:
            coefs.extend(_number("coefficient", text) for text in numbers)
            reader.feed(b"0 %b\n" % entries)
        except ValueError as error:
            raise ValueError(f"line {lines.number}: {THEIR_LINE.sub('', str(error))}") from None
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


def _set_attributes(model: SVC, kernel: Kernel, decisions: Decisions, n_features: int) -> None:
    """The fitted attributes of an SVC with these decision functions."""
    n_classes = len(decisions.labels)
    tables, bias = (decisions.chosen([1, 0]) if n_classes == 2 else decisions).layout()
    counts = [vectors.shape[0] for vectors in decisions.vectors]
    total, n_pairs = sum(counts), len(bias)
    model.classes_ = np.array(decisions.labels, dtype=np.int64)
    model.class_weight_ = np.ones(n_classes)
    model.model_ = Pairwise(
        Vectors(kernel, np.arange(total, dtype=np.int32), sp.vstack(decisions.vectors, format="csr")),
        np.array(counts, dtype=np.int32),
        np.hstack(tables[::-1] if n_classes == 2 else tables),
        bias,
        tuple(range(n_classes)),
    )
    model.n_features_in_, model.shape_fit_ = n_features, (total, n_features)
    model.n_iter_, model.n_evaluations_ = np.zeros(n_pairs, dtype=np.int64), 0
    model.dual_gap_ = model.relative_gap_ = math.inf
    model.stop_reason_, model.fit_status_ = "imported", 1
