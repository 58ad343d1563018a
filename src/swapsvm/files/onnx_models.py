"""Models as ONNX operators: kernel values, and what an estimator computes from their sums.

    x -> kernel with the support vectors (n, vectors) -> times coefficients plus intercepts (n, functions)

A class is chosen by votes of the pairs, or with ``multiclass="ovr"`` by the largest value.

ONNX has an operator for support vector machines, but runtimes disagree about its signs, ties and precision, so the
graph uses sums, products and exponentials. Everything is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..container import require
from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..estimators.detector import Detector
from ..kernels import KERNELS, Kernel, Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid, Sum
from ..models import ByClass, Center, Expansion, Outputs, Pairwise, Vectors
from ..selection import SVCCV, SVRCV
from .label_lines import is_unicode
from .onnx_graph import Graph, Tensor

LABEL_TYPES = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": object, "O": object}  # by kind

LARGEST = 2**31 - 2**20  # bytes: the limit of the encoding, with some room for names
Declared = list[Tensor]


def _classes(graph: Graph, model: SVC, rows: str) -> Declared:
    """The label, and the result of ``decision_function``."""
    check_label_type(model.classes_)
    labels: np.ndarray = model.classes_.astype(LABEL_TYPES[model.classes_.dtype.kind])
    decisions = _sums(graph, model.model_.vectors, _coefficients(model.model_), rows)
    decisions = graph.node("Add", decisions, model.model_.intercept)
    label = Tensor("label", labels.dtype)
    if len(labels) == 2:
        graph.node("Squeeze", decisions, np.array([1]), output="decision")
        winner = graph.cast(graph.node("Greater", "decision", np.float64(0)), np.int64)
        graph.node("Gather", labels, winner, output="label")
        return [label, Tensor("decision", np.float64)]
    by_pair = model.decision_function_shape == "ovo"
    scores = _scores(graph, model.model_, decisions)
    graph.node("Identity", decisions if by_pair else scores, output="decision")
    graph.node("Gather", labels, graph.node("ArgMax", scores, axis=1, keepdims=0), output="label")
    return [label, Tensor("decision", np.float64, len(model.intercept_) if by_pair else len(labels))]


def _regression(graph: Graph, model: SVR, rows: str) -> Declared:
    """The prediction; a column for each output if there are several."""
    if isinstance(model.model_, Outputs):
        sums = _sums(graph, model.model_.vectors, np.ascontiguousarray(model.model_.coef.T), rows)
        graph.node("Add", sums, model.model_.intercept, output="value")
        return [Tensor("value", np.float64, len(model.model_.intercept))]
    graph.node("Add", _expansion(graph, model.model_, rows), np.float64(model.model_.intercept), output="value")
    return [Tensor("value", np.float64)]


def _detector(graph: Graph, model: Detector, rows: str) -> Declared:
    """The label 1 or -1, and the results of ``decision_function`` and ``score_samples``."""
    graph.node("Identity", _typicality(graph, model.model_, rows), output="score")
    graph.node("Sub", "score", np.float64(model.offset_), output="decision")
    inside = graph.cast(graph.node("GreaterOrEqual", "decision", np.float64(0)), np.int64)
    graph.node("Gather", np.array([-1, 1]), inside, output="label")
    return [Tensor("label", np.int64), Tensor("decision", np.float64), Tensor("score", np.float64)]


def _typicality(graph: Graph, model: Expansion, rows: str) -> str:
    """The sum of kernel values; for a ball minus the squared distance from its center."""
    sums = _expansion(graph, model, rows)
    if not isinstance(model, Center):
        return sums
    lengths = _squared_lengths(graph, model.vectors.kernel, rows) if model.length is None else np.float64(model.length)
    away = graph.node("Add", lengths, np.float64(model.squared_norm))
    return graph.node("Sub", graph.node("Mul", sums, np.float64(2)), away)


def _chosen(graph: Graph, search: SVCCV | SVRCV, rows: str) -> Declared:
    """Those of the model that a search chose."""
    require(search.refit, "this search has no model: use refit=True")
    best = search.best_estimator_
    return OPERATORS[type(best)](graph, best, rows)


OPERATORS: dict[type, Callable[[Graph, Any, str], Declared]] = {
    SVC: _classes,
    SVR: _regression,
    OneClassSVM: _detector,
    SVDD: _detector,
    SVCCV: _chosen,
    SVRCV: _chosen,
}


def check_label_type(classes: np.ndarray) -> None:
    """``ValueError`` unless ONNX has a type for these labels."""
    kind = classes.dtype.kind
    known = kind in LABEL_TYPES and (kind != "O" or all(isinstance(label, str) for label in classes))
    if not known or (kind == "u" and (classes > np.iinfo(np.int64).max).any()):
        raise ValueError(
            f"labels of type {classes.dtype}, such as {classes[-1]!r}, cannot be exported to ONNX: "
            "fit with labels that are 64-bit integers, floats, booleans or text"
        )
    for label in classes if kind in "UO" else ():
        require(is_unicode(label), f"the label {label!r} is not valid Unicode, which ONNX needs: fit with another one")


def _expansion(graph: Graph, model: Expansion, rows: str) -> str:
    """sum_i coef_i k(x_i, x) of each row x."""
    return graph.node("Squeeze", _sums(graph, model.vectors, model.coef[:, None], rows), np.array([1]))


def _sums(graph: Graph, vectors: Vectors, coef: np.ndarray, rows: str) -> str:
    """Sums of kernel values; ``coef`` has a column for each function."""
    if isinstance(vectors.kernel, Precomputed):
        values = graph.node("Gather", rows, vectors.support.astype(np.int64), axis=1)
        return graph.node("MatMul", values, coef)
    _check_size(vectors, coef)
    if isinstance(vectors.kernel, Sum):
        return _sums_of_terms(graph, vectors, coef, rows)
    stored = vectors.rows
    dense = (stored if isinstance(stored, np.ndarray) else stored.toarray()).astype(np.float64)
    return graph.node("MatMul", _kernel_values(graph, vectors.kernel, rows, dense), coef)


def _check_size(vectors: Vectors, coef: np.ndarray) -> None:
    """Of all that is dense in the file."""
    kernel, columns, terms = vectors.kernel, vectors.rows.shape[1], 1
    if isinstance(kernel, Sum):
        columns, terms = sum(np.asarray(places).size for _, places in kernel.terms), len(kernel.terms)
    size = 8 * len(vectors) * (columns + terms * coef.shape[1])
    require(size < LARGEST, f"the support vectors take {size} bytes when dense: ONNX files hold 2 GiB")


def _sums_of_terms(graph: Graph, vectors: Vectors, coef: np.ndarray, rows: str) -> str:
    """Those of each term over its columns, whose weight is a factor of the coefficients."""
    kernel = vectors.kernel
    assert isinstance(kernel, Sum)
    parts = zip(kernel.parts(vectors.rows), _chosen_columns(graph, kernel, rows), strict=True)
    sums = [_sums(graph, Vectors(part, vectors.support, own), w * coef, some) for (part, own, w), some in parts]
    return reduce(lambda one, other: graph.node("Add", one, other), sums)


def _chosen_columns(graph: Graph, kernel: Sum, rows: str) -> list[str]:
    """The columns of the rows that each term takes, which a fit made positions."""
    return [graph.node("Gather", rows, np.asarray(places, np.int64), axis=1) for _, places in kernel.terms]


def _coefficients(model: ByClass) -> np.ndarray:
    """Of each vector in each function."""
    if isinstance(model, Pairwise):
        return np.stack([model.coefficients(pair) for pair in model.pairs], axis=1)
    return np.ascontiguousarray(model.coef.T)


def _kernel_values(graph: Graph, kernel: Kernel, rows: str, vectors: np.ndarray) -> str:
    """k(x, z) of the rows x and the vectors z."""
    node = graph.node
    match kernel:
        case Linear():
            return node("MatMul", rows, np.ascontiguousarray(vectors.T))
        case Poly() | Sigmoid():
            # gamma is a factor of the vectors: runtimes fuse factors of a product into it, in single precision
            return _of_products(graph, kernel, node("MatMul", rows, np.ascontiguousarray(kernel.gamma * vectors.T)))
        case Rbf():
            distances = _squared_distances(graph, rows, vectors)
            return node("Exp", node("Mul", distances, np.float64(-float(kernel.gamma))))
        case Laplacian():
            differences = node("Sub", node("Unsqueeze", rows, np.array([1])), vectors[None])
            distances = node("ReduceSum", node("Abs", differences), np.array([2]), keepdims=0)
            return node("Exp", node("Mul", distances, np.float64(-float(kernel.gamma))))
    raise ValueError(f"kernel {kernel.name!r} cannot be exported to ONNX: use one of {list(KERNELS)}")


def _of_products(graph: Graph, kernel: Poly | Sigmoid, products: str) -> str:
    """The values of a kernel that is a function of x'z, from gamma x'z."""
    affine = graph.node("Add", products, np.float64(kernel.coef0))
    if isinstance(kernel, Poly):
        return graph.node("Pow", affine, np.float64(kernel.degree))
    return graph.node("Tanh", affine)


def _squared_lengths(graph: Graph, kernel: Kernel, rows: str) -> str | np.float64:
    """k(x, x) of each row x, or of all of them."""
    if isinstance(kernel, Rbf | Laplacian):
        return np.float64(1)
    if isinstance(kernel, Sum):
        weights = kernel.weights or [1.0] * len(kernel.terms)
        parts = zip(kernel.terms, _chosen_columns(graph, kernel, rows), weights, strict=True)
        lengths = [graph.node("Mul", _squared_lengths(graph, part, own), np.float64(w)) for (part, _), own, w in parts]
        return reduce(lambda one, other: graph.node("Add", one, other), lengths)
    squares = graph.node("ReduceSum", graph.node("Mul", rows, rows), np.array([1]), keepdims=0)
    if isinstance(kernel, Poly | Sigmoid):
        return _of_products(graph, kernel, graph.node("Mul", squares, np.float64(kernel.gamma)))
    return squares


def _squared_distances(graph: Graph, rows: str, vectors: np.ndarray) -> str:
    """From norms and products of centred vectors, so that an offset of the data costs no precision."""
    centre = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
    vectors, rows = vectors - centre, graph.node("Sub", rows, centre)
    norms = graph.node("ReduceSum", graph.node("Mul", rows, rows), np.array([1]), keepdims=1)
    products = graph.node("MatMul", rows, np.ascontiguousarray(-2 * vectors.T))
    distances = graph.node("Add", graph.node("Add", products, (vectors**2).sum(axis=1)), norms)
    return graph.node("Max", distances, np.float64(0))


def _scores(graph: Graph, model: ByClass, decisions: str) -> str:
    """One score for each class."""
    if isinstance(model, Pairwise):
        return _votes(graph, model, decisions)
    return graph.node("Add", decisions, _unless_present(model, -np.inf))


def _unless_present(model: ByClass, value: float) -> np.ndarray:
    """The value for classes without training rows, 0 for the others."""
    return np.array([0.0 if c in model.present else value for c in range(model.n_classes)])


def _votes(graph: Graph, pairwise: Pairwise, decisions: str) -> str:
    """Votes, ties broken by summed decision values, as ``models.votes.one_versus_rest``."""
    first, second = np.zeros((2, len(pairwise.pairs), pairwise.n_classes))  # the classes of each pair: 0 or 1
    for k, (a, b) in enumerate(pairwise.pairs):
        if a in pairwise.present and b in pairwise.present:
            first[k, a] = second[k, b] = 1.0
    wins = graph.cast(graph.node("GreaterOrEqual", decisions, np.float64(0)), np.float64)
    votes = graph.node("Add", graph.node("MatMul", wins, first - second), second.sum(axis=0))
    confidence = graph.node("MatMul", decisions, first - second)
    size = graph.node("Mul", graph.node("Add", graph.node("Abs", confidence), np.float64(1)), np.float64(3))
    scores = graph.node("Add", votes, graph.node("Div", confidence, size))
    return graph.node("Add", scores, _unless_present(pairwise, -1.0))
