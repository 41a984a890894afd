"""The LSTM: step form and sequence form, its state, and a slow reference."""

from typing import Any

import numpy as np
import pytest
import torch

from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, critic, generator, tensors

SPEC = behavior(ObservationSpec.vector(3), ObservationSpec.entities(2, 2))
SEQUENCES, LENGTH = 4, 6


def test_sequences_give_what_single_steps_give():
    network = actor(SPEC, memory_size=12)
    inputs = tensors(SPEC, SEQUENCES * LENGTH)
    start = torch.randn(SEQUENCES, 12, generator=generator())
    parameters, after = network(inputs, start, sequence_length=LENGTH)
    memory = start
    by_step = []
    for step in range(LENGTH):
        rows = [column[step::LENGTH] for column in inputs]
        found, memory = network(rows, memory)
        by_step.append(found.logits)
    torch.testing.assert_close(torch.stack(by_step, dim=1).flatten(0, 1), parameters.logits)
    torch.testing.assert_close(memory, after)


def test_no_memory_given_is_a_memory_of_zeros():
    network = critic(SPEC, memory_size=12)
    inputs = tensors(SPEC, 3)
    values, after = network(inputs)
    expected_values, expected_after = network(inputs, torch.zeros(3, 12))
    assert torch.equal(values, expected_values)
    assert torch.equal(after, expected_after)


def test_state_is_hidden_then_cell_and_follows_the_textbook():
    memory = actor(SPEC, memory_size=12).body.memory
    weights = {name: weight.detach().double().numpy() for name, weight in memory.lstm.named_parameters()}
    rng = np.random.default_rng(0)
    x, state = rng.normal(size=(2, 16)), rng.normal(size=(2, 12))

    def sigmoid(values: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-values))

    hidden, cell = state[:, :6], state[:, 6:]
    gates = x @ weights["weight_ih_l0"].T + hidden @ weights["weight_hh_l0"].T + weights["bias_ih_l0"]
    i, f, g, o = np.split(gates, 4, axis=1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    hidden = sigmoid(o) * np.tanh(cell)
    features, after = memory(torch.tensor(x, dtype=torch.float32), torch.tensor(state, dtype=torch.float32), 1)
    np.testing.assert_allclose(features.detach().numpy(), hidden, atol=1e-6)
    np.testing.assert_allclose(after.detach().numpy(), np.concatenate((hidden, cell), axis=1), atol=1e-6)


def test_the_heads_read_half_the_memory():
    network = actor(SPEC, memory_size=12)
    assert network.memory_size == 12
    assert network.heads.logits.weight.shape == (7, 6)


def test_without_memory_none_comes_back():
    network = actor(SPEC)
    assert network.memory_size == 0
    assert network(tensors(SPEC, 2))[1] is None


@pytest.mark.parametrize("seed", range(3))
def test_gradients_reach_the_initial_memory_and_all_weights(seed):
    network = actor(SPEC, memory_size=12, seed=seed)
    start = torch.zeros(SEQUENCES, 12, requires_grad=True)
    parameters, _ = network(tensors(SPEC, SEQUENCES * LENGTH), start, sequence_length=LENGTH)
    parameters.logits.square().sum().backward()
    assert start.grad is not None
    assert start.grad.any()
    assert all(weight.grad.any() for weight in network.body.memory.parameters())
