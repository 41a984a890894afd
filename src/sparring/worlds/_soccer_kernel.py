"""The compiled soccer game: ticks, contacts, rewards, ends, new starts and views of many arenas in one call.

Arenas do not know of each other, so a range of them can be played by any thread with the same result.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import compiled, entry
from sparring.worlds._motion import DRAG, RADIUS, move, separate
from sparring.worlds._random import uniform
from sparring.worlds._sight import aim, meet_circles, meet_walls, write_view
from sparring.worlds._soccer_rules import (
    ALWAYS_KICKS,
    BALL,
    BALL_RADIUS,
    FORWARD_PUSH,
    GOAL_LINE,
    SIDE_PUSH,
    START_HEADING,
    START_X,
    START_Z,
    THING,
    TICK_REWARD,
    SoccerTables,
)
from sparring.worlds._soccer_state import (
    BLUE_SCORED,
    NOT_STARTED,
    PLAYING,
    PURPLE_SCORED,
    TICKS_PER_DECISION,
    TIME_OUT,
    SoccerScratch,
    SoccerState,
)

__all__ = ["play_arenas"]

FloatArray = NDArray[np.float64]

TICK = 0.02
TURN = math.radians(100.0) * TICK
TURN_COSINE, TURN_SINE = math.cos(TURN), math.sin(TURN)
KICK = 2000.0 * TICK / 3.0
"""What a kick adds to the ball's velocity: 2000 N for one tick on 3 kg."""
CONTACT_GAP = 0.01
"""Gap in meters up to which an agent still counts as touching the ball, so that a dribble is one contact."""
START_SPREAD, BALL_SPREAD = 5.0, 2.5
HEADING_SPREAD = math.radians(10.0)
SENSOR_HEIGHT = 0.5
"""How far ray spheres travel above the centers of ball and agents."""
TOUCH_SHARE = 0.2


@compiled
def _wrapped(angle: float) -> float:
    if angle > math.pi:
        return angle - 2.0 * math.pi
    if angle <= -math.pi:
        return angle + 2.0 * math.pi
    return angle


@compiled
def _steer(
    bodies: FloatArray, heading: FloatArray, actions: NDArray[np.int32], seats: FloatArray, facing: FloatArray
) -> None:
    """One tick of the agents' choices: a push along the heading or to the side, then a turn."""
    for seat in range(seats.shape[0]):
        cosine, sine = facing[seat, 0], facing[seat, 1]
        if actions[seat, 1] != 0:  # a sideways choice replaces the push along the heading
            push = seats[seat, SIDE_PUSH] if actions[seat, 1] == 1 else -seats[seat, SIDE_PUSH]
            bodies[seat, 2] += push * sine
            bodies[seat, 3] -= push * cosine
        elif actions[seat, 0] != 0:
            push = seats[seat, FORWARD_PUSH] if actions[seat, 0] == 1 else -seats[seat, FORWARD_PUSH]
            bodies[seat, 2] += push * cosine
            bodies[seat, 3] += push * sine
        if actions[seat, 2] != 0:
            turn, turn_sine = (TURN, TURN_SINE) if actions[seat, 2] == 1 else (-TURN, -TURN_SINE)
            facing[seat, 0] = TURN_COSINE * cosine - turn_sine * sine
            facing[seat, 1] = turn_sine * cosine + TURN_COSINE * sine
            heading[seat] = _wrapped(heading[seat] + turn)


@compiled
def _touch(
    bodies: FloatArray,
    traits: FloatArray,
    touching: NDArray[np.bool_],
    actions: NDArray[np.int32],
    seats: FloatArray,
    struck: FloatArray,
    touch_reward: float,
    reward: FloatArray,
) -> None:
    """Where contact with the ball begins in this tick: the touch reward, and the kick of whoever is armed.

    The kick is the force of the tick that follows, so it comes on top of the bounce.
    """
    ball = bodies.shape[0] - 1
    for seat in range(ball):
        dx, dz = bodies[ball, 0] - bodies[seat, 0], bodies[ball, 1] - bodies[seat, 1]
        distance = math.sqrt(dx * dx + dz * dz)
        met = struck[seat, 0] > 0.0
        touches = met or distance <= traits[seat, RADIUS] + traits[ball, RADIUS] + CONTACT_GAP
        begins = touches and not touching[seat]
        touching[seat] = touches
        if not begins:
            continue
        reward[seat] += touch_reward
        if seats[seat, ALWAYS_KICKS] > 0.0 or actions[seat, 0] == 1:
            bodies[ball, 2] += KICK * (struck[seat, 1] if met else dx / max(distance, 1e-12))
            bodies[ball, 3] += KICK * (struck[seat, 2] if met else dz / max(distance, 1e-12))


@compiled
def _standing(radius: float, left: float, right: float, blue_goal_open: bool, is_last_tick: bool) -> int:
    """How a match stands after a tick in which the ball's center came from `left` to `right`.

    The center moves half a meter above the floor of the goals, so it overlaps the floor of a goal by less than its
    radius. It cannot be beside the goal there: the corner walls keep it away.
    """
    line = GOAL_LINE - math.sqrt(max(radius * radius - 0.25, 0.0))
    if right >= line:
        return BLUE_SCORED
    if left <= -line and blue_goal_open:
        return PURPLE_SCORED
    return TIME_OUT if is_last_tick else PLAYING


@compiled
def _slow_down(bodies: FloatArray, traits: FloatArray) -> None:
    for disc in range(bodies.shape[0]):
        bodies[disc, 2] *= traits[disc, DRAG]
        bodies[disc, 3] *= traits[disc, DRAG]


@compiled
def _play(tables: SoccerTables, state: SoccerState, scratch: SoccerScratch, first: int, last: int) -> None:
    """Plays one decision, or what the end of a match leaves of it, in the arenas that have started."""
    traits, struck, facing, earned = scratch.traits, scratch.struck, scratch.facing, scratch.earned
    ball = traits.shape[0] - 1
    for arena in range(first, last):
        state.outcome[arena] = PLAYING
        if state.ticks[arena] == NOT_STARTED:
            continue
        bodies, heading = state.bodies[arena], state.heading[arena]
        touching, actions = state.touching[arena], state.actions[arena]
        touch_reward = TOUCH_SHARE * state.ball_touch[arena]
        traits[ball, RADIUS] = state.ball_radius[arena]
        for seat in range(ball):
            facing[seat, 0], facing[seat, 1] = math.cos(heading[seat]), math.sin(heading[seat])
            earned[seat] = 0.0
        for _ in range(TICKS_PER_DECISION):
            _steer(bodies, heading, actions, tables.seats, facing)
            _slow_down(bodies, traits)
            left, right = move(
                bodies, traits, tables.walls, tables.posts, tables.clear, TICK, struck, scratch.walls_ahead,
                scratch.pairs, scratch.impulse,
            )  # fmt: skip
            _touch(bodies, traits, touching, actions, tables.seats, struck, touch_reward, earned)
            for seat in range(ball):
                earned[seat] += tables.seats[seat, TICK_REWARD]
            state.ticks[arena] += 1
            is_last = state.ticks[arena] >= tables.max_ticks
            state.outcome[arena] = _standing(traits[ball, RADIUS], left, right, tables.blue_goal_open, is_last)
            if state.outcome[arena] != PLAYING:
                break
        for seat in range(ball):
            state.reward[arena, seat] = earned[seat]
        actions[:] = 0


@compiled
def _arrange(
    bodies: FloatArray, traits: FloatArray, seats: FloatArray, posts: FloatArray, sphere: float, circles: FloatArray
) -> None:
    """Lists everything round as rays meet it: the discs by their number, then the posts."""
    ball = bodies.shape[0] - 1
    for disc in range(ball + 1):
        both = traits[disc, RADIUS] + sphere
        circles[disc, 0] = bodies[disc, 0]
        circles[disc, 1] = bodies[disc, 1]
        circles[disc, 2] = math.sqrt(both * both - SENSOR_HEIGHT * SENSOR_HEIGHT)
        circles[disc, 3] = seats[disc, THING] if disc < ball else BALL
    for post in range(posts.shape[0]):
        circles[ball + 1 + post, 0] = posts[post, 0]
        circles[ball + 1 + post, 1] = posts[post, 1]
        circles[ball + 1 + post, 2] = sphere
        circles[ball + 1 + post, 3] = posts[post, 2]


@compiled
def _look(tables: SoccerTables, state: SoccerState, scratch: SoccerScratch, arena: int) -> None:
    """Adds a frame to the observations of all agents of an arena."""
    length, sphere, overlaps = tables.ray_length, tables.ray_radius, tables.sees_overlaps
    circles, rays, hits = scratch.circles, scratch.rays, scratch.hits
    scratch.traits[-1, RADIUS] = state.ball_radius[arena]
    _arrange(state.bodies[arena], scratch.traits, tables.seats, tables.posts, sphere, circles)
    caster = -1
    for sensor in range(tables.sensors.shape[0]):
        seat = tables.sensors[sensor, 0]
        if seat != caster:
            caster = seat
            blocks, angle = tables.fan_blocks[seat], state.heading[arena, seat]
            px, pz = circles[seat, 0], circles[seat, 1]
            aim(math.cos(angle), math.sin(angle), tables.fans, seat, blocks, length, rays, hits)
            meet_walls(px, pz, sphere, length, tables.walls, rays, blocks, hits, overlaps)
            meet_circles(px, pz, length, circles, seat, rays, blocks, hits, overlaps)
        write_view(arena, state.sight, scratch.flat_hits, tables.sensors, sensor, tables.marks, length)


@compiled
def _finish(tables: SoccerTables, state: SoccerState, arena: int) -> None:
    """Keeps what the agents of an arena whose match ended see and get, and what their teams get."""
    ticks, outcome = state.ticks[arena], state.outcome[arena]
    state.last_ticks[arena] = ticks
    for seat in range(state.reward.shape[1]):
        state.last_reward[arena, seat] = state.reward[arena, seat]
    for number in range(state.sight.shape[1]):
        state.last_sight[arena, number] = state.sight[arena, number]
    for team in range(2):
        state.last_group_reward[arena, team] = 0.0
        state.score[arena, team] = tables.timeout_score[team]
    if outcome != TIME_OUT:
        scorer = 0 if outcome == BLUE_SCORED else 1
        state.last_group_reward[arena, scorer] = 1.0 - ticks / tables.max_ticks
        state.last_group_reward[arena, 1 - scorer] = -1.0
        state.score[arena, scorer] = 1.0
        state.score[arena, 1 - scorer] = 0.0


@compiled
def _start(
    tables: SoccerTables, state: SoccerState, scratch: SoccerScratch, parameters: FloatArray, arena: int
) -> None:
    """Begins a match: the parameters take effect, everyone stands somewhere near its place, at rest."""
    bodies, seats, streams = state.bodies[arena], tables.seats, state.streams
    ball = bodies.shape[0] - 1
    state.ball_touch[arena] = parameters[arena, 0]
    state.ball_radius[arena] = BALL_RADIUS * parameters[arena, 1]
    state.ticks[arena] = 0
    state.touching[arena] = False
    state.reward[arena] = 0.0
    state.sight[arena] = 0.0
    bodies[:] = 0.0
    for seat in range(ball):
        bodies[seat, 0] = uniform(streams, arena, seats[seat, START_X], START_SPREAD)
        bodies[seat, 1] = seats[seat, START_Z]
        state.heading[arena, seat] = _wrapped(uniform(streams, arena, seats[seat, START_HEADING], HEADING_SPREAD))
    bodies[ball, 0] = uniform(streams, arena, 0.0, BALL_SPREAD)
    bodies[ball, 1] = uniform(streams, arena, 0.0, BALL_SPREAD)
    scratch.traits[ball, RADIUS] = state.ball_radius[arena]
    separate(bodies, scratch.traits, tables.walls, tables.posts, scratch.pairs)


@entry
def play_arenas(
    tables: SoccerTables, state: SoccerState, scratch: SoccerScratch, parameters: FloatArray, first: int, last: int
) -> None:
    """Plays one decision of arenas `first` to `last` - 1; where a match ends, the next one starts at once.

    An arena whose match has not started only starts it.

    Args:
        tables: the rules.
        state: changed in place.
        scratch: of this call alone.
        parameters: `[arenas, 2]` or more, `ball_touch` and `ball_scale` for matches that start.
        first: first arena.
        last: one past the last arena.
    """
    _play(tables, state, scratch, first, last)
    for arena in range(first, last):
        starts = state.ticks[arena] == NOT_STARTED
        if not starts:
            _look(tables, state, scratch, arena)
        if state.outcome[arena] != PLAYING:
            _finish(tables, state, arena)
            starts = True
        if starts:
            _start(tables, state, scratch, parameters, arena)
            _look(tables, state, scratch, arena)
