"""The compiled soccer game: ticks, contacts, rewards, ends, new starts and views of many arenas in one call.

Arenas do not know of each other, so a range of them can be played by any thread with the same result. Tuples
of arrays stay in the entry for the reason given at `inlined`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._compiled import compiled, entry, inlined
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
    SoccerState,
)

__all__ = ["play_arenas"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RayArray = NDArray[np.float32]

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


@inlined
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


@inlined
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
def _play(
    due: NDArray[np.bool_],
    first: int,
    outcome: IntArray,
    bodies: FloatArray,
    heading: FloatArray,
    touching: NDArray[np.bool_],
    actions: NDArray[np.int32],
    ticks: IntArray,
    reward: RayArray,
    ball_radius: FloatArray,
    ball_touch: FloatArray,
    traits: FloatArray,
    seats: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    clear: FloatArray,
    blue_goal_open: bool,
    max_ticks: int,
) -> None:
    """Plays one decision, or what the end of a match leaves of it, in the arenas from `first` on that have started.

    Writes which arenas played (`due`, counted from `first`, like `outcome`).
    """
    discs = traits.shape[0]
    struck, facing, earned = np.zeros((discs - 1, 3)), np.zeros((discs - 1, 2)), np.zeros(discs - 1)
    for k in range(outcome.shape[0]):
        outcome[k] = PLAYING
        due[k] = ticks[first + k] != NOT_STARTED
        if not due[k]:
            continue
        arena = first + k
        pitch, angles, touches, choices = bodies[arena], heading[arena], touching[arena], actions[arena]
        traits[discs - 1, RADIUS] = ball_radius[arena]
        for seat in range(discs - 1):
            facing[seat, 0], facing[seat, 1] = math.cos(angles[seat]), math.sin(angles[seat])
            earned[seat] = 0.0
        for _ in range(TICKS_PER_DECISION):
            _steer(pitch, angles, choices, seats, facing)
            for disc in range(discs):
                pitch[disc, 2] *= traits[disc, DRAG]
                pitch[disc, 3] *= traits[disc, DRAG]
            left, right = move(pitch, traits, walls, posts, clear, TICK, struck)
            _touch(pitch, traits, touches, choices, seats, struck, TOUCH_SHARE * ball_touch[arena], earned)
            for seat in range(discs - 1):
                earned[seat] += seats[seat, TICK_REWARD]
            ticks[arena] += 1
            outcome[k] = _standing(ball_radius[arena], left, right, blue_goal_open, ticks[arena] >= max_ticks)
            if outcome[k] != PLAYING:
                break
        for seat in range(discs - 1):
            reward[arena, seat] = earned[seat]
            for branch in range(actions.shape[2]):
                actions[arena, seat, branch] = 0


@inlined
def _arrange(
    arena: int,
    bodies: FloatArray,
    ball_radius: float,
    traits: FloatArray,
    seats: FloatArray,
    posts: FloatArray,
    sphere: float,
    circles: FloatArray,
) -> None:
    """Lists everything round as rays meet it: the discs by their number, then the posts."""
    ball = traits.shape[0] - 1
    for disc in range(ball + 1):
        both = (traits[disc, RADIUS] if disc < ball else ball_radius) + sphere
        circles[disc, 0] = bodies[arena, disc, 0]
        circles[disc, 1] = bodies[arena, disc, 1]
        circles[disc, 2] = math.sqrt(both * both - SENSOR_HEIGHT * SENSOR_HEIGHT)
        circles[disc, 3] = seats[disc, THING] if disc < ball else BALL
    for post in range(posts.shape[0]):
        circles[ball + 1 + post, 0] = posts[post, 0]
        circles[ball + 1 + post, 1] = posts[post, 1]
        circles[ball + 1 + post, 2] = sphere
        circles[ball + 1 + post, 3] = posts[post, 2]


@compiled
def _look(
    due: NDArray[np.bool_],
    first: int,
    bodies: FloatArray,
    heading: FloatArray,
    ball_radius: FloatArray,
    sight: RayArray,
    traits: FloatArray,
    seats: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    fans: RayArray,
    fan_blocks: IntArray,
    sensors: IntArray,
    marks: IntArray,
    length: float,
    sphere: float,
    sees_overlaps: bool,
) -> None:
    """Adds a frame to the observations of all agents in the arenas that are `due`, counted from `first`."""
    circles = np.zeros((traits.shape[0] + posts.shape[0], 4))
    rays = np.zeros(fans.shape[1:], np.float32)
    hits = np.zeros(rays.shape[1:], np.float32)
    flat_hits = hits.reshape(hits.size)
    for k in range(due.shape[0]):
        if not due[k]:
            continue
        arena = first + k
        _arrange(arena, bodies, ball_radius[arena], traits, seats, posts, sphere, circles)
        caster = -1
        for sensor in range(sensors.shape[0]):
            seat = sensors[sensor, 0]
            if seat != caster:
                caster = seat
                blocks, px, pz, angle = fan_blocks[seat], circles[seat, 0], circles[seat, 1], heading[arena, seat]
                aim(math.cos(angle), math.sin(angle), fans, seat, blocks, length, rays, hits)
                meet_walls(px, pz, sphere, length, walls, rays, blocks, hits, sees_overlaps)
                meet_circles(px, pz, length, circles, seat, rays, blocks, hits, sees_overlaps)
            write_view(arena, sight, flat_hits, sensors, sensor, marks, length)


@compiled
def _finish(
    due: NDArray[np.bool_],
    first: int,
    outcome: IntArray,
    ticks: IntArray,
    reward: RayArray,
    sight: RayArray,
    timeout_score: FloatArray,
    max_ticks: int,
    last_ticks: IntArray,
    last_reward: RayArray,
    last_sight: RayArray,
    last_group_reward: RayArray,
    score: RayArray,
) -> None:
    """Keeps what the agents of arenas whose match ended see and get, and what their teams get.

    Writes which arenas are `due` for a new match, counted from `first`.
    """
    for k in range(outcome.shape[0]):
        due[k] = outcome[k] != PLAYING or ticks[first + k] == NOT_STARTED
        if outcome[k] == PLAYING:
            continue
        arena = first + k
        last_ticks[arena] = ticks[arena]
        for seat in range(reward.shape[1]):
            last_reward[arena, seat] = reward[arena, seat]
        for number in range(sight.shape[1]):
            last_sight[arena, number] = sight[arena, number]
        for team in range(2):
            last_group_reward[arena, team] = 0.0
            score[arena, team] = timeout_score[team]
        if outcome[k] != TIME_OUT:
            scorer = 0 if outcome[k] == BLUE_SCORED else 1
            last_group_reward[arena, scorer] = 1.0 - ticks[arena] / max_ticks
            last_group_reward[arena, 1 - scorer] = -1.0
            score[arena, scorer] = 1.0
            score[arena, 1 - scorer] = 0.0


@compiled
def _start(
    due: NDArray[np.bool_],
    first: int,
    bodies: FloatArray,
    heading: FloatArray,
    touching: NDArray[np.bool_],
    ticks: IntArray,
    streams: NDArray[np.uint64],
    ball_radius: FloatArray,
    ball_touch: FloatArray,
    reward: RayArray,
    sight: RayArray,
    traits: FloatArray,
    seats: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    parameters: FloatArray,
) -> None:
    """Begins matches: the parameters take effect, everyone stands somewhere near its place, at rest."""
    ball = traits.shape[0] - 1
    for k in range(due.shape[0]):
        if not due[k]:
            continue
        arena = first + k
        ball_touch[arena] = parameters[0]
        ball_radius[arena] = BALL_RADIUS * parameters[1]
        ticks[arena] = 0
        for number in range(sight.shape[1]):
            sight[arena, number] = 0.0
        for disc in range(ball + 1):
            bodies[arena, disc, 2], bodies[arena, disc, 3] = 0.0, 0.0
        for seat in range(ball):
            reward[arena, seat] = 0.0
            touching[arena, seat] = False
            bodies[arena, seat, 0] = uniform(streams, arena, seats[seat, START_X], START_SPREAD)
            bodies[arena, seat, 1] = seats[seat, START_Z]
            heading[arena, seat] = _wrapped(uniform(streams, arena, seats[seat, START_HEADING], HEADING_SPREAD))
        bodies[arena, ball, 0] = uniform(streams, arena, 0.0, BALL_SPREAD)
        bodies[arena, ball, 1] = uniform(streams, arena, 0.0, BALL_SPREAD)
        traits[ball, RADIUS] = ball_radius[arena]
        separate(bodies[arena], traits, walls, posts)


@entry
def play_arenas(tables: SoccerTables, state: SoccerState, parameters: FloatArray, first: int, last: int) -> None:
    """Plays one decision of arenas `first` to `last` - 1; where a match ends, the next one starts at once.

    An arena whose match has not started only starts it.

    Args:
        tables: the rules.
        state: changed in place.
        parameters: `[2]`, `ball_touch` and `ball_scale` for matches that start.
        first: first arena.
        last: one past the last arena.
    """
    t, s, traits, outcome = tables, state, tables.traits.copy(), state.outcome[first:last]
    due = np.empty(last - first, np.bool_)
    _play(
        due, first, outcome, s.bodies, s.heading, s.touching, s.actions, s.ticks, s.reward, s.ball_radius, s.ball_touch,
        traits, t.seats, t.walls, t.posts, t.clear, t.blue_goal_open, t.max_ticks,
    )  # fmt: skip
    _look(
        due, first, s.bodies, s.heading, s.ball_radius, s.sight, traits, t.seats, t.walls, t.posts, t.fans,
        t.fan_blocks, t.sensors, t.marks, t.sight[0], t.sight[1], t.sees_overlaps,
    )  # fmt: skip
    _finish(
        due, first, outcome, s.ticks, s.reward, s.sight, t.timeout_score, t.max_ticks, s.last_ticks, s.last_reward,
        s.last_sight, s.last_group_reward, s.score,
    )  # fmt: skip
    _start(
        due, first, s.bodies, s.heading, s.touching, s.ticks, s.streams, s.ball_radius, s.ball_touch, s.reward,
        s.sight, traits, t.seats, t.walls, t.posts, parameters,
    )  # fmt: skip
    _look(
        due, first, s.bodies, s.heading, s.ball_radius, s.sight, traits, t.seats, t.walls, t.posts, t.fans,
        t.fan_blocks, t.sensors, t.marks, t.sight[0], t.sight[1], t.sees_overlaps,
    )  # fmt: skip
