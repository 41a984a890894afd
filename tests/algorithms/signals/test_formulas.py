"""The formulas of the signals against plain Python, and their gradients against finite differences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms.signals.curiosity import CuriositySignal
from sparring.algorithms.signals.gail import (
    GAILSignal,
    discriminator_loss,
    gradient_penalty,
    imitation_reward,
    vail_kl,
)
from sparring.algorithms.signals.rnd import RNDSignal
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from tests.algorithms.signals.builders import SPEC, doubled, record, signal_of, slope_by_differences, transitions_of

EACH_ACTION = {
    "continuous": ActionSpec.create_continuous(2),
    "discrete": ActionSpec.create_discrete((3, 2)),
    "hybrid": ActionSpec.create_hybrid(2, (3, 2)),
}
each_action = pytest.mark.parametrize("actions", EACH_ACTION.values(), ids=EACH_ACTION)


def with_actions(actions: ActionSpec) -> BehaviorSpec:
    return BehaviorSpec((ObservationSpec.vector(3),), actions)


def one_hot(row: int, transitions: Any, actions: ActionSpec) -> list[float]:
    """A joint action as plain numbers."""
    columns: list[float] = transitions.continuous[row].tolist()
    for branch, size in enumerate(actions.discrete_branches):
        columns += [float(choice == transitions.discrete[row, branch]) for choice in range(size)]
    return columns


def two_layers(layers: Any, x: list[float]) -> list[float]:
    first, second = layers[0], layers[2]
    hidden = []
    for weights, bias in zip(first.weight.tolist(), first.bias.tolist(), strict=True):
        value = sum(w * v for w, v in zip(weights, x, strict=True)) + bias
        hidden.append(value / (1 + math.exp(-value)))
    return [
        sum(w * v for w, v in zip(weights, hidden, strict=True)) + bias
        for weights, bias in zip(second.weight.tolist(), second.bias.tolist(), strict=True)
    ]


# -- curiosity -----------------------------------------------------------------------------------------------------


@each_action
def test_curiosity_is_half_the_squared_surprise_and_its_losses_are_the_sums_written_out(actions: ActionSpec) -> None:
    spec = with_actions(actions)
    signal = signal_of(CuriositySignal, "curiosity", spec, strength=0.001)
    signal.network.double()
    signal.network.has_learned.fill_(1)
    seen = doubled(transitions_of(spec))
    network = signal.network
    features, following = (network.encode(columns).tolist() for columns in (seen.inputs, seen.next_inputs))
    surprises, errors = [], []
    for row in range(len(seen)):
        expected = two_layers(network.foresee, features[row] + one_hot(row, seen, actions))
        surprises.append(0.5 * sum((f - e) ** 2 for f, e in zip(following[row], expected, strict=True)))
        explained = two_layers(network.explain, features[row] + following[row])
        size = actions.continuous_size
        error = sum((e - a) ** 2 for e, a in zip(explained[:size], seen.continuous[row].tolist(), strict=True))
        start = size
        for branch, choices in enumerate(actions.discrete_branches):
            logits = explained[start : start + choices]
            error += math.log(sum(math.exp(v) for v in logits)) - logits[int(seen.discrete[row, branch])]
            start += choices
        errors.append(error)
    np.testing.assert_allclose(signal.reward(seen).detach(), surprises, atol=1e-6)
    forward, inverse = signal.losses(seen)
    assert forward.item() == pytest.approx(np.mean(surprises), abs=1e-6)
    assert inverse.item() == pytest.approx(np.mean(errors), abs=1e-6)
    total = 10 * (0.2 * np.mean(surprises) + 0.8 * np.mean(errors))
    assert signal.total(forward, inverse).item() == pytest.approx(total, abs=1e-6)


def test_curiosity_pays_nothing_before_it_has_learned_and_at_most_one_after_its_strength() -> None:
    signal = signal_of(CuriositySignal, "curiosity", strength=50.0)
    seen = transitions_of()
    with torch.no_grad():
        assert not signal.reward(seen).any()
        signal.network.has_learned.fill_(1)
        assert signal.reward(seen).max().item() == pytest.approx(1 / 50, abs=1e-9)
        assert signal_of(CuriositySignal, "curiosity", strength=0.0)._most == math.inf


@each_action
def test_the_gradient_of_curiosity_is_that_of_finite_differences(actions: ActionSpec) -> None:
    spec = with_actions(actions)
    signal = signal_of(CuriositySignal, "curiosity", spec)
    signal.network.double()
    seen = doubled(transitions_of(spec))
    slope_by_differences(lambda: signal.total(*signal.losses(seen)), list(signal.network.parameters()))


# -- random network distillation -----------------------------------------------------------------------------------


def test_distillation_pays_the_squared_distance_summed_over_features_and_only_the_predictor_learns() -> None:
    signal = signal_of(RNDSignal, "rnd")
    seen = transitions_of()
    network = signal.network
    with torch.no_grad():
        target, predicted = network.target(seen.inputs)[0], network.predictor(seen.inputs)[0]
        expected = [
            sum((p - t) ** 2 for p, t in zip(ours, theirs, strict=True))
            for ours, theirs in zip(predicted.tolist(), target.tolist(), strict=True)
        ]
        np.testing.assert_allclose(signal.reward(seen), expected, atol=1e-6)
    before = [parameter.clone() for parameter in network.target.parameters()]
    report = signal.update(seen)
    assert report["Losses/RND Loss"] == pytest.approx(np.mean(expected), abs=1e-6)
    assert all(torch.equal(old, new) for old, new in zip(before, network.target.parameters(), strict=True))


def test_the_gradient_of_distillation_is_that_of_finite_differences() -> None:
    signal = signal_of(RNDSignal, "rnd")
    signal.network.double()
    seen = doubled(transitions_of())
    slope_by_differences(
        lambda: signal.network.forward(seen.inputs).mean(), list(signal.network.predictor.parameters())
    )


# -- imitation -------------------------------------------------------------------------------------------------------


def test_the_reward_of_imitation_and_the_loss_of_its_judge_are_those_written_out() -> None:
    theirs, ours = torch.tensor([0.9, 0.2, 0.5]).double(), torch.tensor([0.1, 0.99, 1.0]).double()
    expected = [-math.log(1 - d * (1 - 1e-7)) for d in ours.tolist()]
    np.testing.assert_allclose(imitation_reward(ours), expected, atol=1e-6)
    loss = -np.mean([math.log(d + 1e-7) for d in theirs.tolist()]) - np.mean(
        [math.log(1 - d + 1e-7) for d in ours.tolist()]
    )
    assert discriminator_loss(theirs, ours).item() == pytest.approx(loss, abs=1e-6)


def test_the_term_of_the_bottleneck_is_the_sum_written_out() -> None:
    rng = np.random.default_rng(0)
    expert, policy, deviation = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(0.5, 2, 3)
    by_hand = np.mean(
        [
            -sum(
                1 + math.log(s**2 + 1e-7) - 0.5 * e**2 - 0.5 * p**2 - s**2
                for e, p, s in zip(expert[row], policy[row], deviation, strict=True)
            )
            for row in range(4)
        ]
    )
    found = vail_kl(torch.tensor(expert), torch.tensor(policy), torch.tensor(deviation))
    assert found.item() == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("use_actions", [False, True])
def test_the_gradient_penalty_looks_at_every_observation(use_actions: bool, tmp_path: Path) -> None:
    demo = record(tmp_path / "e.demo")
    signal = signal_of(GAILSignal, "gail", demo_path=str(demo), use_actions=use_actions)
    network = signal.network.double()
    expert, policy = (network.columns(doubled(transitions_of(seed=seed))) for seed in (1, 2))
    mix = torch.linspace(0, 1, 12, dtype=torch.float64)
    between = [
        mix.view(-1, *[1] * (a.ndim - 1)) * a + (1 - mix.view(-1, *[1] * (a.ndim - 1))) * b
        for a, b in zip(expert, policy, strict=True)
    ]
    squared = np.zeros(12)
    for column in between:  # every number by itself, by finite differences
        for place in np.ndindex(*column.shape[1:]):
            ends = []
            for side in (1e-6, -1e-6):
                moved = [other.clone() for other in between]
                moved[[id(c) for c in between].index(id(column))][(slice(None), *place)] += side
                ends.append(network.forward(moved)[0].sigmoid().detach().numpy())
            squared += ((ends[0] - ends[1]) / 2e-6) ** 2
    expected = np.mean((np.sqrt(squared) - 1) ** 2)
    assert gradient_penalty(network, expert, policy, mix).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("use_vail", [False, True])
@pytest.mark.parametrize("use_actions", [False, True])
def test_the_gradient_of_imitation_is_that_of_finite_differences(
    use_actions: bool, use_vail: bool, tmp_path: Path
) -> None:
    demo = record(tmp_path / "e.demo")
    signal = signal_of(GAILSignal, "gail", demo_path=str(demo), use_actions=use_actions, use_vail=use_vail)
    network = signal.network.double()
    network.beta.fill_(0.3)
    expert, policy = (network.columns(doubled(transitions_of(seed=seed))) for seed in (1, 2))
    generator = torch.Generator().manual_seed(0)
    noises = [torch.randn(12, 128, generator=generator, dtype=torch.float64) if use_vail else None for _ in range(2)]
    mix = torch.linspace(0.1, 0.9, 12, dtype=torch.float64)
    slope_by_differences(lambda: signal.losses(expert, policy, noises, mix)[0], list(network.parameters()))


def test_the_judge_sees_actions_and_ends_beside_the_vectors_or_in_their_place(tmp_path: Path) -> None:
    only_things = BehaviorSpec((ObservationSpec.entities(2, 2),), SPEC.action_spec)
    for spec, width in ((SPEC, 3 + 2 + 5 + 1), (only_things, 2 + 5 + 1)):
        demo = record(tmp_path / f"{width}.demo", spec)
        signal = signal_of(GAILSignal, "gail", spec, demo_path=str(demo), use_actions=True)
        seen = transitions_of(spec)
        columns = signal.network.columns(seen)
        assert columns[0].shape == (12, width)
        assert columns[0][:, -1].tolist() == seen.terminated.float().tolist()
        np.testing.assert_array_equal(columns[0][:, width - 8 : width - 6], seen.continuous)


def test_the_bottleneck_is_weighed_more_while_too_much_passes_and_never_negatively(tmp_path: Path) -> None:
    demo = record(tmp_path / "e.demo")
    signal = signal_of(GAILSignal, "gail", demo_path=str(demo), use_vail=True)
    for number in range(3):
        before = signal.network.beta.item()
        report = signal.update(transitions_of(seed=number))
        assert report["Policy/GAIL Beta"] == before
        expected = max(0.0, before + 0.0005 * (report["Losses/GAIL KL Loss"] - 0.5))
        assert signal.network.beta.item() == pytest.approx(expected, abs=1e-7)
