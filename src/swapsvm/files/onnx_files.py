"""Models as ONNX files, of plain operators only: the steps of a pipeline, then the model."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ..container import require
from ..writing import PathLike, whole_file
from .onnx_graph import Graph, Tensor, import_onnx
from .onnx_models import OPERATORS
from .onnx_steps import apply_step, inputs_of
from .registry import check_savable, description_of
from .steps import final_model

OTHER = "use another extension for swapsvm's own format"


def export_onnx(model: BaseEstimator, path: PathLike) -> None:
    """Write a model for an ONNX runtime.

    The graph has one input, ``X``, of the type of the support vectors and shape (n, n_features) (for a precomputed
    kernel: kernel values with the training rows, in double). Its outputs are in double, except labels:

    - of a classifier ``label``, and ``decision``, the result of ``decision_function``;
    - of a regression ``value``, of shape (n, outputs) if there are several;
    - of a detector ``label``, 1 or -1, ``decision``, and ``score``, the result of ``score_samples``.

    A pipeline has the outputs of its last step. Its input ``X`` is in double. If an encoder has categories of text,
    each column is an input of its own, of shape (n, 1), under its name (``x0``, ``x1``, ... without names). Where an
    encoder would raise an error for an unknown category, decisions and values become NaN.

    Of a search, the chosen model is written. Sparse support vectors become dense. The Laplacian kernel needs n x
    vectors x n_features numbers: predict in small batches.

    Parameters
    ----------
    model : SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV or Pipeline
        A fitted model with any kernel except a Python function; the labels of a classifier are integers, floats,
        booleans or text.
    path : str or path
        Output file; it is written completely or not at all.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If the model cannot be represented in ONNX.
    """
    check_convertible(model)
    check_savable(model)
    graph = Graph()
    inputs, rows = _rows(graph, model)
    last = final_model(model)
    outputs = OPERATORS[description_of(last).type](graph, last, rows)
    content = graph.proto(type(last).__name__, inputs, outputs).SerializeToString()
    with whole_file(path) as file:
        file.write(content)


def _rows(graph: Graph, model: BaseEstimator) -> tuple[list[Tensor], str]:
    """The inputs, and the rows that the model gets."""
    if final_model(model) is model:
        best = getattr(model, "best_estimator_", model)
        require(hasattr(best, "model_"), "this search has no model: use refit=True")
        return [Tensor("X", best.support_vectors_.dtype, model.n_features_in_)], graph.cast("X", np.float64)
    inputs, rows = inputs_of(graph, model)
    for _, step in model.steps[:-1]:
        rows = apply_step(graph, step, rows)
    return inputs, rows.numbers(graph)


def check_convertible(model: BaseEstimator) -> None:
    """Raise the error that a model of this type, fitted or not, would raise."""
    import_onnx()
    cls = description_of(final_model(model)).type
    require(cls in OPERATORS, f"a {cls.__name__} cannot be exported to ONNX: {OTHER}")
