"""Several games at once, with real child processes."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.environments.unity import GamePool, RestartLimits, UnityEnvironment
from sparring.errors import GameError
from sparring.settings import Sampler
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


def notes(folder: Path) -> list[list[Any]]:
    """What the games of the way `notes` were told, by game, in the order of their ports."""
    files = sorted(folder.iterdir(), key=lambda path: int(path.name))
    return [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in files]


def test_every_game_draws_from_samplers_of_its_own_and_is_told_of_changes(tmp_path: Path) -> None:
    uniform = Sampler.model_validate(
        {"sampler_type": "uniform", "sampler_parameters": {"min_value": 1, "max_value": 2, "seed": 9}}
    )
    with pool(f"notes {shlex.quote(str(tmp_path))}", 3) as games:
        games.set_parameters({"gravity": 9.5})
        games.set_samplers({"size": uniform})
        games.reset()
        for _ in range(20):
            games.step()
        games.set_parameters({"size": 4.0})
        for _ in range(40):
            games.step()
    seeds = set()
    for told in notes(tmp_path):
        gravity, (name, (kind, seed, ends)), reset, change = told
        assert (gravity, reset, change) == (["gravity", 9.5], "reset", ["size", 4.0])
        assert (name, kind, ends) == ("size", 0, [1.0, 2.0])
        seeds.add(seed)
    assert len(seeds) == 3
    assert 9 in seeds


def test_a_game_that_is_started_again_is_told_what_holds_now(tmp_path: Path) -> None:
    gaussian = Sampler.model_validate({"sampler_type": "gaussian", "sampler_parameters": {"seed": 9}})
    told: list[tuple[int, dict[str, Any]]] = []

    class Dying(UnityEnvironment):
        def set_parameters(self, parameters: Mapping[str, float]) -> None:
            told.append((len(starts), dict(parameters)))

        def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
            told.append((len(starts), dict(samplers)))

    starts: list[int] = []

    def start(worker: int, is_given_up: Callable[[], bool]) -> UnityEnvironment:
        starts.append(worker)
        return Dying(f"{FAKE} dies-always", worker, timeout_wait=20, should_stop=is_given_up)

    with GamePool(start, 1, limits=RestartLimits(lifetime=1, rate_n=-1)) as games:
        games.set_parameters({"gravity": 1.0, "size": 2.0})
        games.set_samplers({"gravity": gaussian})
        games.reset()
        while len(told) < 4:
            games.step()
    assert told[:4] == [
        (1, {"gravity": 1.0, "size": 2.0}),
        (1, {"gravity": gaussian}),
        (2, {"size": 2.0}),
        (2, {"gravity": gaussian}),
    ]
