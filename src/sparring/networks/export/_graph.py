"""A graph under construction: nodes, weights, and the few nodes whose form depends on the opset.

Nothing here needs the onnx package; `_model` turns the finished graph into a file.

The nodes are those that known exporters write into opset-9 files for Unity, so that every importer of Unity has met
them. Where an opset moved a parameter from an attribute to an input, the method here writes the form of its opset.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOAT", "INT64", "Attribute", "GraphWriter", "Node", "Port"]

FLOAT = 1
"""ONNX's number for float32."""
INT64 = 7
"""ONNX's number for int64."""

Attribute = int | float | str | list[int]
Weights = NDArray[np.float32] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Node:
    """One operation; an empty input name is an input left out."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute]


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph.

    Attributes:
        name: as Unity looks for it.
        shape: sizes; None is the batch axis.
        is_index: int64 if true, else float32.
    """

    name: str
    shape: tuple[int | None, ...]
    is_index: bool = False


@dataclass(slots=True)
class GraphWriter:
    """Collects nodes and weights; every method that adds a node returns the name of its (first) output."""

    opset: int
    nodes: list[Node] = field(default_factory=list)
    weights: dict[str, Weights] = field(default_factory=dict)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def input(self, port: Port) -> str:
        """Declares an input."""
        self.inputs.append(port)
        return port.name

    def constant_output(self, port: Port, values: NDArray[np.float32]) -> None:
        """An output that is always the same: the identity of a weight, as importers expect it."""
        self.node("Identity", self.weight(f"{port.name}.value", values), name=port.name)
        self.outputs.append(port)

    def output(self, port: Port, kind: str, *inputs: str, **attributes: Attribute) -> None:
        """An output, and the node that makes it."""
        self.node(kind, *inputs, name=port.name, **attributes)
        self.outputs.append(port)

    def weight(self, name: str, values: NDArray[np.float32]) -> str:
        """Stores float32 weights under a name of their own."""
        assert name not in self.weights, name
        self.weights[name] = np.ascontiguousarray(values, np.float32)
        return name

    def number(self, value: float) -> str:
        """A float32 scalar, stored once however often it is used."""
        name = f"number_{value!r}"
        self.weights[name] = np.array(value, np.float32)
        return name

    def indices(self, values: list[int]) -> str:
        """An int64 row, stored once however often it is used."""
        name = "indices_" + "_".join(map(str, values))
        self.weights[name] = np.array(values, np.int64)
        return name

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Attribute) -> str:
        """Adds an operation with one output."""
        output = name or self._fresh(kind)
        self.nodes.append(Node(kind, inputs, (output,), attributes))
        return output

    def node_with(self, kind: str, *inputs: str, outputs: int, **attributes: Attribute) -> tuple[str, ...]:
        """Adds an operation with several outputs."""
        names = tuple(self._fresh(kind) for _ in range(outputs))
        self.nodes.append(Node(kind, inputs, names, attributes))
        return names

    # --- operations with one form in all opsets -----------------------------------------------------------------

    def concat(self, parts: list[str], *, axis: int) -> str:
        """Joins along an axis; a single part stays as it is."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=axis)

    def reshape(self, x: str, shape: list[int]) -> str:
        """One size may be -1."""
        return self.node("Reshape", x, self.indices(shape))

    def silu(self, x: str) -> str:
        """Each number times its sigmoid."""
        return self.node("Mul", x, self.node("Sigmoid", x))

    def softmax(self, x: str, *, rank: int) -> str:
        """Over the last axis; up to opset 12 the axes before it are flattened, which comes to the same."""
        return self.node("Softmax", x, axis=rank - 1)

    def layer_norm(self, x: str, *, rank: int, epsilon: float) -> str:
        """Zero mean and unit deviation over the last axis, without learned scale."""
        centered = self.node("Sub", x, self.reduce("ReduceMean", x, axis=rank - 1))
        variance = self.reduce("ReduceMean", self.node("Mul", centered, centered), axis=rank - 1)
        return self.node("Div", centered, self.node("Sqrt", self.node("Add", variance, self.number(epsilon))))

    # --- operations whose form depends on the opset -------------------------------------------------------------

    def reduce(self, kind: str, x: str, *, axis: int, keep: bool = True) -> str:
        """`ReduceSum` or `ReduceMean` over one axis."""
        since = {"ReduceSum": 13, "ReduceMean": 18}[kind]
        if self.opset >= since:
            return self.node(kind, x, self.indices([axis]), keepdims=int(keep))
        return self.node(kind, x, axes=[axis], keepdims=int(keep))

    def slice(self, x: str, *, axis: int, start: int, stop: int) -> str:
        """Columns `start` to `stop - 1` of an axis."""
        if self.opset >= 10:
            return self.node("Slice", x, self.indices([start]), self.indices([stop]), self.indices([axis]))
        return self.node("Slice", x, axes=[axis], starts=[start], ends=[stop])

    def squeeze(self, x: str, *, axis: int) -> str:
        """Drops an axis of size 1."""
        if self.opset >= 13:
            return self.node("Squeeze", x, self.indices([axis]))
        return self.node("Squeeze", x, axes=[axis])

    def clip(self, x: str, least: float, most: float) -> str:
        """Bounds every number."""
        if self.opset >= 11:
            return self.node("Clip", x, self.number(least), self.number(most))
        return self.node("Clip", x, min=float(least), max=float(most))

    def _fresh(self, kind: str) -> str:
        number = self._numbers.get(kind, 0)
        self._numbers[kind] = number + 1
        return f"{kind}_{number}"
