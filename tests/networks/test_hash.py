"""The hash of weights changes exactly when the weights do."""

import copy

import pytest
import torch

from sparring.networks import weights_hash
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, generator

SPEC = behavior(ObservationSpec.vector(4))


def test_every_weight_and_statistic_counts_down_to_the_last_bit():
    network = actor(SPEC, normalize=True, memory_size=8)
    expected = weights_hash(network)
    for name, tensor in network.state_dict().items():
        changed = copy.deepcopy(network.state_dict())
        last = (-1,) * tensor.ndim
        changed[name][last] = torch.nextafter(tensor[last], torch.tensor(100.0, dtype=tensor.dtype))
        assert weights_hash(changed) != expected, name


def test_a_copy_and_another_order_have_the_same_hash():
    network = actor(SPEC, normalize=True)
    state = network.state_dict()
    expected = weights_hash(network)
    assert weights_hash(copy.deepcopy(network)) == expected
    assert weights_hash(dict(reversed(list(state.items())))) == expected


def test_looking_and_acting_change_nothing():
    network = actor(SPEC, normalize=True)
    before = weights_hash(network)
    network([torch.randn(3, 4, generator=generator())])
    assert weights_hash(network) == before


def test_updating_the_normalizer_changes_it():
    network = actor(SPEC, normalize=True)
    before = weights_hash(network)
    network.normalizer.update(torch.ones(1, 4))
    assert weights_hash(network) != before


@pytest.mark.parametrize(
    "other",
    [
        {"b": torch.zeros(4)},
        {"a": torch.zeros(2, 2)},
        {"a": torch.zeros(4, dtype=torch.int32)},
        {"a": torch.zeros(3), "b": torch.zeros(1)},
        {"a": -torch.zeros(4)},
    ],
    ids=["name", "shape", "dtype", "split", "sign of zero"],
)
def test_names_shapes_and_dtypes_count(other):
    assert weights_hash(other) != weights_hash({"a": torch.zeros(4)})


def test_layout_in_memory_does_not_count():
    table = torch.arange(6.0).reshape(2, 3)
    assert weights_hash({"a": table.T}) == weights_hash({"a": table.T.contiguous()})


def test_scalars_and_brain_floats_can_be_hashed():
    assert len(weights_hash({"a": torch.tensor(1.0), "b": torch.ones(3, dtype=torch.bfloat16)})) == 32
