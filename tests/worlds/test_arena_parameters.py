"""Parameters of arenas: numbers for all, or draws for each episode of each arena; the state is exact and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from sparring.environments import Environment
from sparring.environments.samplers import draw
from sparring.errors import CheckpointError, SettingsError
from sparring.settings import Sampler
from sparring.specs import BehaviorSpec
from sparring.worlds.arena_parameters import ArenaParameters, ParameterRange
from sparring.worlds.soccer import SoccerTwos

RANGES = {"wind": ParameterRange(0.5, -10.0, 10.0), "size": ParameterRange(1.0, 0.25, 4.0)}
ALL = np.arange(3)


def sampler(kind: str = "uniform", **parameters: Any) -> Sampler:
    return Sampler.model_validate({"sampler_type": kind, "sampler_parameters": {"seed": 1, **parameters}})


def parameters(arenas: int = 3) -> ArenaParameters:
    return ArenaParameters(RANGES, num_arenas=arenas)


def test_numbers_are_the_same_for_all_and_stay_what_they_were_until_they_are_set() -> None:
    own = parameters()
    own.set_numbers({"size": 2.0, "gravity": 9.81})
    own.begin(ALL)
    assert own.next_values.tolist() == [[0.5, 2.0]] * 3
    assert own.take_statistics() == []


def test_every_episode_of_every_arena_has_a_draw_of_its_own() -> None:
    own, plan = parameters(), sampler(min_value=1.0, max_value=3.0)
    own.set_samplers({"size": plan})
    played: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for begun in ([0, 1, 2], [1], [1, 2], [0, 1, 2]):
        for arena in begun:
            played[arena].append(float(own.next_values[arena, 1]))
        own.begin(np.array(begun))
    assert played == {
        arena: [draw(plan, arena=arena, number=number) for number in range(count)]
        for arena, count in ((0, 2), (1, 4), (2, 3))
    }
    told = own.take_statistics()
    assert {(each.key, each.aggregation) for each in told} == {("Environment/Drawn Parameter/size", 3)}
    assert sorted(each.value for each in told) == sorted(value for values in played.values() for value in values)
    assert own.take_statistics() == []


def test_an_arena_draws_the_same_whatever_the_number_of_arenas() -> None:
    few, many = parameters(1), parameters(7)
    for own in (few, many):
        own.set_samplers({"size": sampler(min_value=1.0, max_value=3.0)})
    assert few.next_values[0, 1] == many.next_values[0, 1]
    assert len(set(many.next_values[:, 1].tolist())) == 7


def test_the_same_sampler_draws_on_another_begins_and_a_number_ends_it() -> None:
    own, plan = parameters(), sampler(min_value=1.0, max_value=3.0)
    own.set_samplers({"size": plan})
    own.begin(ALL)
    second = own.next_values[:, 1].tolist()
    own.set_samplers({"size": sampler(min_value=1.0, max_value=3.0)})
    assert own.next_values[:, 1].tolist() == second
    own.set_samplers({"size": sampler(min_value=1.0, max_value=3.0, seed=2)})
    assert not np.isin(own.next_values[:, 1], second).any()
    own.set_numbers({"size": 2.0})
    own.begin(ALL)
    assert own.next_values[:, 1].tolist() == [2.0] * 3


def test_a_normal_distribution_is_cut_off_at_the_ends_of_the_range() -> None:
    own = parameters(200)
    own.set_samplers({"size": sampler("gaussian", mean=1.0, st_dev=5.0)})
    drawn = own.next_values[:, 1]
    assert drawn.min() == 0.25
    assert drawn.max() == 4.0
    assert ((drawn > 0.25) & (drawn < 4.0)).any()


@pytest.mark.parametrize(
    "plan",
    [
        sampler(min_value=0.2, max_value=3.0),
        sampler("multirangeuniform", intervals=[[1, 2], [3, 5]]),
        sampler("gaussian", mean=9.0, st_dev=0.1),
    ],
)
def test_samplers_that_leave_the_range_are_refused_and_change_nothing(plan: Sampler) -> None:
    own = parameters()
    with pytest.raises(SettingsError, match=r"environment_parameters\.size.*expected 0\.25 to 4"):
        own.set_samplers({"wind": sampler(), "size": plan})
    assert own.next_values.tolist() == [[0.5, 1.0]] * 3


def test_a_saved_state_goes_on_exactly() -> None:
    own, other = parameters(), parameters()
    own.set_samplers({"size": sampler(min_value=1.0, max_value=3.0), "wind": sampler("gaussian")})
    own.begin(np.array([0, 2]))
    other.restore_state(other.checked_state(own.save_state()))
    own.begin(ALL)
    other.begin(ALL)
    assert own.next_values.tolist() == other.next_values.tolist()
    assert own.take_statistics() == other.take_statistics()


def _no_sampler(state: Any) -> None:
    state["samplers"]["size"] = {"sampler_type": "dice"}


def _unknown_parameter(state: Any) -> None:
    state["samplers"]["colour"] = state["samplers"]["size"]


def _out_of_range(state: Any) -> None:
    state["next_values"][1, 1] = 7.0


def _negative_draws(state: Any) -> None:
    state["draws"][0, 0] = -1


def _unknown_column(state: Any) -> None:
    state["begun"][0, 0] = 5.0


def _other_arenas(state: Any) -> None:
    state["next_values"] = state["next_values"][:2]


@pytest.mark.parametrize(
    "spoil",
    [_no_sampler, _unknown_parameter, _out_of_range, _negative_draws, _unknown_column, _other_arenas, dict.clear],
)
def test_a_spoiled_state_is_refused(spoil: Callable[[Any], None]) -> None:
    own = parameters()
    own.set_samplers({"size": sampler(min_value=1.0, max_value=3.0)})
    own.begin(ALL)
    state = own.save_state()
    spoil(state)
    with pytest.raises(CheckpointError):
        own.checked_state(state)


def test_a_world_plays_every_match_with_the_ball_that_was_drawn_for_it() -> None:
    plan = sampler(min_value=0.5, max_value=2.0)
    with SoccerTwos(num_arenas=2, max_ticks=10) as world:
        world.set_samplers({"ball_scale": plan})
        world.reset()
        seen: list[list[float]] = []
        for _ in range(6):  # a match lasts two steps
            seen.append([world.scene(arena).discs[-1].radius / 0.624 for arena in (0, 1)])
            world.step()
            world.step()
        reported = [each.value for each in world.take_statistics() if each.key.startswith("Environment/Drawn")]
    expected = [[draw(plan, arena=arena, number=number) for arena in (0, 1)] for number in range(7)]
    np.testing.assert_allclose(seen, expected[:6], rtol=1e-12)
    np.testing.assert_allclose(reported, np.concatenate(expected), rtol=1e-12)


def test_a_restored_world_draws_on_where_it_was() -> None:
    with SoccerTwos(num_arenas=2, max_ticks=10) as world, SoccerTwos(num_arenas=2, max_ticks=10) as other:
        world.set_samplers({"ball_scale": sampler(min_value=0.5, max_value=2.0)})
        for _ in range(5):
            world.step()
        other.restore_state(world.save_state())
        for _ in range(6):
            world.step()
            other.step()
        assert world.take_statistics() == other.take_statistics()


class _Plain(Environment):
    """A game that takes numbers only, as the contract's defaults are."""

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {}

    def reset(self) -> None: ...
    def step(self) -> None: ...
    def get_steps(self, behavior_name: str) -> Any: ...
    def set_actions(self, behavior_name: str, action: Any) -> None: ...
    def close(self) -> None: ...


def test_a_game_that_draws_nothing_says_so() -> None:
    _Plain().set_samplers({})
    with pytest.raises(SettingsError, match=r"environment_parameters\.size: this game takes numbers"):
        _Plain().set_samplers({"size": sampler()})
