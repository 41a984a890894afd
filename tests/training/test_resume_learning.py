"""Runs of every way to learn are resumed exactly: stopped or not, every bit is the same in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.learning.tasks import Aim, FallenMate, Recall, Task
from sparring.worlds.registry import CreateWorld
from tests import games
from tests.algorithms.signals.builders import record
from tests.training.run_comparison import curves, differences, final_state
from tests.training.runs_in_process import small_settings, train_small

MEMORY = {"hidden_units": 8, "num_layers": 1, "normalize": True, "memory": {"sequence_length": 4, "memory_size": 6}}

SMALL = {"hidden_units": 8, "num_layers": 1}
CURIOUS = {
    "extrinsic": {},
    "curiosity": {"strength": 0.1, "network_settings": SMALL},
    "rnd": {"strength": 0.1, "network_settings": SMALL},
}


def task(kind: type[Task], *, agents: int) -> CreateWorld:
    def create(*, num_arenas: int, seed: int, threads: int) -> Task:
        del num_arenas, threads
        return kind(agents=agents, seed=seed)

    return create


SAC: dict[str, Any] = {
    "trainer_type": "sac",
    "hyperparameters": {
        "batch_size": 32,
        "buffer_size": 200,
        "buffer_init_steps": 40,
        "steps_per_update": 4,
        "reward_signal_steps_per_update": 10,
        "save_replay_buffer": True,
    },
}

CASES: dict[str, tuple[CreateWorld, dict[str, Any]]] = {
    "memory": (task(Recall, agents=8), {"network_settings": MEMORY, "self_play": None}),
    "memory-shared": (
        task(Recall, agents=8),
        {
            "network_settings": MEMORY,
            "self_play": None,
            "hyperparameters": {"batch_size": 32, "buffer_size": 128, "shared_critic": True},
        },
    ),
    "memory-self-play": (games.duel, {"network_settings": MEMORY}),
    "poca": (task(FallenMate, agents=8), {"trainer_type": "poca", "self_play": None}),
    "poca-memory-curiosity": (
        task(FallenMate, agents=8),
        {"trainer_type": "poca", "self_play": None, "network_settings": MEMORY, "reward_signals": CURIOUS},
    ),
    "poca-self-play": (games.duel, {"trainer_type": "poca"}),
    "sac": (task(Aim, agents=8), {**SAC, "self_play": None}),
    "sac-self-play": (games.duel, SAC),
    "sac-memory-curiosity": (
        task(Recall, agents=8),
        {**SAC, "self_play": None, "network_settings": MEMORY, "reward_signals": CURIOUS},
    ),
    "curiosity-rnd": (games.duel, {"reward_signals": CURIOUS}),
}


@pytest.mark.parametrize("name", CASES)
def test_stopping_and_resuming_changes_no_bit(name: str, tmp_path: Path) -> None:
    _compare(*CASES[name], tmp_path)


@pytest.mark.parametrize(("trainer", "memory"), [({}, False), ({}, True), (SAC, False)], ids=["plain", "memory", "sac"])
def test_stopping_and_resuming_while_imitating_changes_no_bit(
    trainer: dict[str, Any], memory: bool, tmp_path: Path
) -> None:
    demo = str(record(tmp_path / "expert.demo", Recall.spec, episodes=4, steps=6))
    changes = {
        **trainer,
        "self_play": None,
        "network_settings": MEMORY if memory else SMALL,
        "reward_signals": {
            "extrinsic": {},
            "gail": {"demo_path": demo, "use_actions": True, "use_vail": True, "network_settings": SMALL},
        },
        "behavioral_cloning": {"demo_path": demo, "strength": 0.5, "steps": 300},
    }
    _compare(task(Recall, agents=8), changes, tmp_path)


def test_a_run_resumed_without_its_replay_fills_it_again_and_learns_on(tmp_path: Path) -> None:
    plan = {**SAC["hyperparameters"], "save_replay_buffer": False}
    settings = small_settings(tmp_path, trainer_type="sac", hyperparameters=plan, self_play=None)
    game = task(Aim, agents=8)
    train_small(settings, game, stop_after=16)
    (before,) = final_state(tmp_path)["collector"]["behaviors"].values()
    assert before["learner"]["cadence"]["done"] > 10
    train_small(settings, game, resume=True)
    (after,) = final_state(tmp_path)["collector"]["behaviors"].values()
    # As many decisions as were held, then one update for every 4 of the rest.
    start = before["counters"]["steps"] + before["learner"]["held"]
    assert before["learner"]["held"] == before["counters"]["steps"]
    assert after["learner"]["cadence"] == {"start": start, "done": 1 + (after["counters"]["steps"] - start) // 4}


def _compare(game: CreateWorld, changes: dict[str, Any], tmp_path: Path) -> None:
    folders = tmp_path / "straight", tmp_path / "stopped"
    train_small(small_settings(folders[0], **changes), game)
    settings = small_settings(folders[1], **changes)
    report = train_small(settings, game, stop_after=17)
    while report.was_interrupted:
        report = train_small(settings, game, resume=True, stop_after=17)
    first, second = (final_state(folder) for folder in folders)
    assert differences(first, second) == []
    assert curves(folders[0]) == curves(folders[1])
    learners = [training["learner"] for training in first["collector"]["behaviors"].values()]
    assert all(learner["optimizers"]["0"] for learner in learners)
    assert len(report.models) == len(learners)  # each was proven against its policy before it was written
