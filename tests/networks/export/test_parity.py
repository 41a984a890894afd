"""Exported files against the policies they were made from, run by onnxruntime and compared here by hand.

The inputs are those of case export-01: 64 each, at the default opset and the two newer ones.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from sparring.networks import ActionDistribution, Actor, ObservationLayout, scaled_for_environment
from sparring.networks.export import ExportReport, export_policy, policy_bytes, verify_export
from sparring.specs import ActionSpec, ObservationSpec
from tests.networks.builders import HYBRID, actor, behavior, generator, goal, goal_image

Obs = list[Any]
ROWS = 64
TOLERANCE = 1e-5
OPSETS = pytest.mark.parametrize("opset", [9, 15, 18])


def session_of(network: Actor, opset: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = policy_bytes(network, opset=opset)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session: onnxruntime.InferenceSession, obs: Obs, *, mask: Any = None, memory: Any = None) -> dict[str, Any]:
    feeds = {f"obs_{index}": sensor for index, sensor in enumerate(obs)}
    names = {port.name for port in session.get_inputs()}
    if "action_masks" in names:
        feeds["action_masks"] = np.ones((len(obs[0]), 7), np.float32) if mask is None else (~mask).astype(np.float32)
    if memory is not None:
        feeds["recurrent_in"] = memory[:, None, :]
    return dict(zip([port.name for port in session.get_outputs()], session.run(None, feeds), strict=True))


def act(
    network: Actor, obs: Obs, *, mask: Any = None, memory: Any = None
) -> tuple[ActionDistribution, torch.Tensor | None]:
    """The in-process side: the distribution and the memory afterwards."""
    inputs = [torch.tensor(column) for column in ObservationLayout(network.spec).inputs(obs)]
    with torch.inference_mode():
        parameters, after = network(inputs, None if memory is None else torch.tensor(memory))
        blocked = None if mask is None else torch.tensor(mask)
        return ActionDistribution(parameters, network.spec.action_spec, blocked, squash=network.squash), after


def assert_same(network: Actor, opset: int, obs: Obs, mask: Any = None) -> None:
    distribution, _ = act(network, obs, mask=mask)
    found = run(session_of(network, opset), obs, mask=mask)
    continuous, discrete = distribution.most_likely()
    scaled = scaled_for_environment(continuous, network.squash).numpy()
    assert np.abs(found["deterministic_continuous_actions"] - scaled).max() < TOLERANCE
    np.testing.assert_array_equal(found["deterministic_discrete_actions"], discrete.numpy())
    chances = distribution.choice_log_probs().exp().numpy()
    first, second = found["discrete_actions"].T
    assert (chances[np.arange(len(obs[0])), first] > 0.0).all()
    assert (chances[np.arange(len(obs[0])), 3 + second] > 0.0).all()


def assert_proven(network: Actor, opset: int, obs: Obs, masks: Any, tmp_path: Path) -> ExportReport:
    """The sampled side, with fixed noise, as `export_policy` proves it."""
    report = export_policy(network, tmp_path / "policy.onnx", opset=opset, observations=[obs], masks=[masks])
    assert {"sampled_continuous_actions", "sampled_discrete_actions"} <= set(report.max_difference)
    assert report.rows == len(obs[0])
    assert report.worst < TOLERANCE
    return report


def masks(seed: int = 1) -> Any:
    drawn = np.random.default_rng(seed).random((ROWS, 7)) < 0.4
    drawn[0] = False
    drawn[1] = True  # nothing available anywhere
    drawn[2, :3] = True  # nothing available in the first branch
    drawn[3] = [True, True, False, True, True, True, False]
    return drawn


def normals(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((ROWS, *shape)).astype(np.float32)


@OPSETS
def test_a_normalized_vector(opset, tmp_path):
    network = actor(behavior(ObservationSpec.vector(8)), normalize=True, hidden_units=128)
    network.normalizer.update(torch.randn(100_000, 8, generator=generator()) * 30.0 + 100.0)
    assert network.normalizer.scale.reciprocal().tolist() == pytest.approx([30.0] * 8, rel=0.02)
    obs = [normals(8) * 30.0 + 100.0]
    obs[0][0] = 1e6
    assert_same(network, opset, obs)
    assert_proven(network, opset, obs, None, tmp_path)


@OPSETS
def test_an_image(opset, tmp_path):
    network = actor(behavior(ObservationSpec.image(1, 20, 20)), hidden_units=128)
    obs = [np.random.default_rng(0).random((ROWS, 1, 20, 20), np.float32)]
    assert_same(network, opset, obs)
    assert_proven(network, opset, obs, None, tmp_path)


@pytest.mark.parametrize("encoder", ["resnet", "nature_cnn", "match3", "fully_connected"])
def test_the_other_image_encoders(encoder, tmp_path):
    network = actor(behavior(ObservationSpec.image(3, 36, 41)), vis_encode_type=encoder)
    obs = [np.random.default_rng(0).random((4, 3, 36, 41), np.float32)]
    assert_same(network, 9, obs)
    assert_proven(network, 9, obs, None, tmp_path)


ENTITIES = behavior(ObservationSpec.entities(20, 3), ObservationSpec.vector(4))


@OPSETS
@pytest.mark.parametrize("present", [0, 1, 20])
def test_lists_of_entities(opset, present, tmp_path):
    network = actor(ENTITIES, hidden_units=128)
    entities = normals(20, 3) + 1.0
    entities[:, present:] = 0.0
    obs = [entities, normals(4)]
    found = run(session_of(network, opset), obs)
    assert np.isfinite(found["deterministic_continuous_actions"]).all()
    assert_same(network, opset, obs)
    assert assert_proven(network, opset, obs, None, tmp_path).notices == ()


@OPSETS
def test_a_zero_row_in_the_middle_is_absent_on_both_sides_and_told_once(opset, tmp_path):
    network = actor(ENTITIES, hidden_units=128)
    entities = normals(20, 3) + 1.0
    entities[:, 2] = 0.0
    obs = [entities, normals(4)]
    assert_same(network, opset, obs)
    moved = [np.concatenate((entities[:, :2], entities[:, 3:], entities[:, 2:3]), axis=1), obs[1]]
    session = session_of(network, opset)
    name = "deterministic_continuous_actions"
    np.testing.assert_allclose(run(session, moved)[name], run(session, obs)[name], atol=TOLERANCE)
    report = export_policy(network, tmp_path / "policy.onnx", opset=opset, observations=[obs, obs, obs])
    assert len(report.notices) == 1
    assert "entity 2" in report.notices[0].where


@OPSETS
def test_memory_over_fifty_steps(opset, tmp_path):
    network = actor(behavior(ObservationSpec.vector(8)), memory_size=128, hidden_units=128)
    session = session_of(network, opset)
    steps = [[normals(8, seed=step)] for step in range(50)]
    ours = theirs = np.zeros((ROWS, 128), np.float32)
    for obs in steps:
        distribution, after = act(network, obs, memory=ours)
        found = run(session, obs, memory=theirs)
        assert found["memory_size"].tolist() == [128.0]
        assert found["recurrent_out"].shape == (ROWS, 1, 128)
        assert after is not None
        ours, theirs = after.numpy(), found["recurrent_out"][:, 0]
        assert np.abs(ours - theirs).max() < TOLERANCE
        scaled = scaled_for_environment(distribution.most_likely()[0], squash=False).numpy()
        assert np.abs(found["deterministic_continuous_actions"] - scaled).max() < TOLERANCE
    assert np.abs(ours).max() > 0.1
    report = export_policy(network, tmp_path / "policy.onnx", opset=opset, observations=steps)
    assert report.rows == 50 * ROWS
    assert report.worst < TOLERANCE


@OPSETS
@pytest.mark.parametrize("squash", [False, True])
def test_masks_and_hybrid_actions(opset, squash, tmp_path):
    network = actor(behavior(ObservationSpec.vector(8)), squash=squash, hidden_units=128, seed=4)
    with torch.no_grad():
        network.heads.get_parameter("logits.weight").mul_(20.0)
        network.heads.get_parameter("mean.weight").mul_(20.0)
    obs = [normals(8) * 3.0]
    assert_same(network, opset, obs, masks())
    assert_proven(network, opset, obs, masks(), tmp_path)
    assert np.abs(run(session_of(network, opset), obs)["deterministic_continuous_actions"]).max() <= 1.0 + 1e-6


@OPSETS
def test_everything_together(opset, tmp_path):
    spec = behavior(
        goal(2),
        ObservationSpec.image(1, 20, 20),
        ObservationSpec.entities(3, 2),
        ObservationSpec.vector(3),
        goal_image(2, 20, 20),
        goal(1),
        ObservationSpec.entities(5, 4),
    )
    network = actor(spec, normalize=True, memory_size=16)
    report = export_policy(network, tmp_path / "policy.onnx", opset=opset)
    assert report.worst < TOLERANCE
    assert "recurrent_out" in report.max_difference


def test_only_entities_without_anything_else(tmp_path):
    spec = behavior(ObservationSpec.entities(3, 2), ObservationSpec.entities(5, 4))
    assert export_policy(actor(spec), tmp_path / "policy.onnx").worst < TOLERANCE


@pytest.mark.parametrize("opset", range(9, 21))
def test_every_opset_that_can_be_asked_for_is_proven(opset, tmp_path):
    spec = behavior(ObservationSpec.entities(3, 2), ObservationSpec.vector(3))
    report = export_policy(actor(spec, memory_size=8, normalize=True), tmp_path / "policy.onnx", opset=opset)
    assert report.worst < TOLERANCE


@pytest.mark.parametrize("actions", [ActionSpec.create_continuous(3), ActionSpec.create_discrete((2,)), HYBRID])
@pytest.mark.parametrize("squash", [False, True])
def test_every_kind_of_action(actions, squash, tmp_path):
    network = actor(behavior(ObservationSpec.vector(2), actions=actions), squash=squash)
    assert export_policy(network, tmp_path / "policy.onnx").worst < TOLERANCE


@pytest.mark.parametrize("squash", [False, True])
def test_sampled_continuous_actions_of_the_file_itself_have_the_policys_spread(squash):
    spec = behavior(ObservationSpec.vector(2), actions=ActionSpec.create_continuous(2))
    network = actor(spec, squash=squash)
    if not squash:
        with torch.no_grad():
            network.heads.get_parameter("log_std").copy_(torch.tensor([-1.0, 0.5]))
    obs = [np.tile(np.array([[0.3, -0.7]], np.float32), (20_000, 1))]
    drawn = run(session_of(network, 9), obs)["continuous_actions"]
    ours = (
        scaled_for_environment(act(network, obs)[0].with_noise(torch.randn(20_000, 2, generator=generator())), squash)
        .detach()
        .numpy()
    )
    np.testing.assert_allclose(drawn.mean(0), ours.mean(0), atol=0.02)
    np.testing.assert_allclose(drawn.std(0), ours.std(0), atol=0.02)
    assert drawn.std(0).min() > 0.05


def test_the_proof_can_be_repeated_on_the_file(tmp_path):
    network = actor(ENTITIES)
    path = tmp_path / "policy.onnx"
    written = export_policy(network, path)
    again = verify_export(path, network, [[normals(20, 3), normals(4)]], [masks()])
    assert again.weights_hash == written.weights_hash
    assert again.worst < TOLERANCE
