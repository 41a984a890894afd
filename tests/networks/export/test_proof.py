"""The proof finds what is wrong: each test breaks a file in one way and reads what is said."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from sparring.errors import ExportError
from sparring.networks import Actor
from sparring.networks.export import ExportReport, export_policy, policy_bytes, verify_export
from sparring.specs import ActionSpec, ObservationSpec
from tests.networks.builders import actor, behavior, observations

Change = Callable[[Any], object]
SPEC = behavior(ObservationSpec.vector(3))


def broken(network: Actor, tmp_path: Path, change: Change) -> Path:
    """A file of the network after `change` of its model."""
    model = onnx.load_model_from_string(policy_bytes(network))
    change(model)
    path = tmp_path / "policy.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def scaled_weight(name: str, factor: float) -> Change:
    def change(model: Any) -> None:
        (weight,) = (weight for weight in model.graph.initializer if weight.name == name)
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(factor), name))

    return change


def proof_of(path: Path, network: Actor, *, rows: int = 16) -> ExportReport:
    return verify_export(path, network, [observations(network.spec, rows)])


@pytest.mark.parametrize(
    ("weight", "factor", "output"),
    [
        ("heads.mean.weight", 1.001, "deterministic_continuous_actions"),
        ("heads.deviation", 1.001, "sampled_continuous_actions"),
        ("heads.logits.weight.0_3", 1.01, "sampled_discrete_actions"),
        ("heads.logits.weight.0_3", -1.0, "deterministic_discrete_actions"),
        ("version_number.value", 2.0 / 3.0, "version_number"),
        ("memory_size.value", 0.5, "memory_size"),
        ("discrete_action_output_shape.value", 2.0, "discrete_action_output_shape"),
    ],
)
def test_a_changed_weight_is_found_in_its_output(weight, factor, output, tmp_path):
    network = actor(SPEC, memory_size=8)
    path = broken(network, tmp_path, scaled_weight(weight, factor))
    with pytest.raises(ExportError, match=f"{output!r} is not what the policy does"):
        proof_of(path, network)


def test_a_memory_that_is_not_carried_on_is_found(tmp_path):
    network = actor(SPEC, memory_size=8)
    with torch.no_grad():
        for head in ("mean.weight", "logits.weight"):
            network.heads.get_parameter(head).zero_()
    path = broken(network, tmp_path, scaled_weight("body.memory.lstm.bias", 1.1))
    steps = [observations(SPEC, 4, seed=step) for step in range(2)]
    assert verify_export(path, network, steps[:1]).worst < 1e-5  # a forget gate shows only when there is a memory
    with pytest.raises(ExportError, match=r"'recurrent_out' .* of step 1"):
        verify_export(path, network, steps)


def test_the_first_row_that_differs_is_named(tmp_path):
    network = actor(SPEC)
    path = broken(network, tmp_path, scaled_weight("body.layers.0.weight", 1.5))
    obs = np.zeros((6, 3), np.float32)
    obs[4:] = 1.0
    quiet = np.zeros((6, 3), np.float32)
    with pytest.raises(ExportError, match=r"difference of .* first in row 4 of step 1"):
        verify_export(path, network, [[quiet], [obs]])


def test_weights_that_are_not_numbers_are_no_match(tmp_path):
    network = actor(SPEC)
    with torch.no_grad():
        network.heads.get_parameter("mean.bias").fill_(torch.nan)
    with pytest.raises(ExportError, match="difference of inf"):
        export_policy(network, tmp_path / "policy.onnx")


def test_a_draw_from_other_chances_is_found(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_discrete((2, 2))))
    with torch.no_grad():
        network.heads.get_parameter("logits.bias").copy_(torch.tensor([2.0, 0.0, 0.0, 2.0]))

    def swap_draws(model):
        (joined,) = (node for node in model.graph.node if node.output[0] == "discrete_actions")
        joined.input.reverse()

    path = broken(network, tmp_path, swap_draws)
    with pytest.raises(ExportError, match=r"'discrete_actions'.*drawn \d+ times"):
        proof_of(path, network)


def test_a_draw_that_can_hit_a_masked_choice_is_found(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_discrete((3,))))

    def draw_without_bars(model):
        (draw,) = (node for node in model.graph.node if node.op_type == "Multinomial")
        (barred,) = (node for node in model.graph.node if node.output[0] == draw.input[0])
        draw.input[0] = barred.input[0]

    path = broken(network, tmp_path, draw_without_bars)
    mask = np.zeros((16, 3), np.bool_)
    mask[:, 1] = True
    with pytest.raises(ExportError, match="a choice that is not available, in row 0"):
        verify_export(path, network, [observations(network.spec, 16)], [mask])


def test_sampled_actions_out_of_bounds_are_found(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_continuous(2)), squash=True)

    def stretch(model):
        (squashed,) = (node for node in model.graph.node if node.output[0] == "continuous_actions")
        squashed.output[0] = "squashed"
        model.graph.node.append(helper.make_node("Add", ["squashed", "squashed"], ["continuous_actions"]))

    path = broken(network, tmp_path, stretch)
    with pytest.raises(ExportError, match=r"'(sampled_)?continuous_actions' is not what the policy does"):
        proof_of(path, network)


def test_ignored_masks_are_found(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_discrete((3,))))

    def ignore_masks(model):
        for node in model.graph.node:
            for index, name in enumerate(node.input):
                if name == "action_masks":
                    node.input[index] = "all"
        ones = helper.make_node("Div", ["action_masks", "action_masks"], ["all"])
        model.graph.node.insert(0, ones)

    path = broken(network, tmp_path, ignore_masks)
    assert proof_of(path, network).worst < 1e-5
    mask = np.zeros((16, 3), np.bool_)
    mask[5, 1] = True
    with pytest.raises(ExportError, match="is not what the policy does"):
        verify_export(path, network, [observations(network.spec, 16)], [mask])


def test_choices_as_likely_as_each_other_but_for_the_last_digit_may_differ(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_discrete((3,))))
    with torch.no_grad():
        network.heads.get_parameter("logits.weight").zero_()
        network.heads.get_parameter("logits.bias").copy_(torch.tensor([0.0, 1.0, 1.0 - 1e-7]))

    def exchange_the_two(model):
        (bias,) = (weight for weight in model.graph.initializer if weight.name == "heads.logits.bias.0_3")
        values = numpy_helper.to_array(bias)[[0, 2, 1]]
        bias.CopyFrom(numpy_helper.from_array(values, bias.name))

    path = broken(network, tmp_path, exchange_the_two)
    assert 0.0 < proof_of(path, network).max_difference["deterministic_discrete_actions"] < 1e-6


def test_a_file_of_another_policy_is_refused_by_its_ports(tmp_path):
    path = tmp_path / "policy.onnx"
    export_policy(actor(SPEC, memory_size=8), path)
    with pytest.raises(ExportError, match="does not have the inputs of this policy"):
        proof_of(path, actor(SPEC))


def test_a_missing_output_is_named(tmp_path):
    network = actor(SPEC)
    path = broken(network, tmp_path, lambda model: model.graph.output.pop())
    with pytest.raises(ExportError, match="does not have the outputs of this policy"):
        proof_of(path, network)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x04" * 40])
def test_a_file_that_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "policy.onnx"
    path.write_bytes(content)
    with pytest.raises(ExportError):
        proof_of(path, actor(SPEC))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ExportError, match=r"policy\.onnx.*cannot be read"):
        proof_of(tmp_path / "policy.onnx", actor(SPEC))


def test_a_large_input_that_is_normalized_loosens_nothing(tmp_path):
    network = actor(SPEC, normalize=True)
    path = broken(network, tmp_path, scaled_weight("heads.mean.weight", 1.001))
    with pytest.raises(ExportError, match="'deterministic_continuous_actions'"):
        verify_export(path, network, [[np.full((4, 3), 1e6, np.float32)]])


def test_large_outputs_are_compared_relative_to_their_size(tmp_path):
    network = actor(behavior(ObservationSpec.vector(3), actions=ActionSpec.create_discrete((3,))))
    with torch.no_grad():
        network.heads.get_parameter("logits.weight").mul_(1e4)
    assert export_policy(network, tmp_path / "policy.onnx").worst < 1e-5
