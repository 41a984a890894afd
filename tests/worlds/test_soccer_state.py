"""Seeds, threads, and states that are saved and put back: equal means equal bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparring.errors import CheckpointError
from sparring.steps import ActionBatch
from tests.worlds.builders import Array, SoccerTwos, StrikersVsGoalie

Step = dict[str, list[list[Array]]]
GAMES = pytest.mark.parametrize("make", [SoccerTwos, StrikersVsGoalie])


def play(world: Any, steps: int, *, start: int = 0) -> list[Step]:
    """Plays actions that depend on arena and step alone; gives every column of every step."""
    seen = []
    for step in range(start, start + steps):
        for name in world.behavior_specs:
            set_actions(world, name, step)
        world.step()
        seen.append({name: columns(world, name) for name in world.behavior_specs})
    return seen


def set_actions(world: Any, name: str, step: int) -> None:
    agents = world.get_steps(name)[0].agent_id
    choices = np.stack([np.random.default_rng([step, agent]).integers(0, 3, 3) for agent in agents]).astype(np.int32)
    world.set_actions(name, ActionBatch(np.zeros((len(agents), 0), np.float32), choices))


def columns(world: Any, name: str) -> list[list[Array]]:
    decision, terminal = world.get_steps(name)
    return [[*s.obs, s.reward, s.group_reward, s.agent_id, s.group_id, s.arena_id] for s in (decision, terminal)] + [
        [terminal.interrupted, terminal.match_score]
    ]


def assert_same(one: list[Step], other: list[Step]) -> None:
    for left, right in zip(one, other, strict=True):
        for name in left:
            for columns_left, columns_right in zip(left[name], right[name], strict=True):
                for a, b in zip(columns_left, columns_right, strict=True):
                    np.testing.assert_array_equal(a, b)


@GAMES
def test_an_arena_plays_the_same_whatever_the_number_of_arenas(make):
    def first_arena(arenas: int) -> list[Step]:
        with make(num_arenas=arenas, seed=5, max_ticks=60) as world:
            return [
                {name: [rows_of(0, group) for group in groups[:2]] for name, groups in step.items()}
                for step in play(world, 40)
            ]

    alone = first_arena(1)
    for arenas in (3, 8):
        assert_same(alone, first_arena(arenas))


def rows_of(arena: int, group: list[Array]) -> list[Array]:
    return [column[group[-1] == arena] for column in group]


@GAMES
@pytest.mark.parametrize("threads", [2, 7])
def test_the_number_of_threads_changes_nothing(make, threads):
    with (
        make(num_arenas=5, seed=2, max_ticks=60) as alone,
        make(num_arenas=5, seed=2, max_ticks=60, threads=threads) as together,
    ):
        assert_same(play(alone, 40), play(together, 40))


def test_other_seeds_and_other_arenas_start_elsewhere():
    with SoccerTwos(num_arenas=2, seed=0) as one, SoccerTwos(num_arenas=2, seed=1) as other:
        places = [world.save_state()["arenas"]["bodies"][:, :, 0] for world in (one, other)]
    assert len(np.unique(np.concatenate(places), axis=0)) == 4


@GAMES
def test_a_restored_world_goes_on_bit_for_bit(make):
    settings = {"num_arenas": 3, "max_ticks": 35}
    with make(seed=1, **settings) as world:
        world.set_parameters({"ball_touch": 1.0, "ball_scale": 1.5})
        play(world, 20)
        for name in world.behavior_specs:
            set_actions(world, name, 99)  # actions that wait for their step are part of the state
        saved = world.save_state()
        now = [{name: columns(world, name) for name in world.behavior_specs}]
        world.step()
        future = [{name: columns(world, name) for name in world.behavior_specs}, *play(world, 25)]
        statistics = world.take_statistics()
    with make(seed=77, threads=2, **settings) as other:
        play(other, 3)
        other.restore_state(saved)
        assert_same(now, [{name: columns(other, name) for name in other.behavior_specs}])
        other.step()
        again = [{name: columns(other, name) for name in other.behavior_specs}, *play(other, 25)]
        assert_same(future, again)
        assert other.take_statistics() == statistics


def test_a_saved_state_is_a_copy():
    with SoccerTwos(num_arenas=1) as world:
        saved = world.save_state()
        before = saved["arenas"]["bodies"].copy()
        play(world, 3)
        np.testing.assert_array_equal(saved["arenas"]["bodies"], before)
        world.restore_state(saved)
        play(world, 3)
        np.testing.assert_array_equal(saved["arenas"]["bodies"], before)


def _without(state: Any) -> None:
    del state["arenas"]["heading"]


def _other_shape(state: Any) -> None:
    state["arenas"]["bodies"] = state["arenas"]["bodies"][:, :2]


def _other_type(state: Any) -> None:
    state["arenas"]["ticks"] = state["arenas"]["ticks"].astype(np.float64)


def _not_finite(state: Any) -> None:
    state["arenas"]["bodies"][0, 0, 2] = np.inf


def _outside(state: Any) -> None:
    state["arenas"]["bodies"][0, 0, 0] = 18.0


def _too_fast(state: Any) -> None:
    state["arenas"]["bodies"][0, 0, 2] = 1e300


def _no_ball(state: Any) -> None:
    state["parameters"]["next_values"][0, 1] = 0.0


def _no_radius(state: Any) -> None:
    state["arenas"]["ball_radius"][1] = -1.0


def _no_table(state: Any) -> None:
    state["arenas"] = "nonsense"


def _no_world(state: Any) -> None:
    state.clear()


@pytest.mark.parametrize(
    "spoil",
    [_no_world, _without, _other_shape, _other_type, _not_finite, _outside, _too_fast, _no_ball, _no_radius, _no_table],
)
def test_a_spoiled_state_is_refused_and_changes_nothing(spoil):
    with SoccerTwos(num_arenas=2, seed=3) as world, SoccerTwos(num_arenas=2, seed=3) as untouched:
        state = world.save_state()
        spoil(state)
        with pytest.raises(CheckpointError):
            world.restore_state(state)
        assert_same(play(world, 3), play(untouched, 3))


def test_a_state_of_another_number_of_arenas_is_refused():
    with SoccerTwos(num_arenas=2) as two:
        saved = two.save_state()
    with SoccerTwos(num_arenas=3) as three, pytest.raises(CheckpointError, match="same number of arenas"):
        three.restore_state(saved)
