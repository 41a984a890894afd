"""The rules of both soccer games, played out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparring.environments import Environment
from sparring.environments.environment import StatefulEnvironment
from sparring.errors import GameError, SettingsError, SpecError
from sparring.specs import ActionSpec
from sparring.steps import ActionBatch
from tests.worlds.builders import (
    AGENT,
    BALL,
    TWOS_PITCH,
    Array,
    SoccerTwos,
    StrikersVsGoalie,
    act,
    act_at_random,
    bodies_of,
    clearance,
    overlap,
    place,
)

BLUE, PURPLE = "SoccerTwos?team=0", "SoccerTwos?team=1"
STRIKER, GOALIE = "Striker?team=0", "Goalie?team=1"
FORWARD, RIGHT = 1, 1
GAMES = pytest.mark.parametrize("make", [SoccerTwos, StrikersVsGoalie])


def at(*rows: tuple[float, ...]) -> Array:
    """Discs of one arena as (x, z) or (x, z, vx, vz)."""
    return np.array([[[*row, *([0.0] * (4 - len(row)))] for row in rows]])


# What agents are told


def test_observations_have_the_names_and_sizes_of_the_original():
    with SoccerTwos(num_arenas=1) as twos, StrikersVsGoalie(num_arenas=1) as strikers:
        specs = {**twos.behavior_specs, **strikers.behavior_specs}
    sensors = {name: [(o.name, o.shape) for o in spec.observation_specs] for name, spec in specs.items()}
    prefix = "StackingSensor_size3_"
    assert sensors == {
        BLUE: [(f"{prefix}BlueRayPerceptionSensor", (264,)), (f"{prefix}BlueRayPerceptionSensorReverse", (72,))],
        PURPLE: [(f"{prefix}PurpleRayPerceptionSensor", (264,)), (f"{prefix}PurpleRayPerceptionSensorReverse", (72,))],
        STRIKER: [(f"{prefix}BlueRayPerceptionSensor", (231,)), (f"{prefix}BlueRayPerceptionSensorReverse", (63,))],
        GOALIE: [(f"{prefix}PurpleGoalieRayPerceptionSensor", (738,))],
    }
    assert all(spec.action_spec == ActionSpec.create_discrete((3, 3, 3)) for spec in specs.values())


def test_agents_arenas_and_groups_are_numbered_by_arena_then_seat():
    with StrikersVsGoalie(num_arenas=3) as world:
        striker, _ = world.get_steps(STRIKER)
        goalie, _ = world.get_steps(GOALIE)
    assert striker.agent_id.tolist() == [0, 1, 3, 4, 6, 7]
    assert goalie.agent_id.tolist() == [2, 5, 8]
    assert striker.arena_id.tolist() == [0, 0, 1, 1, 2, 2]
    assert striker.group_id.tolist() == [1, 1, 3, 3, 5, 5]
    assert goalie.group_id.tolist() == [2, 4, 6]


@GAMES
def test_arrays_handed_out_are_fresh(make):
    with make(num_arenas=2, max_ticks=5) as world:
        world.step()
        for name in world.behavior_specs:
            for taken, again in zip(world.get_steps(name), world.get_steps(name), strict=True):
                for column in (*taken.obs, taken.reward, taken.agent_id, taken.group_id, taken.arena_id):
                    np.add(column, 1, out=column)
                for mine, theirs in zip(taken.obs, again.obs, strict=True):
                    np.testing.assert_array_equal(mine, theirs + 1)
            fresh, _ = world.get_steps(name)
            np.testing.assert_array_equal(fresh.agent_id, again.agent_id)


@GAMES
def test_worlds_are_environments_whose_state_can_be_saved(make):
    with make(num_arenas=1) as world:
        assert isinstance(world, Environment)
        assert isinstance(world, StatefulEnvironment)


# How agents move


@pytest.mark.parametrize(
    ("make", "behavior", "seat", "choices", "speed"),
    [
        (StrikersVsGoalie, STRIKER, 0, (1, 0, 0), (40.7, 0.0)),
        (StrikersVsGoalie, STRIKER, 0, (2, 0, 0), (-40.7, 0.0)),
        (StrikersVsGoalie, STRIKER, 0, (0, 1, 0), (0.0, -9.4)),
        (StrikersVsGoalie, GOALIE, 2, (1, 0, 0), (31.3, 0.0)),
        (StrikersVsGoalie, GOALIE, 2, (0, 2, 0), (0.0, 31.3)),
        (SoccerTwos, BLUE, 0, (1, 0, 0), (31.3, 0.0)),
        (SoccerTwos, BLUE, 0, (1, 1, 0), (0.0, -9.4)),
    ],
)
def test_agents_have_the_steady_speeds_of_the_sheet(make, behavior, seat, choices, speed):
    # At its steady speed an agent neither gains nor loses any in five ticks.
    exact = np.array(speed) / np.abs(speed).max()
    exact *= {40.7: 2.6, 31.3: 2.0, 9.4: 0.6}[np.abs(speed).max()] * 0.94 / 0.06
    with make(num_arenas=1) as world:
        bodies = bodies_of(world)
        bodies[0, :, 0], bodies[0, :, 1] = -12.0, np.linspace(-5, 5, bodies.shape[1])
        bodies[0, seat] = (0.0, 0.0, *exact)
        place(world, bodies=bodies, heading=np.zeros((1, bodies.shape[1] - 1)))
        act(world, behavior, *choices)
        world.step()
        after = bodies_of(world)[0, seat]
    np.testing.assert_allclose(after[2:], exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(after[:2], exact * 0.1, rtol=1e-12)
    assert np.abs(exact).max() == pytest.approx(np.abs(speed).max(), abs=0.05)


@pytest.mark.parametrize(("choice", "degrees"), [(0, 0.0), (1, 10.0), (2, -10.0)])
def test_an_agent_turns_ten_degrees_a_decision(choice, degrees):
    with SoccerTwos(num_arenas=1) as world:
        place(world, heading=[[np.radians(175.0)] * 4])
        act(world, BLUE, 0, 0, choice)
        world.step()
        heading = np.degrees(world.save_state()["arenas"]["heading"][0, 0])
    assert (heading - 175.0 - degrees + 180) % 360 - 180 == pytest.approx(0.0, abs=1e-9)
    assert abs(heading) <= 180.0


def test_the_ball_loses_two_percent_of_its_speed_a_tick():
    with SoccerTwos(num_arenas=1) as world:
        place(world, bodies=at((-9, 3), (-9, -3), (9, 3), (9, -3), (0, 0, 10, 5)))
        world.step()
        np.testing.assert_allclose(bodies_of(world)[0, 4, 2:], np.array([10, 5]) * 0.98**5)


def test_an_agent_without_an_action_does_nothing_even_after_it_had_one():
    with SoccerTwos(num_arenas=1) as world:
        act(world, BLUE, FORWARD, 0, 1)
        world.step()
        before = world.save_state()["arenas"]
        world.step()
        after = world.save_state()["arenas"]
    np.testing.assert_array_equal(before["heading"], after["heading"])
    np.testing.assert_allclose(after["bodies"][0, :2, 2:], before["bodies"][0, :2, 2:] * 0.94**5)


# Kicks and touches


def test_a_kick_adds_thirteen_meters_a_second_along_the_line_of_contact():
    # Choosing forward and sideways together moves like sideways alone, but arms the kick.
    ends = []
    for forward in (0, FORWARD):
        with SoccerTwos(num_arenas=1) as world:
            place(world, bodies=at((0, 0, 8, 0), (-9, 3), (9, 3), (9, -3), (1.2, 0.3)), heading=np.zeros((1, 4)))
            act(world, BLUE, forward, RIGHT, 0)
            world.step()
            ends.append(bodies_of(world)[0, 4])
    gain = np.linalg.norm(ends[1][2:] - ends[0][2:])
    assert gain == pytest.approx(2000 * 0.02 / 3 * 0.98**4, rel=1e-9)  # contact in the first of five ticks
    kick = ends[1][2:] - ends[0][2:]
    np.testing.assert_allclose(kick / gain, ends[0][2:] / np.linalg.norm(ends[0][2:]), atol=1e-9)


def test_the_goalie_kicks_without_being_told_to():
    with StrikersVsGoalie(num_arenas=1) as world:
        place(world, bodies=at((-9, 3), (-9, -3), (3, 0, -10, 0), (1.8, 0)), heading=np.zeros((1, 3)))
        world.step()
        speed = bodies_of(world)[0, 3, 2]
    bounced = -9.4 * 1.8 * 50 / 53  # the impact law for a ball at rest
    assert speed == pytest.approx((bounced - 2000 * 0.02 / 3) * 0.98**4)


def test_a_striker_that_only_runs_into_the_ball_does_not_kick():
    with StrikersVsGoalie(num_arenas=1) as world:
        place(world, bodies=at((0, 0, 10, 0), (-9, -3), (9, 3), (1.2, 0)), heading=np.zeros((1, 3)))
        world.step()
        assert bodies_of(world)[0, 3, 2] == pytest.approx(9.4 * 1.8 * 50 / 53 * 0.98**4)


def test_touch_rewards_count_contacts_that_begin_not_ticks_of_contact():
    with SoccerTwos(num_arenas=1) as world:
        world.set_parameters({"ball_touch": 0.5})
        world.reset()
        # The ball is pressed against the side wall: one contact, however long.
        place(world, bodies=at((0, 5.2), (-9, 3), (9, 3), (9, -3), (0, 7.508 - 0.624)), heading=[[np.pi / 2] * 4])
        rewards = []
        for _ in range(10):
            act(world, BLUE, 0, 0, 0)
            place_speed(world, 0, (0.0, 2.0))
            world.step()
            rewards.append(world.get_steps(BLUE)[0].reward.tolist())
    total = np.sum(rewards, axis=0)
    np.testing.assert_allclose(total, [0.2 * 0.5, 0.0], rtol=1e-6)


def place_speed(world: Any, seat: int, velocity: tuple[float, float]) -> None:
    state = world.save_state()
    state["arenas"]["bodies"][0, seat, 2:] = velocity
    world.restore_state(state)


# Ends and rewards


@pytest.mark.parametrize("max_ticks", [5, 23, 100])
def test_a_match_without_goals_is_interrupted_and_costs_strikers_what_the_goalie_gets(max_ticks):
    with StrikersVsGoalie(num_arenas=2, max_ticks=max_ticks) as world:
        sums = {STRIKER: 0.0, GOALIE: 0.0}
        for _ in range(-(-max_ticks // 5)):
            world.step()
            for name in sums:
                decision, terminal = world.get_steps(name)
                sums[name] += (terminal if len(terminal) else decision).reward
        for name, reward, score in ((STRIKER, -1.0, 0.0), (GOALIE, 1.0, 1.0)):
            _, terminal = world.get_steps(name)
            np.testing.assert_allclose(sums[name], reward, rtol=1e-6)
            assert terminal.interrupted.all()
            assert (terminal.match_score == score).all()
            assert not terminal.group_reward.any()
        assert [statistic[:3] for statistic in world.take_statistics()] == [
            ("Match/Goal", 0.0, 0),
            ("Match/Length", float(-(-max_ticks // 5)), 0),
        ] * 2
        assert world.take_statistics() == []


def test_a_drawn_match_of_soccer_twos_is_a_half_for_both_and_rewards_nobody():
    with SoccerTwos(num_arenas=1, max_ticks=10) as world:
        world.step()
        world.step()
        for name in (BLUE, PURPLE):
            _, terminal = world.get_steps(name)
            assert terminal.interrupted.all()
            assert terminal.match_score.tolist() == [0.5, 0.5]
            assert not terminal.reward.any()
            assert not terminal.group_reward.any()


@pytest.mark.parametrize(("side", "scorer", "loser"), [(1, BLUE, PURPLE), (-1, PURPLE, BLUE)])
def test_a_goal_rewards_the_scoring_group_with_the_time_left_and_ends_the_match(side, scorer, loser):
    with SoccerTwos(num_arenas=2) as world:
        bodies = bodies_of(world)
        bodies[1] = at((-9, 3), (-9, -3), (9, 3), (9, -3), (side * 14.4, 1, side * 20, 0))[0]
        place(world, bodies=bodies, ticks=[0, 1000])
        world.step()
        # 0.39 m, then 0.38 m: past 15.13 in the second tick, which is number 1002
        for name, reward, score in ((scorer, 1 - 1002 / 5000, 1.0), (loser, -1.0, 0.0)):
            decision, terminal = world.get_steps(name)
            assert set(terminal.arena_id) == {1}
            np.testing.assert_allclose(terminal.group_reward, reward, rtol=1e-6)
            assert not terminal.reward.any()
            assert not terminal.interrupted.any()
            assert (terminal.match_score == score).all()
            # The next match has begun: all ask, nothing has been earned, the ids are the same.
            assert len(decision) == 4
            assert not decision.group_reward.any()
            assert set(terminal.agent_id) < set(decision.agent_id)
        assert world.save_state()["arenas"]["ticks"].tolist() == [5, 0]
        assert [s[:3] for s in world.take_statistics() if s.key == "Match/Goal"] == [("Match/Goal", 1.0, 0)]


def test_strikers_score_with_what_their_group_earned_and_pay_for_the_time_themselves():
    with StrikersVsGoalie(num_arenas=1) as world:
        place(world, bodies=at((-9, 3), (-9, -3), (9, 5), (15.0, 0, 20, 0)), ticks=[49])
        world.step()
        _, striker = world.get_steps(STRIKER)
        _, goalie = world.get_steps(GOALIE)
    np.testing.assert_allclose(striker.group_reward, 1 - 50 / 5000)
    np.testing.assert_allclose(striker.reward, -1 / 5000)
    np.testing.assert_allclose(goalie.reward, 1 / 5000)
    assert goalie.group_reward.tolist() == [-1.0]
    assert (striker.match_score.tolist(), goalie.match_score.tolist()) == ([1.0, 1.0], [0.0])


def test_strikers_cannot_score_an_own_goal():
    with StrikersVsGoalie(num_arenas=1) as world:
        place(world, bodies=at((9, 3), (9, -3), (9, 0), (-13.5, 0, -60, 0)))
        world.step()
        assert len(world.get_steps(STRIKER)[1]) == 0
        ball = bodies_of(world)[0, 3]
    assert ball[2] > 0
    assert ball[0] > -15.01 + 0.624


def test_a_goal_in_the_last_tick_counts():
    with SoccerTwos(num_arenas=1, max_ticks=3) as world:
        place(world, bodies=at((-9, 3), (-9, -3), (9, 3), (9, -3), (15.0, 0, 20, 0)), ticks=[2])
        world.step()
        _, terminal = world.get_steps(BLUE)
    assert not terminal.interrupted.any()
    np.testing.assert_allclose(terminal.group_reward, 0.0, atol=1e-7)
    assert (terminal.match_score == 1.0).all()


def test_a_shot_that_would_leave_the_goal_within_its_tick_counts():
    with SoccerTwos(num_arenas=1) as world:
        place(world, bodies=at((-9, 3), (-9, -3), (9, 3), (9, -3), (15.1, 0, 250, 0)))
        world.step()
        assert (world.get_steps(BLUE)[1].match_score == 1.0).all()


# Starts


@GAMES
def test_matches_start_within_the_ranges_of_the_sheet(make):
    with make(num_arenas=300, seed=1) as world:
        state = world.save_state()["arenas"]
        bodies, heading = state["bodies"], state["heading"]
        traits = [AGENT] * (bodies.shape[1] - 1) + [BALL]
        center = [-8.19, -8.19, 8.19, 8.19] if make is SoccerTwos else [-8.19, -8.19, 9.0]
        z = [-1.2, 1.2, -1.2, 1.2] if make is SoccerTwos else [-1.2, 1.2, 0.0]
        facing = [0.0, 0.0, 180.0, 180.0] if make is SoccerTwos else [0.0, 0.0, 180.0]
    spread = bodies[:, :-1, 0] - center
    assert np.abs(spread).max() <= 5.05  # a ball in the way moves an agent by centimeters
    assert spread.min() < -4.8
    assert spread.max() > 4.8
    np.testing.assert_allclose(bodies[:, :-1, 1], np.tile(z, (300, 1)), atol=0.05)
    turned = (np.degrees(heading) - facing + 180) % 360 - 180
    assert 9.0 < np.abs(turned).max() <= 10.0 + 1e-9
    free = np.linalg.norm(bodies[:, :1, :2] - bodies[:, -1:, :2], axis=-1).min() > 0
    assert free
    inside = np.abs(bodies[:, -1, :2]) <= 2.5
    assert inside.all(axis=1).mean() > 0.95  # but for those that were pulled away from an agent
    assert np.abs(bodies[:, -1, :2]).max() > 2.4
    assert not bodies[..., 2:].any()
    assert overlap(bodies, traits) < 1e-6
    assert clearance(TWOS_PITCH, bodies[..., 0], bodies[..., 1]).min() > 0.5


def test_parameters_hold_from_the_next_match_of_each_arena():
    with SoccerTwos(num_arenas=2, max_ticks=10) as world:
        place(world, ticks=[0, 5])
        world.set_parameters({"ball_scale": 2.0, "gravity": 3.0, "wind": 7.0})
        world.step()
        assert [world.scene(arena).discs[-1].radius for arena in (0, 1)] == [0.624, 1.248]
        world.step()
        assert world.scene(0).discs[-1].radius == 1.248


def test_a_bigger_ball_keeps_its_distance_and_scores_from_farther_out():
    with SoccerTwos(num_arenas=1) as world:
        world.set_parameters({"ball_scale": 2.0})
        world.reset()
        line = 15.5 - np.sqrt(1.248**2 - 0.25)
        place(world, bodies=at((-9, 3), (-9, -3), (9, 3), (9, -3), (line - 0.01, 0, 0.0, 0)))
        world.step()
        assert len(world.get_steps(BLUE)[1]) == 0
        place(world, bodies=at((-9, 3), (-9, -3), (9, 3), (9, -3), (line - 0.01, 0, 1.0, 0)))
        world.step()
        assert len(world.get_steps(BLUE)[1]) == 2


@pytest.mark.parametrize(
    "values", [{"ball_scale": 9.0}, {"ball_scale": float("nan")}, {"ball_touch": float("inf")}, {"gravity": 1e300}]
)
def test_parameters_that_make_no_game_are_refused(values):
    with SoccerTwos(num_arenas=1) as world, pytest.raises(SettingsError):
        world.set_parameters(values)


# What is refused


@pytest.mark.parametrize(
    ("discrete", "message"),
    [
        (np.zeros((3, 3), np.int32), "wrong shape"),
        (np.full((4, 3), 3, np.int32), "out of range"),
        (np.full((4, 3), -1, np.int32), "out of range"),
        (np.zeros((4, 3), np.float32), "whole numbers"),
    ],
)
def test_wrong_actions_are_refused(discrete, message):
    with SoccerTwos(num_arenas=2) as world:
        action = ActionBatch(np.zeros((len(discrete), 0), np.float32), discrete)
        with pytest.raises(SpecError, match=message):
            world.set_actions(BLUE, action)


def test_unknown_behaviors_and_closed_worlds_are_errors():
    world = SoccerTwos(num_arenas=2, threads=2)
    with pytest.raises(GameError, match="no such behavior"):
        world.get_steps("Striker?team=0")
    world.close()
    world.close()
    for call in (world.step, world.reset, world.save_state, lambda: world.get_steps(BLUE), lambda: world.scene(0)):
        with pytest.raises(GameError, match="closed"):
            call()


def test_all_settings_that_make_no_sense_are_named_at_once():
    with pytest.raises(SettingsError) as error:
        SoccerTwos(num_arenas=0, seed=-1, threads=0, max_ticks=0)
    assert len(error.value.findings) == 4


# What is drawn


@GAMES
def test_a_scene_has_all_walls_goals_and_discs(make):
    with make(num_arenas=2) as world:
        act_at_random(world, np.random.default_rng(0))
        world.step()
        scene = world.scene(1)
        bodies = bodies_of(world)[1]
        with pytest.raises(GameError):
            world.scene(2)
    assert [disc.position for disc in scene.discs] == [tuple(row) for row in bodies[:, :2].tolist()]
    assert scene.discs[-1].name == "ball"
    assert scene.discs[-1].heading is None
    assert {line.color for line in scene.goals} == ({"blue", "purple"} if make is SoccerTwos else {"purple"})
    assert len(scene.walls) + len(scene.goals) == 12
    assert scene.tick == 5
