"""Distributions against plain Python, and the corners: masks, ties, extremes, gradients."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparring.networks import ActionDistribution, ActionParameters, scaled_for_environment
from sparring.specs import ActionSpec
from tests.networks.builders import generator, unhurried

sizes = st.lists(st.integers(1, 4), max_size=3).map(tuple)
small = st.floats(-5.0, 5.0, width=32)


@st.composite
def cases(draw):
    """Spec, parameters of two rows, mask (or None) and one action a row, all in plain lists."""
    continuous = draw(st.integers(0, 3))
    branches = draw(sizes.filter(lambda found: found or continuous))
    rows = range(2)
    total = sum(branches)
    mean = [[draw(small) for _ in range(continuous)] for _ in rows]
    depends = draw(st.booleans())
    log_std = [[draw(st.floats(-3.0, 2.0, width=32)) for _ in range(continuous)] for _ in (rows if depends else [0])]
    logits = [[draw(small) for _ in range(total)] for _ in rows]
    mask = [[draw(st.booleans()) for _ in range(total)] for _ in rows] if draw(st.booleans()) else None
    actions = [[draw(small) for _ in range(continuous)] for _ in rows]
    choices = [[draw(st.integers(0, size - 1)) for size in branches] for _ in rows]
    return ActionSpec(continuous, branches), mean, log_std, logits, mask, actions, choices


def distribution_of(case: Any) -> ActionDistribution:
    spec, mean, log_std, logits, mask, *_ = case
    parameters = ActionParameters(
        torch.tensor(mean) if spec.continuous_size else None,
        torch.tensor(log_std if len(log_std) > 1 else log_std[0]) if spec.continuous_size else None,
        torch.tensor(logits) if spec.discrete_size else None,
    )
    blocked = torch.tensor(mask) if mask is not None and spec.discrete_size else None
    return ActionDistribution(parameters, spec, blocked)


def slow_branches(case: Any, row: int) -> Iterator[list[float]]:
    """Probabilities of each branch of a row, in plain Python."""
    spec, _, _, logits, mask, *_ = case
    start = 0
    for size in spec.discrete_branches:
        values = logits[row][start : start + size]
        closed = [False] * size if mask is None else mask[row][start : start + size]
        if all(closed):
            closed = [False] * size
        weights = [0.0 if shut else math.exp(value) for value, shut in zip(values, closed, strict=True)]
        yield [weight / sum(weights) for weight in weights]
        start += size


def slow_deviations(case: Any, row: int) -> list[float]:
    return [math.exp(value) for value in (case[2][row] if len(case[2]) > 1 else case[2][0])]


def actions_of(case: Any) -> tuple[torch.Tensor, torch.Tensor]:
    spec, *_, actions, choices = case
    return (
        torch.tensor(actions).reshape(2, spec.continuous_size),
        torch.tensor(choices, dtype=torch.int64).reshape(2, spec.discrete_size),
    )


def slow_parts(case: Any, row: int) -> Iterator[float | None]:
    """Log-probability of each component; None for a choice that is not available."""
    _, mean, _, _, _, actions, choices = case
    for a, mu, sigma in zip(actions[row], mean[row], slow_deviations(case, row), strict=True):
        yield -((a - mu) ** 2) / (2 * sigma**2) - math.log(sigma) - 0.5 * math.log(2 * math.pi)
    for choice, chances in zip(choices[row], slow_branches(case, row), strict=True):
        yield math.log(chances[choice]) if chances[choice] else None


@unhurried
@given(cases())
def test_log_probability_is_that_of_the_joint_action(case):
    found = distribution_of(case).log_prob(*actions_of(case))
    for row in range(2):
        parts = list(slow_parts(case, row))
        if None in parts:
            assert found[row].exp().item() == 0.0
            assert math.isfinite(found[row].item())
        else:
            assert found[row].item() == pytest.approx(sum(filter(None, parts)), rel=1e-4, abs=1e-4)


@unhurried
@given(cases())
def test_components_are_those_of_the_sum(case):
    found = distribution_of(case).component_log_probs(*actions_of(case))
    for row in range(2):
        for component, expected in zip(found[row].tolist(), slow_parts(case, row), strict=True):
            if expected is None:
                assert math.exp(component) == 0.0
            else:
                assert component == pytest.approx(expected, rel=1e-4, abs=1e-4)


@unhurried
@given(cases())
def test_entropy_is_that_of_the_joint_action(case):
    found = distribution_of(case).entropy()
    assert found.shape == (2,)
    for row in range(2):
        gaussians = sum(0.5 * math.log(2 * math.pi * math.e * s**2) for s in slow_deviations(case, row))
        categories = -sum(p * math.log(p) for chances in slow_branches(case, row) for p in chances if p)
        assert found[row].item() == pytest.approx(gaussians + categories, rel=1e-4, abs=1e-4)


@unhurried
@given(cases())
def test_most_likely_is_the_mean_and_the_best_available_choice(case):
    continuous, discrete = distribution_of(case).most_likely()
    torch.testing.assert_close(continuous, torch.tensor(case[1]).reshape(continuous.shape))
    for row in range(2):
        for choice, chances in zip(discrete[row].tolist(), slow_branches(case, row), strict=True):
            assert chances[choice] >= max(chances) - 1e-6


@unhurried
@given(cases())
def test_choice_log_probs_are_joined_in_the_order_of_the_spec(case):
    if not case[0].discrete_size:
        return
    found = distribution_of(case).choice_log_probs().exp()
    for row in range(2):
        expected = list(itertools.chain.from_iterable(slow_branches(case, row)))
        assert found[row].tolist() == pytest.approx(expected, abs=1e-6)
        masked = [p == 0.0 for p in expected]
        assert all(p == 0.0 for p, shut in zip(found[row].tolist(), masked, strict=True) if shut)


def test_a_branch_without_an_available_choice_counts_as_unmasked():
    logits = torch.tensor([[0.5, 1.5, -0.5, 2.0, 1.0]])
    spec = ActionSpec.create_discrete((3, 2))
    mask = torch.tensor([[True, True, True, False, True]])
    found = ActionDistribution(ActionParameters(None, None, logits), spec, mask).choice_log_probs()
    torch.testing.assert_close(found[0, :3], logits[0, :3].log_softmax(0))
    assert found[0, 3:].exp().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("branches", [(3, 3), (2, 4)])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_gradients_are_finite_and_zero_for_masked_choices(branches, scale):
    logits = (torch.randn(8, 6, generator=generator()) * scale).requires_grad_()
    mean = torch.randn(8, 2, generator=generator()).requires_grad_()
    log_std = torch.zeros(2, requires_grad=True)
    mask = torch.zeros(8, 6, dtype=torch.bool)
    mask[:, 1] = True
    mask[3] = True
    spec = ActionSpec.create_hybrid(2, branches)
    distribution = ActionDistribution(ActionParameters(mean, log_std, logits), spec, mask)
    likely = (part.detach() for part in distribution.most_likely())
    torch.autograd.backward((distribution.log_prob(*likely) + distribution.entropy()).sum())
    for parameter in (logits, mean, log_std):
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
    assert logits.grad is not None
    assert (logits.grad[[0, 1, 2, 4, 5, 6, 7], 1] == 0.0).all()


def test_tables_first_used_while_acting_still_serve_learning():
    spec = ActionSpec.create_discrete((2, 5, 3))
    logits = torch.randn(4, 10, generator=generator(), requires_grad=True)
    with torch.inference_mode():
        ActionDistribution(ActionParameters(None, None, logits), spec).choice_log_probs()
    torch.autograd.backward(ActionDistribution(ActionParameters(None, None, logits), spec).entropy().sum())
    assert logits.grad is not None


# --- squashed ---------------------------------------------------------------------------------------------------------


@unhurried
@given(st.floats(-2.0, 2.0), st.floats(-2.0, 0.5), st.integers(0, 1000))
def test_squashed_log_probability_is_that_of_the_squashed_action(mean, log_std, seed):
    spec = ActionSpec.create_continuous(1)
    parameters = ActionParameters(torch.tensor([[mean]]), torch.tensor([[log_std]]), None)
    distribution = ActionDistribution(parameters, spec, squash=True)
    action, log_prob = distribution.sample_with_log_prob(generator(seed))
    a = action.item()
    assert -1.0 <= a <= 1.0
    if abs(a) < 0.99:
        u, sigma = math.atanh(a), math.exp(log_std)
        normal = -((u - mean) ** 2) / (2 * sigma**2) - math.log(sigma) - 0.5 * math.log(2 * math.pi)
        assert log_prob.item() == pytest.approx(normal - math.log(1 - a * a), abs=1e-3)
        recovered = distribution.log_prob(action, torch.zeros(1, 0, dtype=torch.int64))
        assert recovered.item() == pytest.approx(log_prob.item(), abs=1e-2)


def test_squashed_extremes_stay_finite():
    spec = ActionSpec.create_continuous(2)
    mean = torch.tensor([[50.0, -50.0]], requires_grad=True)
    distribution = ActionDistribution(ActionParameters(mean, torch.tensor([[2.0, -20.0]]), None), spec, squash=True)
    action, log_prob = distribution.sample_with_log_prob(generator())
    assert action.abs().max() <= 1.0
    assert torch.isfinite(log_prob).all()
    assert torch.isfinite(distribution.log_prob(action, torch.zeros(1, 0, dtype=torch.int64))).all()
    torch.autograd.backward(log_prob.sum())
    assert mean.grad is not None
    assert torch.isfinite(mean.grad).all()


def test_the_squashed_greedy_action_stays_in_bounds():
    spec = ActionSpec.create_continuous(1)
    parameters = ActionParameters(torch.tensor([[4.0]]), torch.zeros(1, 1), None)
    greedy, _ = ActionDistribution(parameters, spec, squash=True).most_likely()
    assert greedy.item() == pytest.approx(math.tanh(4.0))


def test_actions_are_scaled_for_the_game():
    raw = torch.tensor([-9.0, -3.0, 0.0, 1.5, 3.0, 4.0])
    assert scaled_for_environment(raw, squash=False).tolist() == [-1.0, -1.0, 0.0, 0.5, 1.0, 1.0]
    assert torch.equal(scaled_for_environment(raw, squash=True), raw)
