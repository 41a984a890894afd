"""What is drawn while acting: its measures are those learning goes by, and draws follow the chances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.networks import ActionDistribution, ActionParameters
from sparring.networks.drawing import ParameterColumns, PolicyOutput, draw_actions
from sparring.specs import ActionSpec
from tests.networks.builders import generator, unhurried

ROWS = 6
specs = st.builds(ActionSpec, st.integers(0, 3), st.lists(st.integers(1, 5), max_size=3).map(tuple)).filter(
    lambda spec: spec.continuous_size or spec.discrete_size
)


def some_parameters(spec: ActionSpec, *, is_free: bool, seed: int) -> ActionParameters:
    """Parameters of six rows; the deviation free or by row."""
    stream = generator(seed)
    size, choices = spec.continuous_size, spec.total_choices
    return ActionParameters(
        torch.randn(ROWS, size, generator=stream) if size else None,
        torch.randn(*([size] if is_free else [ROWS, size]), generator=stream) if size else None,
        5.0 * torch.randn(ROWS, choices, generator=stream) if choices else None,
    )


def some_mask(spec: ActionSpec, *, seed: int) -> NDArray[np.bool_]:
    """A mask in which some branches are open, some closed in part and the last row's all closed."""
    mask = np.random.default_rng(seed).random((ROWS, spec.total_choices)) < 0.5
    mask[-1] = True
    return mask


def draw(
    parameters: ActionParameters, spec: ActionSpec, mask: NDArray[np.bool_] | None = None, seed: int = 0, **options: Any
) -> PolicyOutput:
    return draw_actions(
        ParameterColumns.of(parameters), spec, mask, generator(seed), squash=options.pop("squash", False), **options
    )


@unhurried
@given(specs, st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_measures_are_those_of_the_distribution(spec, is_free, is_masked, squash, seed):
    parameters = some_parameters(spec, is_free=is_free, seed=seed)
    mask = some_mask(spec, seed=seed) if is_masked and spec.discrete_size else None
    found = draw(parameters, spec, mask, seed, squash=squash)
    blocked = None if mask is None else torch.from_numpy(mask)
    plain = ActionDistribution(parameters, spec, blocked)
    continuous, discrete = torch.from_numpy(found.continuous), torch.from_numpy(found.discrete)
    assert continuous.shape == (ROWS, spec.continuous_size)
    assert discrete.shape == (ROWS, spec.discrete_size)
    assert found.entropy == pytest.approx(plain.entropy().numpy(), rel=1e-4, abs=1e-4)
    if not squash:
        assert found.log_prob == pytest.approx(plain.log_prob(continuous, discrete).numpy(), rel=1e-4, abs=1e-4)


@unhurried
@given(st.floats(-12.0, 12.0), st.floats(-2.0, 1.0), st.integers(0, 2**32))
def test_a_squashed_action_is_measured_as_the_gaussian_through_tanh(mean, log_std, seed):
    spec = ActionSpec.create_continuous(1)
    column = np.full((1, 1), mean, np.float32)
    parameters = ParameterColumns(column, np.full((1, 1), log_std, np.float32), column[:, :0])
    plain = draw_actions(parameters, spec, None, generator(seed), squash=False)
    squashed = draw_actions(parameters, spec, None, generator(seed), squash=True)
    raw = float(plain.continuous[0, 0])
    assert squashed.continuous[0, 0] == pytest.approx(math.tanh(raw), abs=1e-6)
    # The slope of tanh, 1 / cosh².
    assert squashed.log_prob[0] == pytest.approx(plain.log_prob[0] + 2 * math.log(math.cosh(raw)), rel=1e-4, abs=1e-4)
    assert squashed.entropy[0] == plain.entropy[0]


@unhurried
@given(specs, st.booleans(), st.integers(0, 2**32))
def test_greedy_rows_take_the_most_likely_action_and_leave_the_others_theirs(spec, squash, seed):
    parameters = some_parameters(spec, is_free=False, seed=seed)
    mask = some_mask(spec, seed=seed) if spec.discrete_size else None
    greedy = np.arange(ROWS) % 2 == 0
    found = draw(parameters, spec, mask, seed, squash=squash, greedy=greedy)
    drawn = draw(parameters, spec, mask, seed, squash=squash)
    blocked = None if mask is None else torch.from_numpy(mask)
    best = ActionDistribution(parameters, spec, blocked, squash=squash).most_likely()
    assert found.continuous[greedy] == pytest.approx(best[0].numpy()[greedy], abs=1e-6)
    assert np.array_equal(found.discrete[greedy], best[1].numpy()[greedy])
    assert np.array_equal(found.continuous[~greedy], drawn.continuous[~greedy])
    assert np.array_equal(found.discrete[~greedy], drawn.discrete[~greedy])


@pytest.mark.parametrize("branches", [(3, 3, 3), (2, 3)])
def test_choices_follow_the_chances(branches):
    rows, total = 20_000, sum(branches)
    logits = torch.linspace(-1.0, 2.0, total).expand(rows, total)
    mask = np.zeros((rows, total), np.bool_)
    mask[:, 1] = True
    spec = ActionSpec.create_discrete(branches)
    drawn = draw(ActionParameters(None, None, logits), spec, mask).discrete
    counts = np.concatenate(
        [np.bincount(column, minlength=size) for column, size in zip(drawn.T, branches, strict=True)]
    )
    assert counts[1] == 0
    one = ActionDistribution(ActionParameters(None, None, logits[:1]), spec, torch.from_numpy(mask[:1]))
    # 5 deviations of a binomial: at most 5 * sqrt(0.25 / 20000) = 0.018
    assert counts / rows == pytest.approx(one.choice_log_probs()[0].exp().numpy(), abs=0.018)


def test_continuous_actions_have_the_mean_and_deviation():
    rows = 20_000
    parameters = ActionParameters(torch.tensor([[1.0, -2.0]]).expand(rows, 2), torch.tensor([0.0, 1.0]), None)
    drawn = draw(parameters, ActionSpec.create_continuous(2)).continuous
    assert drawn.mean(0) == pytest.approx([1.0, -2.0], abs=0.1)
    assert drawn.std(0) == pytest.approx([1.0, math.e], abs=0.1)


def test_a_masked_choice_is_never_drawn_however_large_its_logit_and_the_noise(monkeypatch):
    # Some generators may return an exponential number of exactly 0, whose logarithm would outweigh any mask.
    monkeypatch.setattr(torch.Tensor, "exponential_", lambda noise, **_: noise.zero_())
    logits = torch.tensor([[1e9, -30.0, -31.0]])
    found = draw(
        ActionParameters(None, None, logits), ActionSpec.create_discrete((3,)), np.array([[True, False, False]])
    )
    assert found.discrete.tolist() == [[1]]
    assert found.log_prob[0] == pytest.approx(math.log(1 / (1 + math.exp(-1))), rel=1e-5)


def test_equal_seeds_give_equal_actions_and_leave_the_global_generator_alone():
    spec = ActionSpec.create_hybrid(2, (3, 4))
    parameters = some_parameters(spec, is_free=True, seed=1)
    before = torch.get_rng_state()
    first, second, other = (draw(parameters, spec, seed=seed) for seed in (9, 9, 10))
    assert np.array_equal(first.continuous, second.continuous)
    assert np.array_equal(first.discrete, second.discrete)
    assert not np.array_equal(first.continuous, other.continuous)
    assert torch.equal(before, torch.get_rng_state())
