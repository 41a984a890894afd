"""From a finished graph to the bytes of an ONNX file."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from sparring.errors import ExportError

from ._graph import GraphWriter, Node, Port

__all__ = ["NEWEST_OPSET", "OLDEST_OPSET", "load_package", "to_bytes"]

OLDEST_OPSET = 9
NEWEST_OPSET = 20
_INSTALL = 'install the exporter\'s packages: pip install "onnx>=1.17,<2" "onnxruntime>=1.20,<2"'


def load_package(name: str) -> Any:  # noqa: ANN401 - these packages have no types worth the name
    """Imports onnx or onnxruntime, which export alone needs.

    Raises:
        ExportError: it is missing, or does not fit the other packages; says how to mend it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name == name.partition(".")[0]
        what = f"the package {name!r} is not installed" if missing else f"the package {name!r} cannot be imported"
        raise ExportError(what, found="" if missing else str(error), cure=_INSTALL) from error
    except Exception as error:
        # A package built for another version of protobuf or numpy fails in ways of its own.
        found = f"{type(error).__name__}: {error}"
        raise ExportError(f"the package {name!r} cannot be imported", found=found, cure=_INSTALL) from error


def to_bytes(graph: GraphWriter, metadata: Mapping[str, str]) -> bytes:
    """The file of a graph; equal graphs give equal bytes.

    Raises:
        ExportError: onnx is missing, or its full check refuses the file.
    """
    onnx = load_package("onnx")
    checker = load_package("onnx.checker")
    helper = load_package("onnx.helper")
    numpy_helper = load_package("onnx.numpy_helper")
    proto = helper.make_graph(
        [_node(helper, node, number) for number, node in enumerate(graph.nodes)],
        "policy",
        [_port(onnx, helper, port) for port in graph.inputs],
        [_port(onnx, helper, port) for port in graph.outputs],
        [numpy_helper.from_array(values, name) for name, values in graph.weights.items()],
    )
    model = helper.make_model(proto, producer_name="sparring", opset_imports=[helper.make_opsetid("", graph.opset)])
    # The version of the container that importers of that opset's time can read.
    model.ir_version = 4 if graph.opset <= 10 else 8
    helper.set_model_props(model, dict(metadata))
    try:
        checker.check_model(model, full_check=True)
    except Exception as error:
        raise ExportError("the onnx checker refuses the model", found=str(error)) from error
    result: bytes = model.SerializeToString(deterministic=True)
    return result


def _node(helper: Any, node: Node, number: int) -> Any:  # noqa: ANN401 - see load_package
    name = f"{node.kind}_{number}"
    return helper.make_node(node.kind, list(node.inputs), list(node.outputs), name=name, **node.attributes)


def _port(onnx: Any, helper: Any, port: Port) -> Any:  # noqa: ANN401 - see load_package
    kind = onnx.TensorProto.INT64 if port.is_index else onnx.TensorProto.FLOAT
    return helper.make_tensor_value_info(port.name, kind, ["batch" if size is None else size for size in port.shape])
