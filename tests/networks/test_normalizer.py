"""The running statistics against plain loops, and what `forward` makes of them."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparring.errors import NonFiniteError
from sparring.networks import Actor, Critic, Normalizer, SharedActorCritic
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior, critic, generator, settings, tensors, unhurried


def slow_statistics(batches: list[list[float]]) -> tuple[float, float, float]:
    """Mean and sum of squares of one column, by the formulas of the specification, in plain Python."""
    count, mean, squares = 1.0, 0.0, 1.0
    for batch in batches:
        count += len(batch)
        new_mean = mean + sum(x - mean for x in batch) / count
        squares += sum((x - new_mean) * (x - mean) for x in batch)
        mean = new_mean
    return count, mean, squares


numbers = st.floats(-1000.0, 1000.0, width=32)


@unhurried
@given(st.lists(st.lists(numbers, min_size=1, max_size=7), max_size=5))
def test_statistics_follow_the_formulas(batches):
    normalizer = Normalizer(1)
    for batch in batches:
        normalizer.update(torch.tensor(batch).unsqueeze(1))
    count, mean, squares = slow_statistics(batches)
    assert normalizer.count.item() == count
    assert normalizer.mean.item() == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert normalizer.squares.item() == pytest.approx(squares, rel=1e-9)


@unhurried
@given(st.lists(numbers, min_size=1, max_size=20), numbers)
def test_output_is_the_clipped_distance_in_deviations(batch, probe):
    normalizer = Normalizer(1)
    normalizer.update(torch.tensor(batch).unsqueeze(1))
    count, mean, squares = slow_statistics([batch])
    expected = max(-5.0, min(5.0, (probe - mean) / math.sqrt(squares / count)))
    assert normalizer(torch.tensor([[probe]])).item() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_large_batches_are_exact_across_their_parts():
    x = np.random.default_rng(0).normal(1e6, 1.0, (10_000, 2)).astype(np.float32)
    normalizer = Normalizer(2)
    normalizer.update(torch.from_numpy(x))
    _, mean, squares = slow_statistics([x[:, 1].astype(float).tolist()])
    assert normalizer.mean[1].item() == pytest.approx(mean, rel=1e-12)
    assert normalizer.squares[1].item() == pytest.approx(squares, rel=1e-9)


def test_a_million_rows_still_count_exactly():
    normalizer = Normalizer(1)
    normalizer.load_state_dict({**normalizer.state_dict(), "count": torch.tensor(2.0**30, dtype=torch.float64)})
    normalizer.update(torch.zeros(1, 1))
    assert normalizer.count.item() == 2**30 + 1


def test_untrained_it_changes_nothing_within_the_clip():
    x = torch.tensor([[0.5, -4.0]])
    assert torch.equal(Normalizer(2)(x), x)


def test_a_deviation_of_zero_gives_finite_numbers():
    normalizer = Normalizer(1)
    normalizer.load_state_dict({**normalizer.state_dict(), "squares": torch.zeros(1, dtype=torch.float64)})
    out = normalizer(torch.tensor([[0.0], [1.0], [-1.0]]))
    assert out.flatten().tolist() == [0.0, 5.0, -5.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_and_changes_nothing(bad):
    normalizer = Normalizer(3)
    normalizer.update(torch.ones(2, 3))
    before = copy.deepcopy(normalizer.state_dict())
    x = torch.zeros(4, 3)
    x[2, 1] = bad
    with pytest.raises(NonFiniteError, match=r"columns \[1\]"):
        normalizer.update(x)
    assert all(torch.equal(before[name], tensor) for name, tensor in normalizer.state_dict().items())


def test_an_empty_batch_changes_nothing():
    normalizer = Normalizer(2)
    normalizer.update(torch.zeros(0, 2))
    assert normalizer.count.item() == 1.0


def test_loading_brings_back_the_outputs():
    x = torch.tensor([[7.0, -3.0]])
    trained, loaded = Normalizer(2), Normalizer(2)
    trained.update(torch.randn(50, 2, generator=generator()) * 30.0 + 5.0)
    loaded.load_state_dict(trained.state_dict())
    assert torch.equal(loaded(x), trained(x))


def test_a_copy_has_statistics_of_its_own():
    normalizer = Normalizer(1)
    twin = copy.deepcopy(normalizer)
    normalizer.update(torch.full((10, 1), 9.0))
    twin.load_state_dict(twin.state_dict())
    assert twin.mean.item() == 0.0
    assert twin(torch.ones(1, 1)).item() == 1.0
    assert normalizer.mean.item() > 8.0


def test_statistics_stay_float64_on_the_cpu_wherever_the_module_goes():
    normalizer = Normalizer(2).to("meta")
    assert {(normalizer.state_dict()[name].device.type) for name in ("count", "mean", "squares")} == {"cpu"}
    assert normalizer.scale.device.type == "meta"
    assert normalizer.half().mean.dtype == torch.float64


def test_update_takes_no_part_in_autograd():
    x = torch.randn(4, 2, generator=generator(), requires_grad=True)
    normalizer = Normalizer(2)
    normalizer.update(x)
    assert not normalizer.mean.requires_grad
    torch.autograd.backward(normalizer(x).sum())
    assert x.grad is not None
    assert torch.equal(x.grad, normalizer.scale.expand(4, 2))


SPEC = behavior(ObservationSpec.vector(3))


def test_actor_and_critic_share_one_normalizer():
    shared = Normalizer.of(SPEC, settings(normalize=True))
    assert shared is not None
    one = Actor(SPEC, settings(normalize=True), generator=generator(), normalizer=shared)
    other = Critic(SPEC, settings(normalize=True), signals=["extrinsic"], generator=generator(), normalizer=shared)
    (inputs,) = (tensors(SPEC, 4),)
    before = one(inputs)[0].mean, other(inputs)[0]
    shared.update(inputs[0] * 100.0)
    assert one.normalizer is shared
    assert other.normalizer is shared
    assert not torch.equal(one(inputs)[0].mean, before[0])
    assert not torch.equal(other(inputs)[0], before[1])


def test_normalizing_needs_the_setting_and_a_vector():
    assert Normalizer.of(SPEC, settings()) is None
    assert Normalizer.of(behavior(ObservationSpec.entities(3, 2)), settings(normalize=True)) is None
    assert actor(SPEC).normalizer is None
    assert critic(SPEC, normalize=True).normalizer is not None
    shared = SharedActorCritic(SPEC, settings(normalize=True), signals=["extrinsic"], generator=generator())
    assert shared.normalizer is shared.actor.normalizer is not None


def test_a_normalizer_of_another_size_is_a_bug():
    with pytest.raises(AssertionError, match="2 columns for 3"):
        Actor(SPEC, settings(), generator=generator(), normalizer=Normalizer(2))
