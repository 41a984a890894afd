"""Lists of entities against a slow reference, absent rows, and the notice about gaps."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from sparring.networks import entity_gaps
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, tensors

SPEC = behavior(ObservationSpec.entities(5, 3, name="foes"), ObservationSpec.vector(2))


def encoder_of() -> Any:
    return actor(SPEC).body.entities


def silu(x: Any) -> Any:
    return x / (1.0 + np.exp(-x))


def dense(layer: Any, x: Any) -> Any:
    return x @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()


def normed(x: Any) -> Any:
    return (x - x.mean()) / math.sqrt(x.var() + 1e-5)


def slow_encoding(encoder: Any, entities: Any, seen: Any) -> Any:
    """One agent's encoding, entity by entity and head by head; absent entities are left out altogether."""
    own = silu(dense(encoder.self_embedding, seen))
    present = [entity for entity in entities if (entity**2).sum() >= 0.01]
    if not present:
        return np.zeros(128)
    rows = [normed(silu(dense(encoder.embeddings[0], np.concatenate((own, entity))))) for entity in present]
    queries, keys, values = (
        [dense(layer, row) for row in rows] for layer in (encoder.query, encoder.key, encoder.value)
    )
    out = []
    for row, query in zip(rows, queries, strict=True):
        attended = []
        for head in range(4):
            part = slice(32 * head, 32 * head + 32)
            scores = np.array([query[part] @ key[part] / math.sqrt(128) for key in keys])
            weights = np.exp(scores) / np.exp(scores).sum()
            attended.append(sum(w * value[part] for w, value in zip(weights, values, strict=True)))
        out.append(normed(dense(encoder.output, np.concatenate(attended)) + row))
    return np.mean(out, axis=0)


@pytest.mark.parametrize("present", [(), (0,), (0, 1, 2, 3, 4), (0, 2), (3, 4)])
def test_encoding_is_that_of_the_slow_reference(present):
    encoder = encoder_of()
    rng = np.random.default_rng(0)
    entities = np.zeros((2, 5, 3), np.float32)
    entities[:, list(present)] = rng.normal(size=(2, len(present), 3))
    seen = rng.normal(size=(2, 2)).astype(np.float32)
    found = encoder([torch.from_numpy(entities)], torch.from_numpy(seen)).detach().numpy()
    for row in range(2):
        expected = slow_encoding(encoder, entities[row].astype(float), seen[row].astype(float))
        np.testing.assert_allclose(found[row], expected, atol=2e-5)


def test_a_row_of_small_squared_norm_is_absent():
    encoder = encoder_of()
    seen = torch.ones(1, 2)
    entities = torch.zeros(1, 5, 3)
    entities[0, 0] = 1.0
    alone = encoder([entities.clone()], seen)
    entities[0, 1, 0] = 0.0999
    assert torch.equal(encoder([entities.clone()], seen), alone)
    entities[0, 1, 0] = 0.1001
    assert not torch.allclose(encoder([entities], seen), alone)


def test_the_order_of_entities_does_not_matter():
    encoder = encoder_of()
    entities = torch.randn(3, 5, 3, generator=torch.Generator().manual_seed(0))
    seen = torch.ones(3, 2)
    torch.testing.assert_close(encoder([entities.flip(1)], seen), encoder([entities], seen))


def test_gradients_are_finite_when_nobody_is_there():
    network = actor(SPEC)
    entities = torch.zeros(2, 5, 3, requires_grad=True)
    network([torch.ones(2, 2), entities])[0].logits.sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)
    assert entities.grad is not None
    assert torch.isfinite(entities.grad).all()


def test_lists_without_anything_else_and_several_lists_work():
    spec = behavior(ObservationSpec.entities(5, 3), ObservationSpec.entities(2, 7))
    network = actor(spec)
    inputs = tensors(spec, 3)
    assert network(inputs)[0].logits.shape == (3, 7)
    inputs[1] = inputs[1] + 1.0
    assert network.body.encoding_size == 128
    before = network(inputs)[0].logits
    inputs[1] = inputs[1] * 2.0
    assert not torch.allclose(network(inputs)[0].logits, before)


def test_gaps_are_told_once_for_all_lists():
    spec = behavior(ObservationSpec.entities(3, 2, name="foes"), ObservationSpec.entities(2, 2))
    foes = np.zeros((2, 3, 2), np.float32)
    foes[1, [0, 2]] = 1.0
    others = np.zeros((2, 2, 2), np.float32)
    others[0, 1] = 1.0
    finding = entity_gaps(spec, [foes, others])
    assert finding is not None
    assert finding.where == "sensor 'foes', entity 1 of agent row 1; sensor 1, entity 0 of agent row 0"


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_zeros_at_the_end_are_no_gap(rows):
    foes = np.zeros((4, 3, 2), np.float32)
    foes[:, :rows] = 1.0
    spec = behavior(ObservationSpec.entities(3, 2), ObservationSpec.vector(1))
    assert entity_gaps(spec, [foes, np.zeros((4, 1), np.float32)]) is None
