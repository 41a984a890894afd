"""The file itself: same weights, same bytes; what it says of itself; nothing half-written or unproven in its place."""

import os

import numpy as np
import pytest
import torch

from sparring.errors import ExportError
from sparring.networks import SharedActorCritic, weights_hash
from sparring.networks.export import export_policy, metadata_of, policy_bytes
from sparring.settings.network import NetworkSettings
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, observations

SPEC = behavior(ObservationSpec.vector(3))


def test_equal_weights_give_equal_bytes_and_others_do_not():
    one, same, other = (policy_bytes(actor(SPEC, seed=seed, memory_size=8)) for seed in (1, 1, 2))
    assert one == same != other


def test_the_file_states_the_hash_of_its_weights(tmp_path):
    network = actor(SPEC, normalize=True)
    report = export_policy(network, tmp_path / "policy.onnx")
    stated = metadata_of((tmp_path / "policy.onnx").read_bytes())
    assert stated == {"sparring_weights_hash": weights_hash(network)}
    assert report.weights_hash == weights_hash(network)


def test_the_folder_is_made_and_holds_the_file_alone(tmp_path):
    path = tmp_path / "results" / "run" / "policy.onnx"
    report = export_policy(actor(SPEC), path)
    assert report.path == path
    assert [file.name for file in path.parent.iterdir()] == ["policy.onnx"]
    assert path.read_bytes() == policy_bytes(actor(SPEC))


def test_a_file_that_fails_its_proof_never_takes_the_place_of_the_last_one(tmp_path):
    path = tmp_path / "policy.onnx"
    export_policy(actor(SPEC), path)
    before = path.read_bytes()
    spoiled = actor(SPEC)
    with torch.no_grad():
        spoiled.body.layers[0].weight[0, 0] = torch.nan
    with pytest.raises(ExportError):
        export_policy(spoiled, path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["policy.onnx"]


def test_a_new_file_replaces_the_last_one_and_is_not_written_over_it(tmp_path):
    path, reader = tmp_path / "policy.onnx", tmp_path / "reader.onnx"
    export_policy(actor(SPEC), path)
    before = path.read_bytes()
    reader.hardlink_to(path)
    export_policy(actor(SPEC, seed=1), path)
    assert reader.read_bytes() == before != path.read_bytes()


def test_an_interrupted_write_leaves_the_last_file(tmp_path, monkeypatch):
    path = tmp_path / "policy.onnx"
    export_policy(actor(SPEC), path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError, match="No space left"):
        export_policy(actor(SPEC, seed=1), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["policy.onnx"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="cannot be written"):
        export_policy(actor(SPEC), tmp_path / "file" / "policy.onnx")


def test_other_weights_than_the_learners_are_refused(tmp_path):
    network = actor(SPEC)
    export_policy(network, tmp_path / "policy.onnx", expected_hash=weights_hash(network))
    with pytest.raises(ExportError, match="does not have the learner's weights"):
        export_policy(actor(SPEC, seed=1), tmp_path / "other.onnx", expected_hash=weights_hash(network))
    assert not (tmp_path / "other.onnx").exists()


@pytest.mark.parametrize("opset", [0, 8, 21])
def test_an_opset_that_cannot_be_written_is_refused(opset, tmp_path):
    with pytest.raises(ExportError, match=f"found {opset}, expected 9 to 20"):
        export_policy(actor(SPEC), tmp_path / "policy.onnx", opset=opset)


def test_the_actor_of_a_shared_body_exports_like_any_other(tmp_path):
    network = SharedActorCritic(
        SPEC, NetworkSettings(hidden_units=8), signals=["extrinsic"], generator=torch.Generator().manual_seed(0)
    )
    assert export_policy(network.actor, tmp_path / "policy.onnx").worst < 1e-5


def test_exporting_leaves_the_actor_and_the_global_generator_as_they_were(tmp_path):
    network = actor(SPEC, normalize=True, memory_size=8)
    before, state = weights_hash(network), torch.get_rng_state()
    network.train()
    export_policy(network, tmp_path / "policy.onnx", observations=[observations(SPEC, 8)])
    assert weights_hash(network) == before
    assert torch.equal(state, torch.get_rng_state())
    assert network.training
    assert all(weight.requires_grad for weight in network.parameters())


def test_observations_that_cannot_be_written_to_will_do(tmp_path):
    obs = observations(SPEC, 8)
    mask = np.zeros((8, 7), np.bool_)
    for array in (*obs, mask):
        array.flags.writeable = False
    assert export_policy(actor(SPEC), tmp_path / "policy.onnx", observations=[obs], masks=[mask]).rows == 8
