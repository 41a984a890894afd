"""The smallest games are learned with a wide margin, and what cannot be learned is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.algorithms import PPOLearner
from sparring.rollouts import Rollout
from sparring.specs import ActionSpec
from tests.algorithms.builders import act, behavior, make_learner, plan

pytestmark = pytest.mark.learn

AGENTS = 64
SIGNS = np.eye(4, dtype=np.float32)

Judge = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[Any]]
"""Rewards of signs, continuous actions and choices."""


def same_choice(sign: NDArray[Any], continuous: NDArray[Any], discrete: NDArray[Any]) -> NDArray[Any]:
    return np.array(discrete[:, 0] == sign, np.float32)


def near_target(sign: NDArray[Any], continuous: NDArray[Any], discrete: NDArray[Any]) -> NDArray[Any]:
    """1 at -0.9, -0.3, 0.3 or 0.9, by sign, and less the farther away."""
    distance = np.clip(continuous[:, 0], -3, 3) / 3 - (0.6 * sign - 0.9)
    return np.array(1.0 - np.abs(distance), np.float32)


def trained(
    actions: ActionSpec,
    judge: Judge,
    *,
    updates: int,
    seed: int,
    mask: NDArray[Any] | None = None,
    spoil: Callable[[NDArray[Any], np.random.Generator], NDArray[Any]] | None = None,
    **hyper: Any,
) -> PPOLearner:
    """A learner of a game of one decision: it sees one of four signs and is judged by what it does."""
    spec = behavior(actions, size=4)
    settings = plan(
        **{"batch_size": 64, "num_epoch": 4, "learning_rate": 1e-2, "beta": 1e-3, **hyper}, network={"hidden_units": 16}
    )
    learner = make_learner(spec, settings, seed=seed)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    rollout = Rollout([(4,)], actions, capacity=2 * AGENTS)
    for step in range(updates):
        for _ in range(2):
            sign = rng.integers(0, 4, AGENTS)
            inputs = [SIGNS[sign]]
            blocked = None if mask is None else np.repeat(mask[None], AGENTS, axis=0)
            rows = rollout.append(inputs, blocked, rollout.begin_trajectories(AGENTS))
            output = act(learner, rollout, rows, inputs, blocked, generator)
            reward = judge(sign, output.continuous, output.discrete)
            reward = reward if spoil is None else spoil(reward, rng)
            rollout.complete(rows, reward, terminated=np.ones(AGENTS, bool))
        learner.update(rollout, step=step)
        rollout.carry_over()
    return learner


def score(learner: PPOLearner, judge: Judge, *, mask: NDArray[Any] | None = None) -> float:
    """Mean reward of the most likely actions over the four signs."""
    blocked = None if mask is None else np.repeat(mask[None], 4, axis=0)
    output = learner.policy.act([SIGNS], blocked, torch.Generator(), deterministic=True)
    return float(judge(np.arange(4), output.continuous, output.discrete).mean())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shared", [False, True])
def test_naming_the_sign_one_sees_is_learned(seed: int, shared: bool) -> None:
    learner = trained(ActionSpec.create_discrete((4,)), same_choice, updates=25, seed=seed, shared_critic=shared)
    assert score(learner, same_choice) == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pointing_to_the_place_of_the_sign_is_learned(seed: int) -> None:
    learner = trained(ActionSpec.create_continuous(1), near_target, updates=50, seed=seed, learning_rate=3e-3)
    # Standing in the middle gives 0.4, the best place 1.
    assert score(learner, near_target) > 0.8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_parts_of_a_hybrid_action_are_learned(seed: int) -> None:
    def both(sign: NDArray[Any], continuous: NDArray[Any], discrete: NDArray[Any]) -> NDArray[Any]:
        return np.array(same_choice(sign, continuous, discrete) + 2 * near_target(sign, continuous, discrete))

    learner = trained(ActionSpec.create_hybrid(1, (4,)), both, updates=60, seed=seed, learning_rate=3e-3)
    assert score(learner, same_choice) == 1.0
    assert score(learner, near_target) > 0.8


@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_of_what_a_mask_leaves_is_learned(seed: int) -> None:
    # The second branch has three choices that give 2, 1 and 0; the first of them is not available.
    mask = np.array([False] * 4 + [True, False, False])

    def judged(sign: NDArray[Any], continuous: NDArray[Any], discrete: NDArray[Any]) -> NDArray[Any]:
        return np.array(2.0 - discrete[:, 1] + same_choice(sign, continuous, discrete), np.float32)

    learner = trained(ActionSpec.create_discrete((4, 3)), judged, updates=40, seed=seed, mask=mask)
    assert score(learner, judged, mask=mask) == 2.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rewards_that_belong_to_others_teach_nothing(seed: int) -> None:
    learner = trained(
        ActionSpec.create_discrete((4,)),
        same_choice,
        updates=25,
        seed=seed,
        spoil=lambda reward, rng: rng.permutation(reward),
    )
    assert score(learner, same_choice) <= 0.5


def test_a_learning_rate_of_nothing_teaches_nothing() -> None:
    actions = ActionSpec.create_discrete((4,))
    learner = trained(actions, same_choice, updates=25, seed=1, learning_rate=1e-12)
    untrained = trained(actions, same_choice, updates=0, seed=1)
    assert score(learner, same_choice) == score(untrained, same_choice) < 1.0
