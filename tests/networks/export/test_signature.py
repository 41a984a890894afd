"""Names, order, types, shapes and constants of exported files, against models Unity users have."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import numpy_helper

from sparring.networks.export import policy_bytes
from sparring.specs import ActionSpec, ObservationSpec
from tests.networks.builders import actor, behavior, goal

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "onnx_exports.json").read_text())["models"]
VECTOR = ObservationSpec.vector(2)
THREE = ActionSpec.create_discrete((3,))
TWO = ActionSpec.create_continuous(2)
BOTH = behavior(ObservationSpec.entities(4, 3), VECTOR, actions=ActionSpec.create_hybrid(2, (3, 2)))

ACTORS = {
    "discrete branches [3], vector obs 2": lambda: actor(behavior(VECTOR, actions=THREE)),
    "continuous 2, vector obs 2, normalized": lambda: actor(behavior(VECTOR, actions=TWO), normalize=True),
    "continuous 2, vector obs 2, memory_size 8": lambda: actor(behavior(VECTOR, actions=TWO), memory_size=8),
    "hybrid: continuous 2, branches [3,2], variable-length obs 4x3, vector obs 2": lambda: actor(BOTH),
    "discrete [3], visual obs 3x20x20, vector obs 2": lambda: actor(
        behavior(ObservationSpec.image(3, 20, 20), VECTOR, actions=THREE)
    ),
    "poca discrete [3]": lambda: actor(behavior(VECTOR, actions=THREE)),
    "sac continuous 2": lambda: actor(behavior(VECTOR, actions=TWO), squash=True),
    "sac hybrid": lambda: actor(BOTH, squash=True),
}
KNOWN_OPERATIONS = {kind for model in GOLDEN for kind in model["op_types"]}


def signature(model: Any) -> dict[str, Any]:
    """Ports in the form of the golden file; sizes that are not numbers become None."""
    weights = {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}
    makers = {output: node for node in model.graph.node for output in node.output}

    def described(port: Any) -> dict[str, Any]:
        kind = port.type.tensor_type
        shape = [size.dim_value if size.HasField("dim_value") else None for size in kind.shape.dim]
        found = {"name": port.name, "type": onnx.TensorProto.DataType.Name(kind.elem_type), "shape": shape}
        maker = makers.get(port.name)
        if maker is not None:
            found["produced_by"] = maker.op_type
        if maker is not None and maker.op_type == "Identity":
            found["identity_of_initializer"] = weights[maker.input[0]].tolist()
        return found

    return {
        "inputs": [described(port) for port in model.graph.input],
        "outputs": [described(port) for port in model.graph.output],
    }


def golden_signature(golden: Any) -> dict[str, Any]:
    def described(port: Any) -> dict[str, Any]:
        return {**port, "shape": [size if isinstance(size, int) else None for size in port["shape"]]}

    return {kind: [described(port) for port in golden[kind]] for kind in ("inputs", "outputs")}


def test_every_golden_model_is_compared():
    assert {golden["description"] for golden in GOLDEN} == set(ACTORS)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["description"])
def test_ports_are_those_of_the_golden_model(golden):
    expected = golden_signature(golden)
    for port in expected["outputs"]:
        # The known tool leaves the tanh out of the greedy actions of SAC; ours are bounded as their name promises.
        if golden["description"].startswith("sac") and port["name"] == "deterministic_continuous_actions":
            port["produced_by"] = "Tanh"
    model = onnx.load_model_from_string(policy_bytes(ACTORS[golden["description"]]()))
    assert signature(model) == expected
    assert [[opset.domain, opset.version] for opset in model.opset_import] == golden["opset"]
    assert model.ir_version == golden["ir_version"]


@pytest.mark.parametrize("opset", [10, 11, 13, 15, 18])
def test_the_signature_is_the_same_at_every_opset(opset):
    network = actor(BOTH, memory_size=8)
    model = onnx.load_model_from_string(policy_bytes(network, opset=opset))
    assert signature(model) == signature(onnx.load_model_from_string(policy_bytes(network)))
    assert model.opset_import[0].version == opset
    assert model.ir_version == (4 if opset <= 10 else 8)


@pytest.mark.parametrize("encoder", ["simple", "nature_cnn", "resnet", "match3", "fully_connected"])
def test_default_files_hold_only_operations_that_unity_has_met(encoder):
    spec = behavior(ObservationSpec.image(3, 36, 36), ObservationSpec.entities(3, 2), goal(2), VECTOR)
    network = actor(spec, memory_size=8, normalize=True, vis_encode_type=encoder, squash=True)
    model = onnx.load_model_from_string(policy_bytes(network))
    found = {node.op_type for node in model.graph.node}
    assert found <= KNOWN_OPERATIONS | {"Relu", "MaxPool"}


def test_only_the_first_axis_is_dynamic_and_it_is_the_batch():
    model = onnx.load_model_from_string(policy_bytes(actor(BOTH, memory_size=8)))
    for port in (*model.graph.input, *model.graph.output):
        first, *rest = port.type.tensor_type.shape.dim
        assert first.dim_param in ("batch", "")
        assert all(size.HasField("dim_value") for size in rest)


def test_images_are_declared_channels_first_and_sensors_keep_their_order():
    spec = behavior(VECTOR, ObservationSpec.image(3, 20, 24), ObservationSpec.vector(5))
    ports = signature(onnx.load_model_from_string(policy_bytes(actor(spec))))["inputs"]
    found = {port["name"]: port["shape"] for port in ports}
    assert list(found.items())[:3] == [("obs_0", [None, 2]), ("obs_1", [None, 3, 20, 24]), ("obs_2", [None, 5])]
