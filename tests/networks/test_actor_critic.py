"""Actor, critic and the two with one body: shapes, sharing, and the state they save."""

import copy
from typing import Any

import pytest
import torch

from sparring.networks import ActionDistribution, SharedActorCritic
from sparring.specs import ActionSpec, ObservationSpec
from tests.networks.builders import actor, behavior, critic, generator, settings, tensors

SIGNALS = ("extrinsic", "curiosity")
VECTOR = behavior(ObservationSpec.vector(4))


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("memory_size", [None, 8])
def test_values_have_one_column_a_signal(rows, memory_size):
    network = critic(VECTOR, signals=SIGNALS, memory_size=memory_size)
    values, memory = network(tensors(VECTOR, rows))
    assert values.shape == (rows, 2)
    assert (memory is None) == (memory_size is None)


@pytest.mark.parametrize(
    ("actions", "shapes"),
    [
        (ActionSpec.create_continuous(3), ((5, 3), (3,), None)),
        (ActionSpec.create_discrete((2, 3)), (None, None, (5, 5))),
        (ActionSpec.create_hybrid(1, (2,)), ((5, 1), (1,), (5, 2))),
    ],
)
def test_parameters_have_the_parts_of_the_spec(actions, shapes):
    spec = behavior(ObservationSpec.vector(4), actions=actions)
    parameters, _ = actor(spec)(tensors(spec, 5))
    assert tuple(None if part is None else tuple(part.shape) for part in parameters) == shapes


def test_nobody_asking_for_an_action_is_an_empty_batch():
    spec = behavior(ObservationSpec.vector(2), ObservationSpec.image(1, 20, 20), ObservationSpec.entities(3, 2))
    parameters, memory = actor(spec, memory_size=8)(tensors(spec, 0))
    distribution = ActionDistribution(parameters, spec.action_spec, torch.zeros(0, 7, dtype=torch.bool))
    continuous, discrete = distribution.most_likely()
    assert (continuous.shape, discrete.shape, memory.shape) == ((0, 2), (0, 2), (0, 8))
    assert distribution.log_prob(continuous, discrete).shape == (0,)


def shared(**values: Any) -> Any:
    return SharedActorCritic(VECTOR, settings(**values), signals=SIGNALS, generator=generator())


def test_a_shared_body_gives_the_actor_and_the_values_the_same_features():
    network = shared(memory_size=8)
    inputs = tensors(VECTOR, 5)
    parameters, values, memory = network(inputs)
    alone, memory_alone = network.actor(inputs)
    assert torch.equal(parameters.logits, alone.logits)
    assert torch.equal(memory, memory_alone)
    assert torch.equal(values, network.values(network.actor.body(inputs)[0]))
    assert network.memory_size == 8


def test_value_gradients_reach_a_shared_body():
    network = shared()
    _, values, _ = network(tensors(VECTOR, 5))
    values.sum().backward()
    assert all(weight.grad.any() for weight in network.actor.body.layers[0].parameters())
    assert network.actor.heads.logits.weight.grad is None


def test_state_loads_into_a_network_of_another_seed():
    one, other = (actor(VECTOR, seed=seed, normalize=True, memory_size=8) for seed in (1, 2))
    one.normalizer.update(torch.randn(30, 4, generator=generator()) * 9.0)
    other.load_state_dict(one.state_dict())
    inputs = tensors(VECTOR, 5)
    assert torch.equal(one(inputs)[0].logits, other(inputs)[0].logits)


def test_a_copy_does_not_follow_the_original():
    network = actor(VECTOR, memory_size=8)
    inputs = tensors(VECTOR, 5)
    frozen = copy.deepcopy(network)
    before = frozen(inputs)[0].logits.clone()
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(1.0)
    assert torch.equal(frozen(inputs)[0].logits, before)
    assert not torch.equal(network(inputs)[0].logits, before)


def test_the_vector_only_body_is_its_layers():
    network = actor(VECTOR, num_layers=3)
    (x,) = tensors(VECTOR, 5)
    expected = x
    for layer in network.body.layers:
        expected = expected @ layer.weight.T + layer.bias
        expected = expected * torch.sigmoid(expected)
    torch.testing.assert_close(network.body([x])[0], expected)
