"""Running an exported file: as it is, and as a probe whose random parts are laid open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from sparring.errors import ExportError

from ._model import load_package

__all__ = ["DRAWS", "DRAW_INPUTS", "NOISE", "Session", "as_probe", "metadata_of"]

Array = NDArray[Any]

NOISE = "fixed_noise"
"""Input of a probe: the standard normal numbers its sampled continuous actions are made with."""
DRAW_INPUTS = "draw_inputs_"
"""Outputs of a probe, numbered by branch: the log-probabilities its sampled choices are drawn from."""
DRAWS = 256
"""How often a probe draws each choice; its `discrete_actions` is `[batch, branches * DRAWS]`."""


class Session:
    """A model loaded into onnxruntime, on one thread."""

    def __init__(self, model: bytes) -> None:
        runtime = load_package("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ExportError("onnxruntime cannot load the model", found=str(error)) from error
        self.inputs: tuple[str, ...] = tuple(port.name for port in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(port.name for port in self._session.get_outputs())

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """All outputs by name."""
        try:
            values = self._session.run(None, dict(feeds))
        except Exception as error:
            raise ExportError("onnxruntime cannot run the model", found=str(error)) from error
        return dict(zip(self.outputs, values, strict=True))


def as_probe(model: bytes, *, seed: int = 1) -> bytes:
    """A copy of a model that shows what is behind its random outputs.

    The normal noise becomes an input, the inputs of every draw become outputs, and every draw is seeded and repeated.
    Everything else is the file's own, so what is proven of the probe holds for the file.
    """
    onnx = load_package("onnx")
    helper = load_package("onnx.helper")
    proto = onnx.load_model_from_string(model)
    graph = proto.graph
    draws = 0
    for node in graph.node:
        if node.op_type == "RandomNormalLike":
            graph.input.append(helper.make_tensor_value_info(NOISE, onnx.TensorProto.FLOAT, ["batch", None]))
            del node.attribute[:]
            node.op_type = "Identity"
            node.input[0] = NOISE
        elif node.op_type == "Multinomial":
            kept = [attribute for attribute in node.attribute if attribute.name == "dtype"]
            del node.attribute[:]
            repeated = {"seed": float(seed + draws), "sample_size": DRAWS}
            node.attribute.extend([*kept, *(helper.make_attribute(name, value) for name, value in repeated.items())])
            # A second name for the same numbers: an output of the graph must have one of its own.
            name = f"{DRAW_INPUTS}{draws}"
            source = node.input[0]
            graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", None]))
            graph.node.append(helper.make_node("Identity", [source], [name], name=name))
            draws += 1
    for port in graph.output:
        if port.name == "discrete_actions":
            port.CopyFrom(helper.make_tensor_value_info(port.name, onnx.TensorProto.INT64, ["batch", None]))
    result: bytes = proto.SerializeToString()
    return result


def metadata_of(model: bytes) -> dict[str, str]:
    """The notes a file carries about itself."""
    proto = load_package("onnx").load_model_from_string(model)
    return {note.key: note.value for note in proto.metadata_props}
