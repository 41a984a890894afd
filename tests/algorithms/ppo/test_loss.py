"""The losses of PPO against sums in plain Python, and their corners at exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparring.algorithms.ppo import policy_loss, value_loss

epsilons = st.floats(0.01, 0.5)


def drawn(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, scale, shape))


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), batch=st.integers(1, 30), epsilon=epsilons)
def test_the_policy_loss_is_the_mean_of_the_smaller_surrogates(seed: int, batch: int, epsilon: float) -> None:
    new, old, advantage = drawn(seed, batch), drawn(seed + 1, batch), drawn(seed + 2, batch)
    surrogates = []
    for log_new, log_old, gain in zip(new.tolist(), old.tolist(), advantage.tolist(), strict=True):
        ratio = math.exp(log_new - log_old)
        clipped = min(max(ratio, 1 - epsilon), 1 + epsilon)
        surrogates.append(min(ratio * gain, clipped * gain))
    found = policy_loss(new, old, advantage, epsilon=epsilon)
    assert found.item() == pytest.approx(-sum(surrogates) / batch, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), batch=st.integers(1, 30), signals=st.integers(1, 3), epsilon=epsilons)
def test_the_value_loss_is_the_mean_of_the_larger_errors(seed: int, batch: int, signals: int, epsilon: float) -> None:
    value, old, returns = (drawn(seed + offset, batch, signals) for offset in range(3))
    errors = []
    for row in range(batch):
        for signal in range(signals):
            now, before, target = (float(column[row, signal]) for column in (value, old, returns))
            near = before + min(max(now - before, -epsilon), epsilon)
            errors.append(max((now - target) ** 2, (near - target) ** 2))
    found = value_loss(value, old, returns, epsilon=epsilon)
    assert found.item() == pytest.approx(sum(errors) / len(errors), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        # ε = 0.2. The loss is -min(ρA, clip(ρ)A); its slope is that towards log π_new.
        (1.0, 2.0, -2.0, -2.0),
        (1.5, 2.0, -2.4, 0.0),  # gained enough: clipped at 1.2
        (0.5, 2.0, -1.0, -1.0),  # lost where it should gain: not clipped
        (1.5, -2.0, 3.0, 3.0),  # gained where it should lose: not clipped
        (0.5, -2.0, 1.6, 0.0),  # lost enough: clipped at 0.8
    ],
)
def test_only_gains_beyond_the_range_are_clipped(ratio: float, advantage: float, loss: float, slope: float) -> None:
    new = torch.tensor([math.log(ratio)], dtype=torch.float64, requires_grad=True)
    old = torch.zeros(1, dtype=torch.float64)
    found = policy_loss(new, old, torch.tensor([advantage], dtype=torch.float64), epsilon=0.2)
    found.backward()  # type: ignore[no-untyped-call]
    assert found.item() == pytest.approx(loss)
    assert new.grad is not None
    assert new.grad.item() == pytest.approx(slope)


@pytest.mark.parametrize(
    ("value", "loss", "slope"),
    [
        # The old value is 1, the target 3, ε = 0.5.
        (1.25, 1.75**2, 2 * (1.25 - 3)),  # moved within the range: the plain error
        (2.0, 1.5**2, 0.0),  # moved too far: the error at 1.5 counts, though the value is nearer
        (0.0, 3.0**2, 2 * (0.0 - 3)),  # moved away: the plain error is the larger one
    ],
)
def test_a_value_that_moves_too_far_within_an_update_gains_nothing(value: float, loss: float, slope: float) -> None:
    now = torch.tensor([[value]], dtype=torch.float64, requires_grad=True)
    old, target = torch.tensor([[1.0]], dtype=torch.float64), torch.tensor([[3.0]], dtype=torch.float64)
    found = value_loss(now, old, target, epsilon=0.5)
    found.backward()  # type: ignore[no-untyped-call]
    assert found.item() == pytest.approx(loss)
    assert now.grad is not None
    assert now.grad.item() == pytest.approx(slope)
