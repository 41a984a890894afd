"""Weights at the start: their spread, their seed, and nothing global."""

import math

import pytest
import torch

from sparring.networks import SharedActorCritic, weights_hash
from sparring.specs import ObservationSpec
from tests.networks.builders import HYBRID, actor, behavior, critic, generator, goal, settings, tensors

EVERYTHING = behavior(
    ObservationSpec.vector(5), goal(2), ObservationSpec.image(2, 36, 36), ObservationSpec.entities(6, 4)
)


def spread(tensor: torch.Tensor) -> float:
    return float(tensor.detach().std())


def test_layers_of_the_body_are_kaiming_normal_with_bias_zero():
    body = actor(behavior(ObservationSpec.vector(300)), hidden_units=256).body
    for layer, inputs in zip(body.layers, (300, 256), strict=True):
        assert spread(layer.weight) == pytest.approx(1 / math.sqrt(inputs), rel=0.02)
        assert not layer.bias.any()


def test_action_heads_begin_small():
    heads = actor(behavior(ObservationSpec.vector(3), actions=HYBRID), hidden_units=512, seed=2).heads
    assert spread(heads.mean.weight) == pytest.approx(0.2 / math.sqrt(512), rel=0.1)
    assert spread(heads.logits.weight) == pytest.approx(0.1 / math.sqrt(512), rel=0.1)
    assert heads.logits.weight.shape == (7, 512)
    assert heads.log_std.tolist() == [0.0, 0.0]


def test_a_squashed_actor_has_a_deviation_that_depends_on_the_observation_within_bounds():
    spec = behavior(ObservationSpec.vector(3))
    squashed = actor(spec, squash=True, hidden_units=512)
    assert spread(squashed.heads.log_std.weight) == pytest.approx(0.2 / math.sqrt(512), rel=0.1)
    with torch.no_grad():
        squashed.heads.log_std.bias.copy_(torch.tensor([100.0, -100.0]))
    log_std = squashed(tensors(spec, 4))[0].log_std
    assert log_std.tolist() == [[2.0, -20.0]] * 4


def test_value_heads_are_xavier_uniform_one_by_one():
    signals = [str(number) for number in range(300)]
    values = critic(behavior(ObservationSpec.vector(3)), hidden_units=4, signals=signals).values
    bound = math.sqrt(6 / (4 + 1))
    assert values.weight.shape == (300, 4)
    assert values.weight.abs().max().item() == pytest.approx(bound, rel=0.02)
    assert spread(values.weight) == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_lstm_gates_are_xavier_uniform_and_the_forget_gate_begins_at_one():
    memory = actor(behavior(ObservationSpec.vector(3)), memory_size=64, hidden_units=128).body.memory
    bound = math.sqrt(6 / (32 + 128))
    assert memory.lstm.weight_ih_l0.abs().max().item() == pytest.approx(bound, rel=0.02)
    assert memory.lstm.weight_hh_l0.abs().max().item() == pytest.approx(math.sqrt(6 / 64), rel=0.02)
    total = memory.lstm.bias_ih_l0 + memory.lstm.bias_hh_l0
    assert total.tolist() == [0.0] * 32 + [1.0] * 32 + [0.0] * 64


def test_embeddings_begin_narrow():
    entities = actor(behavior(ObservationSpec.vector(100), ObservationSpec.entities(6, 4))).body.entities
    for layer in (entities.self_embedding, entities.embeddings[0], entities.query, entities.output):
        assert spread(layer.weight) == pytest.approx(math.sqrt(0.125 / 128), rel=0.05)


def test_image_encoders_begin_as_torch_draws_them():
    encoder = actor(behavior(ObservationSpec.image(3, 40, 40)), hidden_units=64).body.images[0]
    bound = 1 / math.sqrt(3 * 8 * 8)
    assert encoder.convolutions[0].weight.abs().max().item() == pytest.approx(bound, rel=0.02)
    assert 0.0 < encoder.convolutions[0].bias.abs().max().item() <= bound
    assert spread(encoder.dense.weight) == pytest.approx(1.41 / math.sqrt(encoder.flat_size), rel=0.05)


@pytest.mark.parametrize("encoder", ["simple", "nature_cnn", "resnet", "match3", "fully_connected"])
def test_equal_seeds_give_equal_weights_and_others_do_not(encoder):
    hashes = [
        weights_hash(actor(EVERYTHING, seed=seed, memory_size=8, normalize=True, vis_encode_type=encoder))
        for seed in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_nothing_is_drawn_from_the_global_generator():
    before = torch.get_rng_state()
    SharedActorCritic(EVERYTHING, settings(memory_size=8), signals=["extrinsic"], generator=generator())
    assert torch.equal(before, torch.get_rng_state())


def test_the_global_dtype_and_device_change_nothing():
    expected = weights_hash(actor(EVERYTHING, memory_size=8, normalize=True))
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            found = actor(EVERYTHING, memory_size=8, normalize=True)
    finally:
        torch.set_default_dtype(torch.float32)
    assert weights_hash(found) == expected


def test_the_first_decisions_of_a_large_network_are_nearly_even():
    spec = behavior(ObservationSpec.vector(336))
    parameters, _ = actor(spec, hidden_units=512)(tensors(spec, 64))
    assert parameters.logits.softmax(1).max() < 0.3
    assert parameters.mean.abs().max() < 1.0
