"""A game that cannot save its state begins anew when a run is resumed; nothing of the old episodes goes on in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparring.environments import Environment, StatefulEnvironment
from sparring.rollouts import RowStatus
from sparring.runs import CheckpointStore
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from tests.games import Role, WalkGame
from tests.training.runs_in_process import small_settings, train_small


class ForgetfulGame(Environment):
    """The duel, whose state nobody can save."""

    def __init__(self, *, num_arenas: int, seed: int, threads: int) -> None:
        del threads
        roles = (Role("Duel?team=0", 1), Role("Duel?team=1", 1))
        self._game = WalkGame(roles, num_arenas=num_arenas, seed=seed, states_result=True)

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self._game.behavior_specs

    def reset(self) -> None:
        self._game.reset()

    def step(self) -> None:
        self._game.step()

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        return self._game.get_steps(behavior_name)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        self._game.set_actions(behavior_name, action)

    def close(self) -> None:
        self._game.close()


def stopped_and_resumed(folder: Path) -> dict[str, Any]:
    """The collector's state two steps after a run was resumed in the middle of its matches."""
    settings = small_settings(folder, self_play=None, hyperparameters={"batch_size": 32, "buffer_size": 400})
    train_small(settings, ForgetfulGame, stop_after=14)
    train_small(settings, ForgetfulGame, resume=True, stop_after=2)
    state: dict[str, Any] = CheckpointStore(folder / "run" / "checkpoints").newest().state["collector"]
    return state


def test_the_game_of_these_tests_cannot_save_its_state() -> None:
    assert not isinstance(ForgetfulGame(num_arenas=1, seed=0, threads=1), StatefulEnvironment)


def test_no_decision_of_an_old_episode_is_followed_by_one_of_the_new_game(tmp_path: Path) -> None:
    columns = stopped_and_resumed(tmp_path)["behaviors"]["Duel"]["rollout"]["columns"]
    complete = np.flatnonzero((columns["status"] == RowStatus.COMPLETE) & ~columns["terminated"])
    followers = columns["next_row"][complete]
    goes_on = columns["status"][followers] != RowStatus.TAIL
    # The third number is the time left, which falls from decision to decision of an episode.
    left = columns["input_0"][:, 2]
    assert (left[followers[goes_on]] < left[complete[goes_on]]).all()


def test_the_episodes_of_the_new_game_begin_at_the_beginning(tmp_path: Path) -> None:
    tables = stopped_and_resumed(tmp_path)["behaviors"]["Duel"]["tables"]
    for table in tables.values():
        columns = table["columns"]
        assert columns["length"][columns["is_open"]].tolist() == [2, 2]
