"""An ONNX graph of plain operators, under construction."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..extras import needed_by

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSETS = {"": 17, "ai.onnx.ml": 2}  # the second one only for categories of text
FORMAT = 8  # version of the file format; runtimes since 2022 read it


def import_onnx() -> ModuleType:
    """The package onnx, or an error that says how to install it."""
    with needed_by("export_onnx"):
        import onnx
    return onnx


@dataclass(frozen=True)
class Tensor:
    """An input or an output: one value for each row, or a number of columns."""

    name: str
    dtype: DTypeLike
    columns: int | None = None

    def info(self) -> ValueInfoProto:
        """Its declaration."""
        helper = import_onnx().helper
        shape = ["n"] if self.columns is None else ["n", self.columns]
        return helper.make_tensor_value_info(self.name, helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)), shape)


class Graph:
    """Nodes and constants in the order of their addition; each is named after its output.

    ``taken`` are names of inputs, which nothing else gets.
    """

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.taken: set[str] = set()
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, operator: str, *inputs: str | np.ndarray | float, output: str = "", **attributes: Any) -> str:
        """Add an operator; returns the name of its output. Numbers among its inputs become constants."""
        name, names = output or self._free(f"{operator.lower()}_{len(self.nodes)}"), []
        for value in inputs:
            names.append(value if isinstance(value, str) else self._free(f"constant_{len(self.constants)}"))
            if not isinstance(value, str):
                self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), names[-1]))
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def _free(self, name: str) -> str:
        return self._free(f"{name}_") if name in self.taken else name

    def cast(self, value: str | np.ndarray, dtype: DTypeLike) -> str:
        """The values in another type."""
        return self.node("Cast", value, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def proto(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> ModelProto:
        """The graph as a model, checked, with those of the inputs that it needs."""
        helper = self.onnx.helper
        needed = {name for node in self.nodes for name in node.input}
        ends = [tensor.info() for tensor in inputs if tensor.name in needed], [tensor.info() for tensor in outputs]
        domains = sorted({node.domain for node in self.nodes})
        proto = helper.make_model(
            helper.make_graph(self.nodes, name, *ends, self.constants),
            opset_imports=[helper.make_opsetid(domain, OPSETS[domain]) for domain in domains],
            producer_name="swapsvm",
            producer_version=__version__,
            ir_version=FORMAT,
        )
        self.onnx.checker.check_model(proto, full_check=True)
        return proto
