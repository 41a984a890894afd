"""Ray sensors against an independent sphere tracer, and the layout of what they write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.worlds._soccer_rules import SoccerRules, soccer_twos_rules, strikers_vs_goalie_rules
from sparring.worlds.sensors import RaySensor
from tests.worlds.builders import (
    AGENT,
    BALL,
    Array,
    SoccerTwos,
    StrikersVsGoalie,
    act_at_random,
    place,
    scatter,
)

ARENAS = 4
GAMES = {
    "twos": (SoccerTwos, soccer_twos_rules()),
    "strikers": (StrikersVsGoalie, strikers_vs_goalie_rules()),
}
BALL_THING, BLUE_GOAL, PURPLE_GOAL, WALL, BLUE, PURPLE, NOTHING = range(7)
LENGTH, SPHERE = 20.0, 0.5
AGENT_REACH, BALL_REACH = np.sqrt(1.0**2 - 0.5**2), np.sqrt(1.124**2 - 0.5**2)


@pytest.mark.parametrize("game", GAMES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_every_ray_is_as_long_as_a_traced_one_and_tells_what_it_met(game, seed):
    make, rules = GAMES[game]
    rng = np.random.default_rng(seed)
    bodies = np.zeros((ARENAS, len(rules.seats) + 1, 4))
    places = scatter(rules.pitch, [AGENT] * len(rules.seats) + [BALL], 5 * ARENAS, rng)
    bodies[..., :2] = places[np.abs(places[:, -1, 0]) < 14.0][:ARENAS]  # a ball in a goal would end the match
    heading = rng.uniform(-np.pi, np.pi, (ARENAS, len(rules.seats)))
    with make(num_arenas=ARENAS) as world:
        place(world, bodies=bodies, heading=heading)
        world.step()
        for arena in range(ARENAS):
            for number, seat in enumerate(rules.seats):
                frames = _newest_frames(world, rules, arena, number)
                for sensor, frame in zip(seat.sensors, frames, strict=True):
                    angle = heading[arena, number] + _angles(sensor)
                    fat, fat_stops = _trace(rules, bodies[arena], number, angle, +2e-5)
                    thin, thin_stops = _trace(rules, bodies[arena], number, angle, -2e-5)
                    assert (frame[:, -1] * LENGTH >= fat - 1e-4).all()
                    assert (frame[:, -1] * LENGTH <= thin + 1e-4).all()
                    assert _fits(frame, sensor, fat_stops | thin_stops).all()


def test_rays_go_straight_then_right_and_left_from_the_inside_out():
    with SoccerTwos(num_arenas=1) as world:
        for ray, degrees in enumerate((0, -12, 12, -24, 24, -36, 36, -48, 48, -60, 60)):
            frame = _view_of_ball_at(world, degrees)[0]
            assert frame[:, 0].tolist() == [float(k == ray) for k in range(11)]
        for ray, degrees in enumerate((180, 135, 225)):  # the same order as seen by an agent that is turned round
            frame = _view_of_ball_at(world, degrees)[1]
            assert frame[:, 0].tolist() == [float(k == ray) for k in range(3)]


def test_a_ray_is_its_tag_then_nothing_hit_then_the_fraction():
    with SoccerTwos(num_arenas=1) as world:
        # Blue 0 in the middle looks along +x at the ball; the others stand behind it, out of the way.
        frame = _view_of_ball_at(world, 0)[0]
    assert frame[0, :7].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert frame[0, 7] == pytest.approx((6.0 - BALL_REACH) / LENGTH, abs=1e-6)


def test_a_ray_that_ends_before_anything_says_so_with_fraction_one():
    bodies = _row([(-15, 0), (-15, 3), (-15, -3), (-13, -3), (-13, 3)])
    with SoccerTwos(num_arenas=1) as world:
        place(world, bodies=bodies, heading=np.zeros((1, 4)))
        world.step()
        frame = _newest_frames(world, soccer_twos_rules(), 0, 0)[0]
    assert frame[0].tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_both_teams_see_their_own_goal_and_mates_under_the_same_tags():
    # The pitch turned by half a turn with the colors swapped looks the same, but for a centimeter of net.
    blue, purple = [(-3.0, 1.0), (-6.0, -2.0)], [(3.0, -1.0), (6.0, 2.0)]
    with SoccerTwos(num_arenas=1) as world:
        place(world, bodies=_row([*blue, *purple, (0, 0)]), heading=[[0.3, -0.4, 0.3 + np.pi, -0.4 + np.pi]])
        world.step()
        rules = soccer_twos_rules()
        for mine, theirs in ((0, 2), (1, 3)):
            for a, b in zip(
                _newest_frames(world, rules, 0, mine), _newest_frames(world, rules, 0, theirs), strict=True
            ):
                np.testing.assert_allclose(a, b, atol=0.02 / LENGTH)


@pytest.mark.parametrize("sees_overlaps", [True, False])
def test_a_neighbor_nearer_than_the_sphere_is_at_distance_zero_or_overlooked(sees_overlaps):
    # 0.9 m apart, less than 1.007: only a test can put ball and agent there. It is ahead, so not seen behind.
    bodies = _row([(0, 0), (-8, 3), (-8, -3), (-9, 0), (0.9, 0)])
    with SoccerTwos(num_arenas=1, sees_overlaps=sees_overlaps) as world:
        place(world, bodies=bodies, heading=np.zeros((1, 4)))
        world.step()
        ahead, behind = _newest_frames(world, soccer_twos_rules(), 0, 0)
    assert (ahead[0, 0], ahead[0, 7]) == ((1.0, 0.0) if sees_overlaps else (0.0, pytest.approx(16.86 / LENGTH)))
    assert not behind[:, 0].any()


@pytest.mark.parametrize("game", GAMES)
def test_stacks_hold_the_last_three_frames_oldest_first_and_begin_with_zeros(game):
    make, _ = GAMES[game]
    rng = np.random.default_rng(3)
    with make(num_arenas=3, max_ticks=40) as world:
        for name in world.behavior_specs:
            for sensor in world.get_steps(name)[0].obs:
                oldest, middle, newest = np.split(sensor, 3, axis=1)
                assert not oldest.any()
                assert not middle.any()
                assert newest.any(axis=1).all()
        for _ in range(20):
            before = {name: world.get_steps(name)[0] for name in world.behavior_specs}
            act_at_random(world, rng)
            world.step()
            for name, earlier in before.items():
                now, ended = world.get_steps(name)
                for sensor in range(len(now.obs)):
                    third = now.obs[sensor].shape[1] // 3
                    shifted = earlier.obs[sensor][:, third:]
                    kept = ~np.isin(now.arena_id, ended.arena_id)
                    np.testing.assert_array_equal(now.obs[sensor][kept, : 2 * third], shifted[kept])
                    assert not now.obs[sensor][~kept, : 2 * third].any()
                    np.testing.assert_array_equal(ended.obs[sensor][:, : 2 * third], shifted[~kept])


def _newest_frames(world: Any, rules: SoccerRules, arena: int, number: int) -> list[Array]:
    """The newest frame `[rays, numbers]` of each sensor of one seat."""
    seat = rules.seats[number]
    steps, _ = world.get_steps(rules.behaviors[seat.team])
    row = steps.agent_id_to_index[arena * len(rules.seats) + number]
    return [
        obs[row].reshape(3, sensor.count, sensor.width)[-1] for sensor, obs in zip(seat.sensors, steps.obs, strict=True)
    ]


def _angles(sensor: RaySensor) -> Array:
    """Straight on, then i steps to the right (clockwise) and i to the left."""
    step = sensor.max_angle / sensor.rays_per_direction
    pairs = [(-i * step, i * step) for i in range(1, sensor.rays_per_direction + 1)]
    return np.radians(sensor.turned + np.array([0.0, *np.array(pairs).ravel()]))


def _trace(rules: SoccerRules, bodies: Array, own: int, angle: Array, grow: float) -> tuple[Array, Array]:
    """How far spheres get, fatter by `grow`, and what may have stopped them (`[rays, things]`, the last: nothing)."""
    corners = np.array(rules.pitch.corners)
    start, along = corners, np.roll(corners, -1, axis=0) - corners
    others = [k for k in range(len(bodies)) if k != own]
    center = bodies[others, :2]
    reach = np.array([BALL_REACH if k == len(bodies) - 1 else AGENT_REACH for k in others])
    kinds = [BALL_THING if k == len(bodies) - 1 else (BLUE, PURPLE)[rules.seats[k].team] for k in others]
    things = np.array([*rules.pitch.things, *kinds])
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    way: NDArray[Any] = np.zeros(len(angle))
    for _ in range(2000):
        point = bodies[own, :2] + way[:, None] * direction
        share = ((point[:, None] - start) * along).sum(-1) / (along**2).sum(-1)
        to_wall = point[:, None] - start - np.clip(share, 0, 1)[..., None] * along
        gap = np.concatenate(
            [
                np.linalg.norm(to_wall, axis=-1) - SPHERE,
                np.linalg.norm(point[:, None] - center, axis=-1) - reach,
            ],
            axis=1,
        )
        nearest = gap.min(axis=1) - grow
        # Touching what lies behind (a wall the agent leans on) does not stop a sphere that moves away from it.
        moving = (nearest > 1e-7) & (way < LENGTH)
        if not moving.any():
            break
        way = np.where(moving, way + nearest, way)
    near = gap <= gap.min(axis=1, keepdims=True) + 1e-4  # where sides meet it may be either
    stops = np.stack([(near & (things == thing)).any(axis=1) for thing in range(NOTHING)], axis=1)
    stopped = way < LENGTH
    return np.minimum(way, LENGTH), np.column_stack([stops & stopped[:, None], ~stopped])


def _fits(frame: Array, sensor: RaySensor, stops: Array) -> Array:
    """Whether each ray names one of the things that may have stopped it, or nothing."""
    tags, nothing = frame[:, : len(sensor.tags)], frame[:, len(sensor.tags)]
    assert set(np.unique(frame[:, :-1])) <= {0.0, 1.0}
    assert ((tags.sum(axis=1) + nothing) <= 1).all()
    named = np.zeros((len(frame), NOTHING + 1))
    named[:, sensor.tags] = tags
    named[:, NOTHING] = nothing
    untagged = [thing for thing in range(NOTHING) if thing not in sensor.tags]
    silent = ~named.any(axis=1) & stops[:, untagged].any(axis=1)
    return np.asarray((named.astype(bool) & stops).any(axis=1) | silent)


def _row(places: Sequence[Any]) -> Array:
    bodies = np.zeros((1, len(places), 4))
    bodies[0, :, :2] = places
    return bodies


def _view_of_ball_at(world: Any, degrees: float) -> list[Array]:
    """What blue 0 sees, in the middle of the pitch with the ball six meters off; the others keep out of the way."""
    angle, heading = np.radians(degrees), 0.0
    ball = 6.0 * np.array([np.cos(angle), np.sin(angle)])
    hidden = [(-17 + 0.3, -2), (-17 + 0.3, 0), (-17 + 0.3, 2)]
    place(world, bodies=_row([(0, 0), *hidden, ball]), heading=[[heading, 0, 0, 0]])
    world.step()
    return _newest_frames(world, soccer_twos_rules(), 0, 0)
