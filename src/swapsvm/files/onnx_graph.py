"""An SVC as an ONNX graph of plain operators: kernel values, decision values of the pairs, votes.

    x -> kernel with the support vectors (n, vectors) -> times coefficients plus intercepts (n, pairs) -> votes -> label

ONNX has an operator for support vector machines, but runtimes disagree about its signs, ties and precision; sums,
products and exponentials they all have. Everything is computed in double.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import __version__
from ..container import require
from ..estimators import SVC
from ..writing import PathLike, whole_file
from .parts import check_savable

OPSET = 17
FORMAT = 8  # of the file; runtimes of 2022 and later read it
LARGEST = 2**31 - 2**20  # bytes: the limit of the encoding, less some room for names


def export_onnx(model: SVC, path: PathLike) -> None:
    """Write an SVC for an ONNX runtime.

    The graph has one input, ``X``, of the type of the support vectors and shape (n, n_features) (for a precomputed
    kernel: kernel values with the rows of the fit, in double), and two outputs: ``label``, and ``decision`` as
    ``decision_function`` gives it, in double. Sparse support vectors become dense. The Laplacian kernel needs n x
    vectors x n_features numbers at a time: predict in small batches.

    Parameters
    ----------
    model : SVC
        Fitted, with any kernel but a callable, and labels that are integers, floats, booleans or text.
    path : str or path
        Where to; the file appears as a whole or not at all.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If the model has something that ONNX cannot hold.
    """
    import_onnx()
    check_savable(model)
    size = 8 * (len(model.support_) * (model.n_features_in_ + len(model.intercept_)))
    require(size < LARGEST, f"the support vectors take {size} bytes when dense: ONNX files hold 2 GiB")
    content = _proto(model).SerializeToString()
    with whole_file(path) as file:
        file.write(content)


def import_onnx() -> Any:
    """The package onnx, or an error that says how to get it."""
    try:
        import onnx
    except ImportError:
        raise ImportError('ONNX files need onnx: pip install "swapsvm[onnx]"') from None
    return onnx


class Graph:
    """Nodes and constants in the order in which they are added; each is known by the name of what it gives."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """The name of an array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operator: str, *inputs: str | np.ndarray | float, output: str = "", **attributes: Any) -> str:
        """The name of what an operator gives; numbers among its inputs become constants."""
        name = output or f"{operator.lower()}_{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name


def _proto(model: SVC) -> Any:
    graph = Graph()
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    labels = _label_array(model.classes_)
    decisions = _decisions(graph, model, graph.node("Cast", "X", to=types.DOUBLE))
    _outputs(graph, model, decisions, labels)
    single = model.support_vectors_.dtype == np.float32
    width = None if len(model.classes_) == 2 else _columns(model)
    rows = helper.make_tensor_value_info("X", types.FLOAT if single else types.DOUBLE, ["n", model.n_features_in_])
    label = helper.make_tensor_value_info("label", helper.np_dtype_to_tensor_dtype(labels.dtype), ["n"])
    decision = helper.make_tensor_value_info("decision", types.DOUBLE, ["n"] if width is None else ["n", width])
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "SVC", [rows], [label, decision], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="swapsvm",
        producer_version=__version__,
        ir_version=FORMAT,
    )
    graph.onnx.checker.check_model(proto, full_check=True)
    return proto


def _columns(model: SVC) -> int:
    return len(model.intercept_) if model.decision_function_shape == "ovo" else len(model.classes_)


def _label_array(classes: np.ndarray) -> np.ndarray:
    """Labels in a type that ONNX has: 64-bit integers, doubles, booleans or text."""
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": object, "O": object}
    kind = classes.dtype.kind
    known = kind in kinds and (kind != "O" or all(isinstance(label, str) for label in classes))
    known = known and (kind != "u" or bool((classes <= np.iinfo(np.int64).max).all()))
    require(
        known,
        f"labels of type {classes.dtype}, such as {classes[-1]!r}, cannot be exported to ONNX: "
        "fit with labels that are 64-bit integers, floats, booleans or text",
    )
    return classes.astype(kinds[kind])


# ---- kernel and decision values ----------------------------------------------------------------------------------


def _decisions(graph: Graph, model: SVC, rows: str) -> str:
    """Decision values of the pairs."""
    if model.kernel == "precomputed":
        values = graph.node("Gather", rows, model.support_.astype(np.int64), axis=1)
    else:
        vectors: Any = model.support_vectors_
        dense = (vectors.toarray() if sp.issparse(vectors) else vectors).astype(np.float64)
        values = KERNELS[str(model.kernel)](graph, model.model_.vectors.kernel, rows, dense)
    return graph.node("Add", graph.node("MatMul", values, _pair_coefs(model)), model.intercept_)


def _linear(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    return graph.node("MatMul", rows, np.ascontiguousarray(vectors.T))


def _affine(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    """gamma x'z + coef0."""
    product = graph.node("MatMul", rows, np.ascontiguousarray(kernel.gamma * vectors.T))
    return graph.node("Add", product, np.float64(kernel.coef0))


def _poly(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    return graph.node("Pow", _affine(graph, kernel, rows, vectors), np.float64(kernel.degree))


def _sigmoid(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    return graph.node("Tanh", _affine(graph, kernel, rows, vectors))


def _rbf(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    """From norms and products, about the mean of the vectors: an offset of the data costs no digits."""
    centre = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
    vectors, rows = vectors - centre, graph.node("Sub", rows, centre)
    norms = graph.node("ReduceSum", graph.node("Mul", rows, rows), np.array([1]), keepdims=1)
    products = graph.node("MatMul", rows, np.ascontiguousarray(-2 * vectors.T))
    distances = graph.node("Add", graph.node("Add", products, (vectors**2).sum(axis=1)), norms)
    positive = graph.node("Max", distances, np.float64(0))
    return graph.node("Exp", graph.node("Mul", positive, np.float64(-kernel.gamma)))


def _laplacian(graph: Graph, kernel: Any, rows: str, vectors: np.ndarray) -> str:
    differences = graph.node("Sub", graph.node("Unsqueeze", rows, np.array([1])), vectors[None])
    distances = graph.node("ReduceSum", graph.node("Abs", differences), np.array([2]), keepdims=0)
    return graph.node("Exp", graph.node("Mul", distances, np.float64(-kernel.gamma)))


KERNELS: dict[str, Callable[[Graph, Any, str, np.ndarray], str]] = {
    "linear": _linear,
    "poly": _poly,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
    "laplacian": _laplacian,
}


def _pair_coefs(model: SVC) -> np.ndarray:
    """Coefficients of every support vector in every pair, (vectors, pairs)."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return np.ascontiguousarray(model.dual_coef_.T)
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    coefs = np.zeros((len(owner), len(model.intercept_)))
    for k, (a, b) in enumerate(combinations(range(n_classes), 2)):
        coefs[owner == a, k] = model.dual_coef_[b - 1, owner == a]
        coefs[owner == b, k] = model.dual_coef_[a, owner == b]
    return coefs


# ---- labels ------------------------------------------------------------------------------------------------------


def _outputs(graph: Graph, model: SVC, decisions: str, labels: np.ndarray) -> None:
    if len(labels) == 2:
        graph.node("Squeeze", decisions, np.array([1]), output="decision")
        positive = graph.node("Greater", "decision", np.float64(0))
        winner = graph.node("Cast", positive, to=graph.onnx.TensorProto.INT64)
    else:
        scores = _one_versus_rest(graph, model, decisions)
        winner = graph.node("ArgMax", scores, axis=1, keepdims=0)
        graph.node("Identity", decisions if model.decision_function_shape == "ovo" else scores, output="decision")
    graph.node("Gather", labels, winner, output="label")


def _one_versus_rest(graph: Graph, model: SVC, decisions: str) -> str:
    """Votes, ties broken by summed decision values, as ``models.votes.one_versus_rest``."""
    first, second = _sides(model)
    absent = np.array([-1.0 if c not in model.model_.present else 0.0 for c in range(len(model.classes_))])
    wins = graph.node("Cast", graph.node("GreaterOrEqual", decisions, np.float64(0)), to=graph.onnx.TensorProto.DOUBLE)
    votes = graph.node("Add", graph.node("MatMul", wins, first - second), second.sum(axis=0))
    confidence = graph.node("MatMul", decisions, first - second)
    size = graph.node("Mul", graph.node("Add", graph.node("Abs", confidence), np.float64(1)), np.float64(3))
    scores = graph.node("Add", votes, graph.node("Div", confidence, size))
    return graph.node("Add", scores, absent)


def _sides(model: SVC) -> tuple[np.ndarray, np.ndarray]:
    """Which class is first, and which second, in each pair of present classes: (pairs, classes), 0 or 1."""
    n_classes = len(model.classes_)
    pairs = list(combinations(range(n_classes), 2))
    first, second = np.zeros((len(pairs), n_classes)), np.zeros((len(pairs), n_classes))
    for k, (a, b) in enumerate(pairs):
        if a in model.model_.present and b in model.model_.present:
            first[k, a] = second[k, b] = 1.0
    return first, second
