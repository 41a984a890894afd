"""Goal conditioning: the last layer against a slow reference, and when there is none."""

from typing import Any

import numpy as np
import torch

from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, goal, goal_image, tensors

SPEC = behavior(ObservationSpec.vector(3), goal(2))


def dense(layer: Any, x: Any) -> Any:
    return x @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()


def silu(x: Any) -> Any:
    return x / (1.0 + np.exp(-x))


def test_the_goal_chooses_the_weights_of_the_last_layer():
    body = actor(SPEC).body
    (inputs,) = tensors(SPEC, 4)
    features, _ = body([inputs])
    x = inputs.double().numpy()
    for row in range(4):
        hidden = silu(dense(body.layers[0], x[row]))
        made = silu(dense(body.goal.second, silu(dense(body.goal.first, x[row, 3:]))))
        made = (made - made.mean()) / np.sqrt(made.var() + 1e-5)
        weights = dense(body.goal.weights, made).reshape(16, 16)
        expected = silu(hidden @ weights + body.goal.bias.detach().double().numpy())
        np.testing.assert_allclose(features[row].detach().numpy(), expected, atol=1e-5)


def test_weights_the_goal_makes_begin_within_their_bound():
    layer = actor(SPEC, hidden_units=64).body.goal
    bound = (1 / (64 * 64)) ** 0.5
    assert 0.95 * bound < layer.weights.weight.abs().max().item() <= bound
    assert not layer.weights.bias.any()


def test_one_layer_of_a_body_is_the_conditioned_one():
    body = actor(SPEC, num_layers=1).body
    assert len(body.layers) == 0
    assert body.goal.inputs == 5


def test_without_conditioning_a_goal_is_an_ordinary_observation():
    body = actor(SPEC, goal_conditioning_type="none").body
    assert body.goal is None
    assert body.encoding_size == 5
    assert len(body.layers) == 2


def test_image_goals_condition_and_stay_in_the_ordinary_input():
    spec = behavior(ObservationSpec.image(1, 20, 20), goal_image(1, 20, 20), ObservationSpec.vector(2), goal(3))
    body = actor(spec).body
    assert body.encoding_size == 5 + 32
    assert body.goal_columns.tolist() == [2, 3, 4, *range(5 + 16, 5 + 32)]
    assert body(tensors(spec, 2))[0].shape == (2, 16)


def test_conditioning_sees_the_normalized_goal():
    network = actor(SPEC, normalize=True)
    inputs = torch.full((1, 5), 100.0)
    clipped = network([inputs])[0].logits
    assert torch.equal(network([inputs * 7.0])[0].logits, clipped)
