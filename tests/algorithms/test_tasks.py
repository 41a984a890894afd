"""Small games with a known best score are learned to a stated score in a stated number of steps.

The full versions, with more seeds, are in `benchmarks/learning`.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.learning.tasks import Aim, FallenMate, GroupBandit, PickEntity, Pointing, Recall
from tests.algorithms.playing import play

pytestmark = pytest.mark.learn


def ppo(network: dict[str, Any] | None = None, **hyper: Any) -> dict[str, Any]:
    return {
        "hyperparameters": {
            "batch_size": 256,
            "buffer_size": 1024,
            "learning_rate": 3e-3,
            "learning_rate_schedule": "constant",
            "num_epoch": 4,
            "beta": 1e-2,
            **hyper,
        },
        "network_settings": {"hidden_units": 32, "num_layers": 1, **(network or {})},
    }


def sac(network: dict[str, Any] | None = None, **hyper: Any) -> dict[str, Any]:
    return {
        "trainer_type": "sac",
        "hyperparameters": {
            "batch_size": 128,
            "buffer_size": 4096,
            "learning_rate": 3e-3,
            "buffer_init_steps": 256,
            "steps_per_update": 16,
            "init_entcoef": 0.1,
            **hyper,
        },
        "network_settings": {"hidden_units": 32, "num_layers": 1, **(network or {})},
    }


@pytest.mark.parametrize("seed", [1])
def test_a_bit_is_recalled_five_steps_later_with_memory(seed: int) -> None:
    settings = ppo({"memory": {"sequence_length": 8, "memory_size": 32}})
    assert play(Recall(agents=64, seed=seed), settings, steps=30_000, seed=seed) > 0.95


def test_a_bit_is_not_recalled_without_memory() -> None:
    assert play(Recall(agents=64, seed=1), ppo(), steps=15_000) < 0.6


@pytest.mark.parametrize("seed", [1])
def test_the_quarter_of_a_picture_with_the_bright_square_is_pointed_to(seed: int) -> None:
    assert play(Pointing(agents=64, seed=seed), ppo(), steps=20_000, seed=seed) > 0.9


def test_the_brightest_of_a_list_of_things_is_picked() -> None:
    # Naming any number that is there gives about a half.
    assert play(PickEntity(agents=64, seed=1), ppo(), steps=9_000, seed=1) > 0.8


def test_sac_aims_with_a_continuous_action_and_a_choice_at_once() -> None:
    # Pointing to the middle and guessing the side gives about a half.
    assert play(Aim(agents=64, seed=1), sac(), steps=4_000) > 0.7


def test_sac_recalls_a_bit_with_memory() -> None:
    settings = sac({"memory": {"sequence_length": 8, "memory_size": 32}}, batch_size=256, steps_per_update=32)
    assert play(Recall(agents=64, seed=1), settings, steps=8_000, seed=1) > 0.95


def test_sac_learns_from_a_reward_paid_only_to_the_group() -> None:
    assert play(GroupBandit(agents=66, seed=1), sac(), steps=3_000) > 0.9


@pytest.mark.parametrize("trainer", ["ppo", "poca"])
def test_a_reward_paid_only_to_the_group_is_learned_from(trainer: str) -> None:
    assert play(GroupBandit(agents=66, seed=1), {**ppo(), "trainer_type": trainer}, steps=8_000) > 0.9


@pytest.mark.parametrize("memory", [False, True])
def test_what_a_member_did_before_it_fell_is_credited_by_poca(memory: bool) -> None:
    network = {"memory": {"sequence_length": 4, "memory_size": 16}} if memory else {}
    assert play(FallenMate(agents=64, seed=1), {**ppo(network), "trainer_type": "poca"}, steps=12_000) > 0.9


def test_what_a_member_did_before_it_fell_is_lost_to_ppo() -> None:
    assert play(FallenMate(agents=64, seed=1), ppo(), steps=12_000) < 0.65
