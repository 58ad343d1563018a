"""Models as LIBSVM's text: writing the functions of an estimator, and reading them.

    model ── Text ── lines of a file        SVC: c_svc    SVR: epsilon_svr    OneClassSVM, SVDD: one_class

The layout of ``models.Pairwise`` is LIBSVM's for more than two classes; of two classes, its second one is positive.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..container import opened, require
from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..kernels import Kernel
from ..models import Expansion, Outputs, Pairwise, Vectors, scheme_of, sides
from ..selection import SVCCV, SVRCV
from ..writing import PathLike, whole_file
from .libsvm_text import KERNEL_NAMES, Text, read_text
from .registry import check_savable, description_of

LARGEST_LABEL = 2**31 - 1
RADIAL = ("rbf",)  # kernels of LIBSVM with k(x, x) = 1
OTHER = "use another extension: .onnx, or swapsvm's own format"


@dataclass(frozen=True)
class Export:
    """How the models of an estimator become a text, and the kernels with which they do."""

    text: Callable[[Any], Text]
    kernels: tuple[str, ...] = tuple(KERNEL_NAMES)


def export_libsvm(model: BaseEstimator, path: PathLike) -> None:
    """Write the functions of a model as a LIBSVM model.

    LIBSVM's programs then compute the same decision values, or predictions of a regression, up to rounding. They also
    compute the same labels, except for ties: among classes with equally many votes LIBSVM takes the first, SVC the one
    with the larger sum of decision values; and LIBSVM takes rows exactly on the boundary of a detector as outliers.
    Parameters that prediction does not need are not written. Of a search, the chosen model is written.

    Parameters
    ----------
    model : SVC, SVR, OneClassSVM, SVDD, SVCCV or SVRCV
        A fitted model with kernel linear, poly, rbf or sigmoid; an SVC with integer labels and ``multiclass="ovo"``.
        A SVDD needs the kernel rbf: its decision function is then that of a ``one_class`` model.
    path : str or path
        Output file; it is written completely or not at all.

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel, such labels, or such a model.
    """
    check_savable(model)
    check_exportable(model)
    text = EXPORTS[description_of(model).type].text(model)
    with whole_file(path) as file:
        for line in text.lines():
            file.write(line.encode("ascii") + b"\n")


def check_exportable(model: BaseEstimator) -> None:
    """Raise ``ValueError`` unless LIBSVM has such a model with this kernel; the model need not be fitted."""
    cls = description_of(model).type
    kind = cls.__name__
    require(cls in EXPORTS, f"LIBSVM has no {kind}, only {[known.__name__ for known in EXPORTS]}: {OTHER}")
    name = model.kernel.name if isinstance(model.kernel, Kernel) else model.kernel
    require(name in KERNEL_NAMES, f"LIBSVM has no kernel {name!r}, only {list(KERNEL_NAMES)}: {OTHER}")
    kernels = EXPORTS[cls].kernels
    require(name in kernels, f"LIBSVM has no {kind} with kernel={name!r}, only {list(kernels)}: {OTHER}")


def _classes(model: SVC) -> Text:
    check_pairs(model, model.classes_)
    labels, pairwise = _integers(model.classes_), model.model_
    assert isinstance(pairwise, Pairwise)
    order = list(sides((0, 1), 2)) if pairwise.n_classes == 2 else list(pairwise.present)  # the positive class first
    matrix = _canonical(pairwise.vectors)
    coefs = []
    for place, c in enumerate(order):  # LIBSVM's functions are positive for the class that comes first
        signs = [1.0 if place < k else -1.0 for k in range(len(order))]
        own = [sign * pairwise.between(c, d)[0] for sign, d in zip(signs, order, strict=True) if d != c]
        coefs.append(np.transpose(own))
    return Text(
        "c_svc",
        pairwise.vectors.kernel,
        [-pairwise.between(c, d)[1] for c, d in combinations(order, 2)],
        np.concatenate(coefs),
        sp.vstack([matrix[pairwise.own(c)] for c in order], format="csr"),
        [labels[c] for c in order],
        [int(pairwise.counts[c]) for c in order],
    )


def check_pairs(model: SVC | SVCCV, classes: np.ndarray) -> None:
    """``ValueError`` unless LIBSVM has models of these classes; the model need not be fitted."""
    if scheme_of(model.multiclass, len(classes)).model_type is not Pairwise:
        raise ValueError(
            f"LIBSVM has pairs of classes only, not multiclass={model.multiclass!r}: use another format, or fit with "
            "multiclass='ovo'"
        )
    _integers(classes)


def _integers(classes: np.ndarray) -> list[int]:
    numbers = classes.dtype.kind in "biuf" and bool((np.abs(classes.astype(float)) <= LARGEST_LABEL).all())
    if not numbers or (classes != classes.astype(np.int64)).any():
        found = f"not {classes.tolist()[:3]}"
        raise ValueError(
            f"LIBSVM's labels are integers of 32 bits, {found}: use another format, or fit with such labels"
        )
    return [int(label) for label in classes]


def _canonical(vectors: Vectors) -> sp.csr_matrix:
    matrix = sp.csr_matrix(vectors.rows, copy=True)
    matrix.sum_duplicates()  # LIBSVM requires increasing indices
    return matrix


def _one_function(svm_type: str, model: Expansion, scale: float, rho: float) -> Text:
    """scale * sum_i coef_i k(x_i, x) - rho."""
    return Text(svm_type, model.vectors.kernel, [rho], scale * model.coef[:, None], _canonical(model.vectors))


def _regression(model: SVR) -> Text:
    found = model.model_
    if isinstance(found, Outputs):
        outputs = len(found.intercept)
        require(
            outputs == 1, f"LIBSVM has regressions of one output, not of {outputs}: fit an SVR for each, or {OTHER}"
        )
        found = Expansion(found.vectors, found.coef[0], float(found.intercept[0]))
    return _one_function("epsilon_svr", found, 1.0, -float(found.intercept))


def _one_class(model: OneClassSVM) -> Text:
    return _one_function("one_class", model.model_, 1.0, float(model.offset_))


def _ball(model: SVDD) -> Text:
    """r^2 - |phi(x) - c|^2 = 2 sum_i a_i k(x_i, x) - (k(x, x) + |c|^2 - r^2), where k(x, x) = 1."""
    return _one_function("one_class", model.model_, 2.0, 1.0 + model.model_.squared_norm + model.offset_)


def _chosen(search: SVCCV | SVRCV) -> Text:
    require(search.refit, "this search has no model: use refit=True")
    best = search.best_estimator_
    return EXPORTS[type(best)].text(best)


EXPORTS: dict[type, Export] = {
    SVC: Export(_classes),
    SVR: Export(_regression),
    OneClassSVM: Export(_one_class),
    SVDD: Export(_ball, RADIAL),
    SVCCV: Export(_chosen),
    SVRCV: Export(_chosen),
}


# ---- reading ------------------------------------------------------------------------------------------------------


def import_libsvm(path: PathLike, n_features: int | None = None) -> BaseEstimator:
    """Read a LIBSVM model as an SVC, SVR or OneClassSVM.

    It computes LIBSVM's values, and the same labels except for ties (see ``export_libsvm``). The file does not describe
    the training: ``stop_reason_`` is ``"imported"``, the gap is infinite, ``support_`` is 0, 1, ..., and parameters
    such as C and epsilon are the defaults.

    Parameters
    ----------
    path : str or path
        A model of type c_svc or nu_svc (an SVC), epsilon_svr or nu_svr (an SVR) or one_class (a OneClassSVM, whose
        coefficients sum to nu times the number of rows) with kernel linear, polynomial, rbf or sigmoid. Probabilities
        are ignored.
    n_features : int, optional
        Number of features of the rows to predict; by default the largest index that occurs. LIBSVM does not write it,
        and support vectors can lack the last features; ``export_libsvm`` writes a zero of the last one.

    Returns
    -------
    SVC, SVR or OneClassSVM

    Raises
    ------
    ValueError
        If the text is malformed; the message has the file and the line.
    """
    columns = 0 if n_features is None else operator.index(n_features)
    require(columns >= (n_features is not None), f"n_features={n_features} must be at least 1")
    with opened(path) as file:
        text = read_text(enumerate(map(bytes.strip, file), start=1), columns)
        model = IMPORTS[text.svm_type](text)
        model.set_fitted(
            n_features_in_=text.rows.shape[1],
            n_evaluations_=0,  # from here on, what the file does not say
            dual_gap_=math.inf,
            relative_gap_=math.inf,
            simplex_gap_=math.inf,
            stop_reason_="imported",
            fit_status_=1,
        )
        check_savable(model)
        return model


def _parameters(kernel: Kernel) -> dict[str, Any]:
    return {"kernel": kernel.name, **asdict(kernel)}


def _imported_classes(text: Text) -> SVC:
    pairwise = _pairwise(text)
    return SVC(**_parameters(text.kernel)).set_fitted(
        model_=pairwise,
        classes_=np.array(sorted(text.labels), dtype=np.int64),
        shape_fit_=text.rows.shape,
        class_weight_=np.ones(len(text.labels)),
        n_iter_=np.zeros(len(pairwise.pairs), dtype=np.int64),
        primal_value_=np.full(len(pairwise.pairs), math.inf),
        dual_value_=np.zeros(len(pairwise.pairs)),
    )


def _pairwise(text: Text) -> Pairwise:
    """The functions with the classes of the file in another order."""
    order, counts = np.argsort(text.labels).tolist(), text.counts
    ends = np.cumsum(counts).tolist()
    own = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    between = []
    for c in order:
        full = np.insert(text.coef[own[c]].T, c, 0.0, axis=0)  # with a row of zeros against itself
        full[:c] *= -1.0
        between.append(full[order])
    skew = np.zeros((len(order), len(order)))
    skew[np.triu_indices(len(order), 1)] = np.negative(text.rho)
    skew -= skew.T
    vectors = _vectors(text, sp.vstack([text.rows[own[c]] for c in order], format="csr"))
    return Pairwise.from_between(vectors, [counts[c] for c in order], between, skew[np.ix_(order, order)])


def _vectors(text: Text, rows: sp.csr_matrix) -> Vectors:
    return Vectors(text.kernel, np.arange(len(text.coef), dtype=np.int32), rows)


def _imported_function(text: Text) -> dict[str, Any]:
    """The attributes of an estimator with one function."""
    model = Expansion(_vectors(text, text.rows), np.ascontiguousarray(text.coef[:, 0]), -text.rho[0])
    return {"model_": model, "primal_value_": math.inf, "dual_value_": 0.0}


def _imported_regression(text: Text) -> SVR:
    model = SVR(**_parameters(text.kernel))
    unknown = {"epsilon_": model.epsilon, "n_iter_": 0}
    return model.set_fitted(shape_fit_=text.rows.shape, **unknown, **_imported_function(text))


def _imported_one_class(text: Text) -> OneClassSVM:
    unknown = {"C_": math.inf, "n_iter_": np.zeros(1, dtype=np.int64)}
    return OneClassSVM(**_parameters(text.kernel)).set_fitted(
        offset_=text.rho[0], **unknown, **_imported_function(text)
    )


IMPORTS: dict[str, Callable[[Text], Any]] = {
    "c_svc": _imported_classes,
    "nu_svc": _imported_classes,
    "epsilon_svr": _imported_regression,
    "nu_svr": _imported_regression,
    "one_class": _imported_one_class,
}
