"""scikit-learn's own steps as ONNX operators, in double precision.

Rows are one matrix of numbers, or, if any column holds text, one tensor for each column. A step turns rows into rows.
A category that the encoder does not know becomes NaN where scikit-learn would raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..container import require
from .label_lines import is_unicode
from .onnx_graph import Graph, Tensor
from .steps import first_step, fitted_columns, numbers_of

ONE = np.array([1])  # the axis of the columns
LARGEST_CATEGORY = 2.0**53  # up to here doubles hold every integer
RESULTS = {"label", "value", "decision", "score"}  # outputs of models


@dataclass(frozen=True)
class Rows:
    """Names of tensors: one matrix, or each column by itself, of shape (n, 1)."""

    width: int
    matrix: str = ""
    columns: tuple[str, ...] = ()

    def of(self, graph: Graph, chosen: Sequence[int]) -> Rows:
        """Some columns."""
        if self.columns:
            return Rows(len(chosen), columns=tuple(self.columns[k] for k in chosen))
        if list(chosen) == list(range(self.width)):
            return self
        return Rows(len(chosen), graph.node("Gather", self.matrix, np.array(chosen, dtype=np.int64), axis=1))

    def numbers(self, graph: Graph) -> str:
        """All columns as one matrix in double."""
        if not self.columns:
            return self.matrix
        return _side_by_side(graph, [graph.cast(column, np.float64) for column in self.columns])


def _side_by_side(graph: Graph, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


def apply_step(graph: Graph, step: Any, rows: Rows) -> Rows:
    """The rows behind a step."""
    if step is None or step == "passthrough":
        return rows
    kind = type(step).__name__
    require(type(step) in OPERATORS, f"{kind} has no ONNX operators here, only {[cls.__name__ for cls in OPERATORS]}")
    return OPERATORS[type(step)](graph, step, rows)


def _centred(graph: Graph, rows: Rows, center: np.ndarray | None, scale: np.ndarray | None) -> Rows:
    """(x - center) / scale."""
    matrix = rows.numbers(graph)
    if center is not None:
        matrix = graph.node("Sub", matrix, center.astype(np.float64))
    if scale is not None:
        matrix = graph.node("Div", matrix, scale.astype(np.float64))
    return Rows(rows.width, matrix)


def _standard(graph: Graph, step: StandardScaler, rows: Rows) -> Rows:
    return _centred(graph, rows, step.mean_ if step.with_mean else None, step.scale_)


def _robust(graph: Graph, step: RobustScaler, rows: Rows) -> Rows:
    return _centred(graph, rows, step.center_, step.scale_)


def _by_largest(graph: Graph, step: MaxAbsScaler, rows: Rows) -> Rows:
    scaled = _centred(graph, rows, None, step.scale_)
    clips = getattr(step, "clip", False)
    return _clipped(graph, scaled, -1.0, 1.0) if clips else scaled


def _by_range(graph: Graph, step: MinMaxScaler, rows: Rows) -> Rows:
    scaled = graph.node("Mul", rows.numbers(graph), step.scale_.astype(np.float64))
    moved = Rows(rows.width, graph.node("Add", scaled, step.min_.astype(np.float64)))
    return _clipped(graph, moved, *step.feature_range) if step.clip else moved


def _clipped(graph: Graph, rows: Rows, lowest: float, highest: float) -> Rows:
    return Rows(rows.width, graph.node("Clip", rows.matrix, np.float64(lowest), np.float64(highest)))


def _normalized(graph: Graph, step: Normalizer, rows: Rows) -> Rows:
    """Each row divided by its norm, unless that is 0."""
    matrix = rows.numbers(graph)
    sizes = graph.node("Abs", matrix)
    operators: dict[str, Callable[[], str]] = {
        "l1": lambda: graph.node("ReduceSum", sizes, ONE, keepdims=1),
        "l2": lambda: graph.node("Sqrt", graph.node("ReduceSum", graph.node("Mul", matrix, matrix), ONE, keepdims=1)),
        "max": lambda: graph.node("ReduceMax", sizes, axes=[1], keepdims=1),
    }
    norms = operators[step.norm]()
    nonzero = graph.node("Where", graph.node("Equal", norms, np.float64(0)), np.float64(1), norms)
    return Rows(rows.width, graph.node("Div", matrix, nonzero))


def _imputed(graph: Graph, step: SimpleImputer, rows: Rows) -> Rows:
    statistics = numbers_of(np.asarray(step.statistics_))
    require(statistics.dtype.kind in "biuf", "an imputer of text has no ONNX operators: impute before the pipeline")
    kept = np.flatnonzero(~np.isnan(statistics.astype(np.float64)))  # columns without any value are dropped
    matrix = rows.of(graph, kept.tolist()).numbers(graph)
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    missing = graph.node("IsNaN", matrix) if is_nan else graph.node("Equal", matrix, np.float64(step.missing_values))
    return Rows(len(kept), graph.node("Where", missing, statistics[kept].astype(np.float64), matrix))


def _one_hot(graph: Graph, step: OneHotEncoder, rows: Rows) -> Rows:
    """A column for each category, except those that are dropped."""
    parts, width = [], 0
    dropped = [None] * len(step.categories_) if step.drop_idx_ is None else list(step.drop_idx_)
    for k, categories in enumerate(step.categories_):
        hits = _hits(graph, rows, k, categories)
        shown = np.array([c for c in range(len(categories)) if c != dropped[k]], dtype=np.int64)
        part = graph.node("Gather", graph.cast(hits, np.float64), shown, axis=1)
        if step.handle_unknown == "error":
            part = graph.node("Where", _is_known(graph, hits), part, np.float64(np.nan))
        parts.append(part)
        width += len(shown)
    return Rows(width, _side_by_side(graph, parts))


def _ordinal(graph: Graph, step: OrdinalEncoder, rows: Rows) -> Rows:
    """The number of each category."""
    unknown = np.nan if step.handle_unknown == "error" else step.unknown_value
    parts = []
    for k, categories in enumerate(step.categories_):
        hits = _hits(graph, rows, k, categories)
        codes = np.arange(len(categories), dtype=np.float64)
        codes[[_is_nan(category) for category in categories]] = step.encoded_missing_value
        number = graph.node("ArgMax", graph.cast(hits, np.float64), axis=1, keepdims=1)
        code = graph.node("Gather", codes, number)
        parts.append(graph.node("Where", _is_known(graph, hits), code, np.float64(unknown)))
    return Rows(len(parts), _side_by_side(graph, parts))


def _hits(graph: Graph, rows: Rows, k: int, categories: np.ndarray) -> str:
    """Whether each row has each category in column k."""
    if is_text(categories):
        require(rows.columns, "text is encoded behind another step: encode it in the first step that gets it")
        return _text_hits(graph, rows.columns[k], categories)
    values = categories.astype(np.float64)
    exact = bool((np.abs(values[~np.isnan(values)]) <= LARGEST_CATEGORY).all())
    require(
        exact, f"categories above 2**53, such as {categories[-1]!r}, differ by less than a double can tell: use text"
    )
    column = rows.of(graph, [k]).numbers(graph)
    hits = graph.node("Equal", column, values)
    if not np.isnan(values).any():
        return hits
    return graph.node("Or", hits, graph.node("And", graph.node("IsNaN", column), np.isnan(values)))


def _text_hits(graph: Graph, column: str, categories: np.ndarray) -> str:
    for category in categories:
        require(is_unicode(category), f"the category {category!r} is not valid Unicode, which ONNX needs")
    places = np.arange(len(categories))
    key: dict[str, Any] = {"keys_strings": list(categories), "values_int64s": places.tolist(), "default_int64": -1}
    return graph.node("Equal", graph.node("LabelEncoder", column, domain="ai.onnx.ml", **key), places)


def _is_known(graph: Graph, hits: str) -> str:
    return graph.cast(graph.node("ReduceMax", graph.cast(hits, np.float64), axes=[1], keepdims=1), np.bool_)


def is_text(categories: np.ndarray) -> bool:
    """Whether categories are text; ``ValueError`` if some are and others are not."""
    texts = [isinstance(category, str) for category in categories]
    mixed = any(texts) and not all(texts)
    require(not mixed, f"categories of text and of other values, such as {categories[-1]!r}, have no ONNX operators")
    return all(texts)


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _by_columns(graph: Graph, step: ColumnTransformer, rows: Rows) -> Rows:
    parts, width = [], 0
    weights = step.transformer_weights or {}
    for name, inner, own in fitted_columns(step):
        if own and inner != "drop":
            made = apply_step(graph, inner, rows.of(graph, own))
            matrix = made.numbers(graph)
            parts.append(graph.node("Mul", matrix, np.float64(weights[name])) if name in weights else matrix)
            width += made.width
    require(parts, "a ColumnTransformer that drops every column leaves nothing to predict from")
    return Rows(width, _side_by_side(graph, parts))


def _one_after_the_other(graph: Graph, pipeline: Pipeline, rows: Rows) -> Rows:
    for _, step in pipeline.steps:
        rows = apply_step(graph, step, rows)
    return rows


OPERATORS: dict[type, Callable[[Graph, Any, Rows], Rows]] = {
    StandardScaler: _standard,
    MinMaxScaler: _by_range,
    MaxAbsScaler: _by_largest,
    RobustScaler: _robust,
    Normalizer: _normalized,
    SimpleImputer: _imputed,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
    ColumnTransformer: _by_columns,
    Pipeline: _one_after_the_other,
}


# ---- the input ----------------------------------------------------------------------------------------------------


def text_columns(step: Any, columns: Sequence[int]) -> set[int]:
    """Those columns of the input whose categories are text, by a step that gets these columns."""
    if type(step) is ColumnTransformer:
        inner = [text_columns(each, [columns[k] for k in own]) for _, each, own in fitted_columns(step)]
        return set().union(*inner)
    if type(step) is Pipeline:
        return text_columns(first_step(step), columns)
    if type(step) in (OneHotEncoder, OrdinalEncoder):
        return {column for column, own in zip(columns, step.categories_, strict=True) if is_text(own)}
    return set()


def inputs_of(graph: Graph, pipeline: Pipeline) -> tuple[list[Tensor], Rows]:
    """One matrix of doubles, or, if any column is text, each column by itself under its name."""
    first = first_step(pipeline)
    width = first.n_features_in_
    texts = text_columns(pipeline, range(width))
    if not texts:
        return [Tensor("X", np.float64, width)], Rows(width, graph.cast("X", np.float64))
    names = getattr(first, "feature_names_in_", [f"x{k}" for k in range(width)])
    for name in names:
        require(name, "ONNX has no empty names: name each column")
        require(name not in RESULTS, f"the column {name!r} has the name of an output: rename it")
    graph.taken.update(names)
    tensors = [Tensor(name, object if k in texts else np.float64, 1) for k, name in enumerate(names)]
    return tensors, Rows(width, columns=tuple(tensor.name for tensor in tensors))
