"""The compiled soccer game: ticks, contacts, rewards, ends, new starts and views of many arenas in one call.

Arenas do not know of each other, so a range of them can be played by any thread with the same result. Tuples
of arrays stay in the entry for the reason given at `inlined`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._compiled import compiled, entry, inlined
from sparring.worlds._motion import DRAG, RADIUS, move, separate
from sparring.worlds._random import seed_streams, uniform
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

__all__ = [
    "BLUE_SCORED",
    "NOT_STARTED",
    "PLAYING",
    "PURPLE_SCORED",
    "TICKS_PER_DECISION",
    "TIME_OUT",
    "SoccerState",
    "new_state",
    "play_arenas",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RayArray = NDArray[np.float32]

TICKS_PER_DECISION = 5
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

PLAYING, BLUE_SCORED, PURPLE_SCORED, TIME_OUT = range(4)
NOT_STARTED = -1
"""Ticks of an arena whose next step only starts a match."""


class SoccerState(NamedTuple):
    """Everything the future depends on, one row an arena; changed in place.

    Attributes:
        bodies: `[arenas, discs, 4]`, x, z and velocity of the agents, then of the ball.
        heading: `[arenas, seats]`.
        touching: `[arenas, seats]`, whether the agent was in contact with the ball at the last tick.
        ticks: `[arenas]` of the running match, or `NOT_STARTED`.
        streams: `[arenas]`, state of the random streams.
        ball_radius, ball_touch: `[arenas]`, parameters as they hold in the running match.
        actions: `[arenas, seats, 3]` for the next step.
        sight: `[arenas, …]`, the stacked observations of all seats and sensors.
        reward: `[arenas, seats]` since the last decision of the running match.
        outcome: `[arenas]`, how a match ended in the last step, or `PLAYING`.
        last_sight, last_reward, last_group_reward, score, last_ticks: of the match that ended in the last step;
            meaningless in arenas where none did. Groups and scores are by team.
    """

    bodies: FloatArray
    heading: FloatArray
    touching: NDArray[np.bool_]
    ticks: IntArray
    streams: NDArray[np.uint64]
    ball_radius: FloatArray
    ball_touch: FloatArray
    actions: NDArray[np.int32]
    sight: NDArray[np.float32]
    reward: NDArray[np.float32]
    outcome: IntArray
    last_sight: NDArray[np.float32]
    last_reward: NDArray[np.float32]
    last_group_reward: NDArray[np.float32]
    score: NDArray[np.float32]
    last_ticks: IntArray


def new_state(arenas: int, *, seats: int, view_size: int, seed: int) -> SoccerState:
    """A state with seeded streams in which no match has started yet."""
    return SoccerState(
        bodies=np.zeros((arenas, seats + 1, 4)),
        heading=np.zeros((arenas, seats)),
        touching=np.zeros((arenas, seats), np.bool_),
        ticks=np.full(arenas, NOT_STARTED, np.int64),
        streams=seed_streams(seed, arenas),
        ball_radius=np.full(arenas, BALL_RADIUS),
        ball_touch=np.zeros(arenas),
        actions=np.zeros((arenas, seats, 3), np.int32),
        sight=np.zeros((arenas, view_size), np.float32),
        reward=np.zeros((arenas, seats), np.float32),
        outcome=np.zeros(arenas, np.int64),
        last_sight=np.zeros((arenas, view_size), np.float32),
        last_reward=np.zeros((arenas, seats), np.float32),
        last_group_reward=np.zeros((arenas, 2), np.float32),
        score=np.zeros((arenas, 2), np.float32),
        last_ticks=np.zeros(arenas, np.int64),
    )


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
def _scorer(radius: float, left: float, right: float, blue_goal_open: bool) -> int:
    """Whether a ball whose center came from `left` to `right` is in a goal.

    The center moves half a meter above the floor of the goals, so it overlaps the floor of a goal by less than its
    radius. It cannot be beside the goal there: the corner walls keep it away.
    """
    line = GOAL_LINE - math.sqrt(max(radius * radius - 0.25, 0.0))
    if right >= line:
        return BLUE_SCORED
    if left <= -line and blue_goal_open:
        return PURPLE_SCORED
    return PLAYING


@compiled
def _play(
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

    Writes `outcome [arenas from first on]`; no arena plays when its match ended before.
    """
    discs = traits.shape[0]
    struck, facing, earned = np.zeros((discs - 1, 3)), np.zeros((discs - 1, 2)), np.zeros(discs - 1)
    for k in range(outcome.shape[0]):
        outcome[k] = PLAYING
        if ticks[first + k] == NOT_STARTED:
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
            ticks[arena] += 1
            outcome[k] = _scorer(ball_radius[arena], left, right, blue_goal_open)
            if outcome[k] == PLAYING and ticks[arena] >= max_ticks:
                outcome[k] = TIME_OUT
            for seat in range(discs - 1):
                earned[seat] += seats[seat, TICK_REWARD]
            if outcome[k] != PLAYING:
                break
        for seat in range(discs - 1):
            reward[arena, seat] = earned[seat]


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
    """Keeps what the agents of arenas whose match ended see and get, and what their teams get."""
    for k in range(outcome.shape[0]):
        if outcome[k] == PLAYING:
            continue
        arena = first + k
        last_ticks[arena] = ticks[arena]
        last_reward[arena] = reward[arena]
        last_sight[arena] = sight[arena]
        last_group_reward[arena] = 0.0
        score[arena] = timeout_score
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
        touching[arena] = False
        reward[arena] = 0.0
        sight[arena] = 0.0
        bodies[arena] = 0.0
        for seat in range(ball):
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
    due = s.ticks[first:last] != NOT_STARTED
    _play(
        first, outcome, s.bodies, s.heading, s.touching, s.actions, s.ticks, s.reward, s.ball_radius, s.ball_touch,
        traits, t.seats, t.walls, t.posts, t.clear, t.blue_goal_open, t.max_ticks,
    )  # fmt: skip
    s.actions[first:last] = 0
    _look(
        due, first, s.bodies, s.heading, s.ball_radius, s.sight, traits, t.seats, t.walls, t.posts, t.fans,
        t.fan_blocks, t.sensors, t.marks, t.sight[0], t.sight[1], t.sees_overlaps,
    )  # fmt: skip
    _finish(
        first, outcome, s.ticks, s.reward, s.sight, t.timeout_score, t.max_ticks, s.last_ticks, s.last_reward,
        s.last_sight, s.last_group_reward, s.score,
    )  # fmt: skip
    due = (outcome != PLAYING) | (s.ticks[first:last] == NOT_STARTED)
    _start(
        due, first, s.bodies, s.heading, s.touching, s.ticks, s.streams, s.ball_radius, s.ball_touch, s.reward,
        s.sight, traits, t.seats, t.walls, t.posts, parameters,
    )  # fmt: skip
    _look(
        due, first, s.bodies, s.heading, s.ball_radius, s.sight, traits, t.seats, t.walls, t.posts, t.fans,
        t.fan_blocks, t.sensors, t.marks, t.sight[0], t.sight[1], t.sees_overlaps,
    )  # fmt: skip
