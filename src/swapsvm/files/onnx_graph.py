"""An SVC as an ONNX graph of plain operators: kernel values, decision values of the pairs, votes.

    x -> kernel with the support vectors (n, vectors) -> times coefficients plus intercepts (n, pairs) -> votes -> label

With ``multiclass="ovr"`` there is a decision value for each class, and no vote.

ONNX has an operator for support vector machines, but runtimes disagree about its signs, ties and precision, so the
graph uses sums, products and exponentials. Everything is computed in double precision.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..container import require
from ..estimators import SVC
from ..kernels import Kernel, Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid
from ..models import ByClass, Pairwise
from ..writing import PathLike, whole_file
from .fields import check_savable

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

OPSET = 17
FORMAT = 8  # version of the file format; runtimes since 2022 read it
LARGEST = 2**31 - 2**20  # bytes: the limit of the encoding, with some room for names


def export_onnx(model: SVC, path: PathLike) -> None:
    """Write an SVC for an ONNX runtime.

    The graph has one input, ``X``, of the type of the support vectors and shape (n, n_features) (for a precomputed
    kernel: kernel values with the training rows, in double), and two outputs: ``label``, and ``decision``, the result
    of ``decision_function`` in double. Sparse support vectors become dense. The Laplacian kernel needs n x vectors x
    n_features numbers: predict in small batches.

    Parameters
    ----------
    model : SVC
        A fitted model with any kernel except a callable, and labels that are integers, floats, booleans or text.
    path : str or path
        Output file; it is written completely or not at all.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If the model cannot be represented in ONNX.
    """
    import_onnx()
    check_savable(model)
    size = 8 * (len(model.support_) * (model.n_features_in_ + len(model.intercept_)))
    require(size < LARGEST, f"the support vectors take {size} bytes when dense: ONNX files hold 2 GiB")
    content = _proto(model).SerializeToString()
    with whole_file(path) as file:
        file.write(content)


def import_onnx() -> ModuleType:
    """The package onnx, or an error that says how to install it."""
    try:
        import onnx
    except ImportError:
        raise ImportError('ONNX files need onnx: pip install "swapsvm[onnx]"') from None
    return onnx


class Graph:
    """Nodes and constants in the order of their addition; each is named after its output."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, operator: str, *inputs: str | np.ndarray | float, output: str = "", **attributes: int) -> str:
        """Add an operator; returns the name of its output. Numbers among its inputs become constants."""
        name, names = output or f"{operator.lower()}_{len(self.nodes)}", []
        for value in inputs:
            names.append(value if isinstance(value, str) else f"constant_{len(self.constants)}")
            if not isinstance(value, str):
                self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), names[-1]))
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name


def _proto(model: SVC) -> ModelProto:
    graph = Graph()
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    labels = _label_array(model.classes_)
    decisions = _decisions(graph, model.model_, graph.node("Cast", "X", to=types.DOUBLE))
    _outputs(graph, model, decisions, labels)
    single = model.support_vectors_.dtype == np.float32
    columns = len(model.intercept_) if model.decision_function_shape == "ovo" else len(labels)
    rows = helper.make_tensor_value_info("X", types.FLOAT if single else types.DOUBLE, ["n", model.n_features_in_])
    label = helper.make_tensor_value_info("label", helper.np_dtype_to_tensor_dtype(labels.dtype), ["n"])
    decision = helper.make_tensor_value_info("decision", types.DOUBLE, ["n"] if len(labels) == 2 else ["n", columns])
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "SVC", [rows], [label, decision], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="swapsvm",
        producer_version=__version__,
        ir_version=FORMAT,
    )
    graph.onnx.checker.check_model(proto, full_check=True)
    return proto


def _label_array(classes: np.ndarray) -> np.ndarray:
    """Labels in a type that ONNX has: 64-bit integers, doubles, booleans or text."""
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": object, "O": object}
    kind = classes.dtype.kind
    known = kind in kinds and (kind != "O" or all(isinstance(label, str) for label in classes))
    if not known or (kind == "u" and (classes > np.iinfo(np.int64).max).any()):
        raise ValueError(
            f"labels of type {classes.dtype}, such as {classes[-1]!r}, cannot be exported to ONNX: "
            "fit with labels that are 64-bit integers, floats, booleans or text"
        )
    return classes.astype(kinds[kind])


def _decisions(graph: Graph, model: ByClass, rows: str) -> str:
    """Decision values of the functions."""
    if isinstance(model.vectors.kernel, Precomputed):
        values = graph.node("Gather", rows, model.vectors.support.astype(np.int64), axis=1)
    else:
        vectors = model.vectors.rows
        dense = (vectors if isinstance(vectors, np.ndarray) else vectors.toarray()).astype(np.float64)
        values = _kernel_values(graph, model.vectors.kernel, rows, dense)
    return graph.node("Add", graph.node("MatMul", values, _coefficients(model)), model.intercept)


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
            product = node("MatMul", rows, np.ascontiguousarray(kernel.gamma * vectors.T))
            affine = node("Add", product, np.float64(kernel.coef0))
            return node("Pow", affine, np.float64(kernel.degree)) if isinstance(kernel, Poly) else node("Tanh", affine)
        case Rbf():
            distances = _squared_distances(graph, rows, vectors)
            return node("Exp", node("Mul", distances, np.float64(-kernel.gamma)))
        case Laplacian():
            differences = node("Sub", node("Unsqueeze", rows, np.array([1])), vectors[None])
            distances = node("ReduceSum", node("Abs", differences), np.array([2]), keepdims=0)
            return node("Exp", node("Mul", distances, np.float64(-kernel.gamma)))
    raise ValueError(f"kernel {kernel.name!r} cannot be exported to ONNX")


def _squared_distances(graph: Graph, rows: str, vectors: np.ndarray) -> str:
    """From norms and products of centred vectors, so that an offset of the data costs no precision."""
    centre = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
    vectors, rows = vectors - centre, graph.node("Sub", rows, centre)
    norms = graph.node("ReduceSum", graph.node("Mul", rows, rows), np.array([1]), keepdims=1)
    products = graph.node("MatMul", rows, np.ascontiguousarray(-2 * vectors.T))
    distances = graph.node("Add", graph.node("Add", products, (vectors**2).sum(axis=1)), norms)
    return graph.node("Max", distances, np.float64(0))


def _outputs(graph: Graph, model: SVC, decisions: str, labels: np.ndarray) -> None:
    if len(labels) == 2:
        graph.node("Squeeze", decisions, np.array([1]), output="decision")
        positive = graph.node("Greater", "decision", np.float64(0))
        winner = graph.node("Cast", positive, to=graph.onnx.TensorProto.INT64)
    else:
        scores = _scores(graph, model.model_, decisions)
        winner = graph.node("ArgMax", scores, axis=1, keepdims=0)
        graph.node("Identity", decisions if model.decision_function_shape == "ovo" else scores, output="decision")
    graph.node("Gather", labels, winner, output="label")


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
    wins = graph.node("Cast", graph.node("GreaterOrEqual", decisions, np.float64(0)), to=graph.onnx.TensorProto.DOUBLE)
    votes = graph.node("Add", graph.node("MatMul", wins, first - second), second.sum(axis=0))
    confidence = graph.node("MatMul", decisions, first - second)
    size = graph.node("Mul", graph.node("Add", graph.node("Abs", confidence), np.float64(1)), np.float64(3))
    scores = graph.node("Add", votes, graph.node("Div", confidence, size))
    return graph.node("Add", scores, _unless_present(pairwise, -1.0))
