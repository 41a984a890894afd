"""Several games at once, with real child processes."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sparring.environments.unity import GamePool, RestartLimits, UnityEnvironment
from sparring.errors import GameError
from sparring.steps import ActionBatch

FAKE = f"{shlex.quote(sys.executable)} -m tests.environments.unity.fake_game"
NAME = "Walker?team=0"


def pool(way: str, count: int, *, limits: RestartLimits | None = None) -> GamePool:
    return GamePool(
        lambda worker, is_given_up: UnityEnvironment(f"{FAKE} {way}", worker, timeout_wait=20, should_stop=is_given_up),
        count,
        limits=limits,
    )


def test_agents_of_different_games_never_share_an_id_or_an_arena() -> None:
    with pool("plays", 3) as games:
        games.reset()
        seen: set[tuple[int, int]] = set()
        for _ in range(40):
            decision, _ = games.get_steps(NAME)
            assert decision.arena_id is not None
            assert len(set(decision.agent_id.tolist())) == len(decision) > 0
            seen |= set(zip(decision.agent_id.tolist(), decision.arena_id.tolist(), strict=True))
            games.set_actions(
                NAME, ActionBatch(np.zeros((len(decision), 1), np.float32), np.zeros((len(decision), 0), np.int32))
            )
            games.step()
        assert seen == {(0, 0), (1, 1), (2, 2)}


def test_a_game_that_was_killed_is_started_again_and_its_arena_is_lost(tmp_path: Path) -> None:
    with pool(f"is-killed {shlex.quote(str(tmp_path / 'mark'))}", 1) as games:
        games.reset()
        lost: list[int] = []
        while not lost:
            games.step()
            lost += games.take_lost_arenas().tolist()
        for _ in range(80):
            games.step()
            lost += games.take_lost_arenas().tolist()
        assert lost == [0]
        assert len(games.get_steps(NAME)[0]) == 1


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        (RestartLimits(lifetime=2, rate_n=-1), 2),
        (RestartLimits(lifetime=-1, rate_n=1), 1),
        (RestartLimits(lifetime=0), 0),
    ],
)
def test_a_game_that_breaks_too_often_ends_the_run(limits: RestartLimits, starts: int) -> None:
    with pool("dies-always", 1, limits=limits) as games:
        games.reset()
        with pytest.raises(GameError, match=f"started again {starts} times"):
            step_often(games)


def step_often(games: GamePool) -> None:
    for _ in range(50):
        games.step()


def test_one_game_that_does_not_start_leaves_none_running() -> None:
    def make(worker: int, is_given_up: Callable[[], bool]) -> UnityEnvironment:
        return UnityEnvironment(
            f"{FAKE} {'exits' if worker else 'plays'}", worker, timeout_wait=20, should_stop=is_given_up
        )

    with pytest.raises(GameError, match="exit code 139"):
        GamePool(make, 2)
