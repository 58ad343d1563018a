"""LIBSVM's model text: writing the decision function of an SVC, and reading one.

    svm_type c_svc          kernel_type, degree, gamma, coef0        nr_class, total_sv
    rho      one number per pair of classes; a decision value is the sum over support vectors minus rho
    label    the classes in the order of the pairs; a positive value votes for the first of a pair
    nr_sv    number of support vectors of each class
    SV       one line per support vector: coefficients against the other classes in order, then index:value ...

The layout of ``models.Pairwise`` is the same for more than two classes; of two classes, its second one is positive.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from .._core import SvmlightReader
from ..container import opened, require
from ..estimators import SVC
from ..kernels import Kernel, make_kernel
from ..models import Pairwise, Vectors, sides
from ..writing import PathLike, whole_file
from .checks import check_svc
from .fields import check_savable

KERNEL_NAMES = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
PREDICTED_ALIKE = ("c_svc", "nu_svc")
IGNORED = ("probA", "probB", "prob_density_marks")  # of probabilities, which an SVC does not have
EXPECTED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv")
PARAMETERS = ("degree", "gamma", "coef0")
SEVERAL = ("rho", "label", "nr_sv", *IGNORED)
LARGEST_LABEL = 2**31 - 1
WHOLE = re.compile(rb"[+-]?[0-9]{1,10}")
Lines = Iterator[tuple[int, bytes]]  # numbered from 1, without white space at the ends
READER_LINE = re.compile(r"^line \d+: ")  # the line number of the reader of entries


def export_libsvm(model: SVC, path: PathLike) -> None:
    """Write the decision function of an SVC as a LIBSVM model.

    LIBSVM's programs then compute the decision values of this model, up to rounding, and the same labels except for
    ties: among classes with equally many votes LIBSVM takes the first, SVC the one with the larger sum of decision
    values. Parameters that prediction does not need are not written.

    Parameters
    ----------
    model : SVC
        A fitted model with kernel linear, poly, rbf or sigmoid, integer labels, and ``multiclass="ovo"``.
    path : str or path
        Output file; it is written completely or not at all.

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel, such labels, or such a model.
    """
    check_savable(model)
    require(model.kernel in KERNEL_NAMES, f"LIBSVM has no kernel {model.kernel!r}, only {list(KERNEL_NAMES)}")
    if not isinstance(model.model_, Pairwise):
        raise ValueError(
            f"LIBSVM has pairs of classes only, not multiclass={model.multiclass!r}: use another format, or fit with "
            "multiclass='ovo'"
        )
    labels = _integers(model.classes_)
    with whole_file(path) as file:
        for line in _lines(model.model_, labels):
            file.write(line.encode("ascii") + b"\n")


def _integers(classes: np.ndarray) -> list[int]:
    numbers = classes.dtype.kind in "biuf" and bool((np.abs(classes.astype(float)) <= LARGEST_LABEL).all())
    if not numbers or (classes != classes.astype(np.int64)).any():
        raise ValueError(f"LIBSVM's labels are integers of 32 bits, not {classes.tolist()[:3]}: fit with such labels")
    return [int(label) for label in classes]


def _lines(model: Pairwise, labels: list[int]) -> Iterator[str]:
    kernel = model.vectors.kernel
    order = list(sides((0, 1), 2)) if model.n_classes == 2 else list(model.present)  # the positive class comes first
    yield "svm_type c_svc"
    yield f"kernel_type {KERNEL_NAMES[kernel.name]}"
    for name in PARAMETERS:
        if name in kernel.parameter_names():
            yield f"{name} {getattr(kernel, name)!r}"
    yield f"nr_class {len(order)}"
    yield f"total_sv {sum(int(model.counts[c]) for c in order)}"
    yield _joined("rho", [-model.between(c, d)[1] for c, d in combinations(order, 2)])
    yield _joined("label", [labels[c] for c in order])
    yield _joined("nr_sv", [int(model.counts[c]) for c in order])
    yield "SV"
    matrix = sp.csr_matrix(model.vectors.rows, copy=True)
    matrix.sum_duplicates()  # LIBSVM requires increasing indices
    for place, c in enumerate(order):  # LIBSVM's functions are positive for the class that comes first
        signs = [1.0 if place < k else -1.0 for k in range(len(order))]
        coefs = [sign * model.between(c, d)[0] for sign, d in zip(signs, order, strict=True) if d != c]
        yield from _vector_lines(matrix[model.own(c)], np.array(coefs))


def _vector_lines(vectors: sp.csr_matrix, coefs: np.ndarray) -> Iterator[str]:
    for row, numbers in enumerate(coefs.T.tolist()):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        entries = zip(vectors.indices[part].tolist(), vectors.data[part].tolist(), strict=True)
        yield " ".join([*map(repr, numbers), *(f"{index + 1}:{value!r}" for index, value in entries)])


def _joined(name: str, values: Sequence[float]) -> str:
    return " ".join([name, *map(repr, values)])


def import_libsvm(path: PathLike) -> SVC:
    """Read a LIBSVM model for classification as an SVC.

    It computes LIBSVM's decision values, and the same labels except for ties of votes (see ``export_libsvm``). The file
    does not describe the training: ``stop_reason_`` is ``"imported"``, the gap is infinite, ``support_`` is 0, 1, ...,
    C is the default, and ``n_features_in_`` is the largest index that occurs.

    Parameters
    ----------
    path : str or path
        A model of type c_svc or nu_svc with kernel linear, polynomial, rbf or sigmoid. Probabilities are ignored.

    Returns
    -------
    SVC

    Raises
    ------
    ValueError
        If the text is malformed; the message has the file and the line.
    """
    with opened(path) as file:
        return _read(enumerate(map(bytes.strip, file), start=1))


def _read(lines: Lines) -> SVC:
    header = _read_header(lines)
    labels, counts, constants = _header_numbers(header)
    coefs, matrix = _read_vectors(lines, len(labels), sum(counts))
    kernel = _read_kernel(header)
    pairwise = _pairwise(kernel, np.argsort(labels).tolist(), counts, coefs, constants, matrix)
    model = SVC(kernel=kernel.name, **asdict(kernel)).set_fitted(
        model_=pairwise,
        classes_=np.array(sorted(labels), dtype=np.int64),
        n_features_in_=matrix.shape[1],
        shape_fit_=matrix.shape,
        class_weight_=np.ones(len(labels)),  # from here on, what the file does not say
        n_iter_=np.zeros(len(pairwise.pairs), dtype=np.int64),
        n_evaluations_=0,
        dual_gap_=math.inf,
        relative_gap_=math.inf,
        simplex_gap_=math.inf,
        primal_value_=np.full(len(pairwise.pairs), math.inf),
        dual_value_=np.zeros(len(pairwise.pairs)),
        stop_reason_="imported",
        fit_status_=1,
    )
    check_svc(model)
    return model


def _pairwise(
    kernel: Kernel, order: list[int], counts: list[int], coefs: np.ndarray, constants: np.ndarray, matrix: sp.csr_matrix
) -> Pairwise:
    """The functions with the classes of the file in another order; of ``coefs`` each row belongs to one vector."""
    ends = np.cumsum(counts).tolist()
    own = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    between = []
    for c in order:
        full = np.insert(coefs[own[c]].T, c, 0.0, axis=0)  # with a row of zeros against itself
        full[:c] *= -1.0
        between.append(full[order])
    skew = np.zeros((len(order), len(order)))
    skew[np.triu_indices(len(order), 1)] = constants
    skew -= skew.T
    rows = sp.vstack([matrix[own[c]] for c in order], format="csr")
    vectors = Vectors(kernel, np.arange(len(coefs), dtype=np.int32), rows)
    return Pairwise.from_between(vectors, [counts[c] for c in order], between, skew[np.ix_(order, order)])


def _read_header(lines: Lines) -> dict[str, list[bytes]]:
    header: dict[str, list[bytes]] = {}
    for number, line in lines:
        if line == b"SV":
            return header
        name, *values = line.split() or [b""]
        key, at = name.decode("ascii", "replace"), f"line {number}"
        require(key in (*EXPECTED, *PARAMETERS, *IGNORED), f"{at}: {key[:40]!r} is not an entry of a LIBSVM model")
        require(key not in header, f"{at}: {key} occurs twice")
        require(key in SEVERAL or len(values) == 1, f"{at}: {key} needs one value, not {len(values)}")
        header[key] = values
    raise ValueError("ends before the line SV: not a LIBSVM model, or truncated")


def _header_numbers(header: dict[str, list[bytes]]) -> tuple[list[int], list[int], np.ndarray]:
    """Labels, numbers of support vectors of each class, and constants of the pairs."""
    for key in EXPECTED:
        require(key in header, f"its header has no {key}")
    kind = header["svm_type"][0].decode("ascii", "replace")
    require(kind in PREDICTED_ALIKE, f"svm_type {kind!r} is not a classifier: use one of {list(PREDICTED_ALIKE)}")
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
    values = {key: _number(key, header[key][0]) for key in PARAMETERS if key in header}
    if "degree" in values:
        require(values["degree"] == int(values["degree"]), f"degree {values['degree']} is not an integer")
        values["degree"] = int(values["degree"])
    kernel = make_kernel(known[name], **values)
    for key in kernel.parameter_names():
        require(key in values, f"its header has no {key}")
    return kernel


def _read_vectors(lines: Lines, n_classes: int, total: int) -> tuple[np.ndarray, sp.csr_matrix]:
    """Coefficients, (total, n_classes - 1), and support vectors; memory grows with the lines, not with ``total``."""
    reader, coefs, found = SvmlightReader(0), array("d"), 0
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
