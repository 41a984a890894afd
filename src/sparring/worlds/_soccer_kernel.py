"""The compiled soccer game: ticks, contacts, rewards, ends, new starts and views of many arenas in one call.

Arenas do not know of each other, so a range of them can be played by any thread with the same result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._compiled import compiled, entry
from sparring.worlds._motion import move, separate
from sparring.worlds._random import seed_streams, uniform
from sparring.worlds._sight import aim, meet_circle, meet_walls, write_view
from sparring.worlds._soccer_rules import BALL, BALL_RADIUS, GOAL_LINE, SoccerTables

__all__ = [
    "BLUE_SCORED",
    "PLAYING",
    "PURPLE_SCORED",
    "TICKS_PER_DECISION",
    "TIME_OUT",
    "SoccerState",
    "new_state",
    "play_arenas",
    "start_arenas",
]

FloatArray = NDArray[np.float64]

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


class SoccerState(NamedTuple):
    """Everything the future depends on, one row an arena; changed in place.

    Attributes:
        bodies: `[arenas, discs, 4]`, x, z and velocity of the agents, then of the ball.
        heading: `[arenas, seats]`.
        touching: `[arenas, seats]`, whether the agent was in contact with the ball at the last tick.
        ticks: `[arenas]` of the running match.
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
    ticks: NDArray[np.int64]
    streams: NDArray[np.uint64]
    ball_radius: FloatArray
    ball_touch: FloatArray
    actions: NDArray[np.int32]
    sight: NDArray[np.float32]
    reward: NDArray[np.float32]
    outcome: NDArray[np.int64]
    last_sight: NDArray[np.float32]
    last_reward: NDArray[np.float32]
    last_group_reward: NDArray[np.float32]
    score: NDArray[np.float32]
    last_ticks: NDArray[np.int64]


def new_state(arenas: int, *, seats: int, view_size: int, seed: int) -> SoccerState:
    """A state with seeded streams in which no match has started yet."""
    return SoccerState(
        bodies=np.zeros((arenas, seats + 1, 4)),
        heading=np.zeros((arenas, seats)),
        touching=np.zeros((arenas, seats), np.bool_),
        ticks=np.zeros(arenas, np.int64),
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


class _Scratch(NamedTuple):
    """Room for one arena at a time.

    Attributes:
        radius: `[discs]`.
        facing: `[seats, 2]`, cosine and sine of the headings.
        struck: `[seats, 3]`, see `move`.
        reward: `[seats]`, of this step.
        rays, hits: `[2, rays]`, see `aim`.
    """

    radius: FloatArray
    facing: FloatArray
    struck: FloatArray
    reward: FloatArray
    rays: FloatArray
    hits: FloatArray


@compiled
def _scratch(tables: SoccerTables) -> _Scratch:
    seats, rays = tables.fans.shape[0], tables.fans.shape[2]
    return _Scratch(
        tables.radius.copy(),
        np.empty((seats, 2)),
        np.empty((seats, 3)),
        np.empty(seats),
        np.empty((2, rays)),
        np.empty((2, rays)),
    )


@compiled
def _steer(tables: SoccerTables, state: SoccerState, arena: int, seat: int, facing: FloatArray) -> None:
    """One tick of an agent's choices: a push along its heading or to its side, then a turn."""
    along, aside, turn = state.actions[arena, seat, 0], state.actions[arena, seat, 1], state.actions[arena, seat, 2]
    cosine, sine = facing[seat, 0], facing[seat, 1]
    if aside != 0:  # a sideways choice replaces the push along the heading
        push = tables.push[seat, 1] if aside == 1 else -tables.push[seat, 1]
        state.bodies[arena, seat, 2] += push * sine
        state.bodies[arena, seat, 3] -= push * cosine
    elif along != 0:
        push = tables.push[seat, 0] if along == 1 else -tables.push[seat, 0]
        state.bodies[arena, seat, 2] += push * cosine
        state.bodies[arena, seat, 3] += push * sine
    if turn != 0:
        turn_sine = TURN_SINE if turn == 1 else -TURN_SINE
        facing[seat, 0] = TURN_COSINE * cosine - turn_sine * sine
        facing[seat, 1] = turn_sine * cosine + TURN_COSINE * sine
        state.heading[arena, seat] = _wrapped(state.heading[arena, seat] + (TURN if turn == 1 else -TURN))


@compiled
def _wrapped(angle: float) -> float:
    if angle > math.pi:
        return angle - 2.0 * math.pi
    if angle <= -math.pi:
        return angle + 2.0 * math.pi
    return angle


@compiled
def _touch(tables: SoccerTables, state: SoccerState, arena: int, seat: int, scratch: _Scratch) -> None:
    """Where contact with the ball begins in this tick: the touch reward, and the kick of whoever is armed.

    The kick is the force of the tick that follows, so it comes on top of the bounce.
    """
    bodies = state.bodies[arena]
    ball = bodies.shape[0] - 1
    dx, dz = bodies[ball, 0] - bodies[seat, 0], bodies[ball, 1] - bodies[seat, 1]
    distance = math.sqrt(dx * dx + dz * dz)
    struck = scratch.struck[seat, 0] > 0.0
    touches = struck or distance <= scratch.radius[seat] + scratch.radius[ball] + CONTACT_GAP
    begins = touches and not state.touching[arena, seat]
    state.touching[arena, seat] = touches
    if not begins:
        return
    scratch.reward[seat] += TOUCH_SHARE * state.ball_touch[arena]
    if tables.kicks_always[seat] or state.actions[arena, seat, 0] == 1:
        nx = scratch.struck[seat, 1] if struck else dx / max(distance, 1e-12)
        nz = scratch.struck[seat, 2] if struck else dz / max(distance, 1e-12)
        bodies[ball, 2] += KICK * nx
        bodies[ball, 3] += KICK * nz


@compiled
def _goal_or_time(tables: SoccerTables, state: SoccerState, arena: int, left: float, right: float) -> int:
    """How the match stands after a tick in which the ball's center came from `left` to `right`.

    The ball's center moves half a meter above the floor of the goals, so it overlaps the floor of a goal by less
    than its radius. It cannot be beside the goal there: the corner walls keep it away.
    """
    radius = state.ball_radius[arena]
    line = GOAL_LINE - math.sqrt(max(radius * radius - 0.25, 0.0))
    if right >= line and tables.goals_open[1]:
        return BLUE_SCORED
    if left <= -line and tables.goals_open[0]:
        return PURPLE_SCORED
    return TIME_OUT if state.ticks[arena] >= tables.max_ticks[0] else PLAYING


@compiled
def _tick(tables: SoccerTables, state: SoccerState, arena: int, scratch: _Scratch) -> int:
    bodies = state.bodies[arena]
    seats = bodies.shape[0] - 1
    for seat in range(seats):
        _steer(tables, state, arena, seat, scratch.facing)
    for disc in range(seats + 1):
        bodies[disc, 2] *= tables.drag[disc]
        bodies[disc, 3] *= tables.drag[disc]
    left, right = move(
        bodies,
        scratch.radius,
        tables.inverse_mass,
        tables.bounce,
        tables.walls,
        tables.posts,
        tables.clear,
        TICK,
        scratch.struck,
    )
    for seat in range(seats):
        _touch(tables, state, arena, seat, scratch)
        scratch.reward[seat] += tables.tick_reward[seat]
    state.ticks[arena] += 1
    return _goal_or_time(tables, state, arena, left, right)


@compiled
def _face(state: SoccerState, arena: int, facing: FloatArray) -> None:
    for seat in range(facing.shape[0]):
        facing[seat, 0] = math.cos(state.heading[arena, seat])
        facing[seat, 1] = math.sin(state.heading[arena, seat])


@compiled
def _cast(tables: SoccerTables, state: SoccerState, arena: int, seat: int, scratch: _Scratch) -> None:
    """What one agent's rays meet: walls, posts, the other agents and the ball."""
    bodies, rays, hits = state.bodies[arena], scratch.rays, scratch.hits
    length, sphere = tables.sight[0], tables.sight[1]
    count, overlaps = tables.fan_sizes[seat], tables.sees_overlaps[0]
    px, pz = bodies[seat, 0], bodies[seat, 1]
    aim(scratch.facing[seat, 0], scratch.facing[seat, 1], tables.fans[seat], count, length, rays, hits)
    meet_walls(px, pz, sphere, length, tables.walls, rays, count, hits, overlaps)
    for post in range(tables.posts.shape[0]):
        dx, dz = tables.posts[post, 0] - px, tables.posts[post, 1] - pz
        meet_circle(dx, dz, sphere, length, tables.posts[post, 2], rays, count, hits, overlaps)
    for disc in range(bodies.shape[0]):
        if disc == seat:
            continue
        thing = tables.thing[disc] if disc < tables.thing.shape[0] else BALL
        both = scratch.radius[disc] + sphere
        reach = math.sqrt(both * both - SENSOR_HEIGHT * SENSOR_HEIGHT)
        dx, dz = bodies[disc, 0] - px, bodies[disc, 1] - pz
        meet_circle(dx, dz, reach, length, float(thing), rays, count, hits, overlaps)


@compiled
def _look(tables: SoccerTables, state: SoccerState, arena: int, scratch: _Scratch) -> None:
    """Adds a frame to the observations of all agents of an arena."""
    _face(state, arena, scratch.facing)
    caster = -1
    for row in range(tables.sensors.shape[0]):
        seat, first, count = tables.sensors[row, 0], tables.sensors[row, 1], tables.sensors[row, 2]
        tags, stack, place = tables.sensors[row, 3], tables.sensors[row, 4], tables.sensors[row, 5]
        if seat != caster:
            _cast(tables, state, arena, seat, scratch)
            caster = seat
        view = state.sight[arena, place : place + count * (tags + 2) * stack]
        write_view(view, scratch.hits, first, count, tables.slots[row], tags, stack, 1.0 / tables.sight[0])


@compiled
def _start(tables: SoccerTables, state: SoccerState, parameters: FloatArray, arena: int, scratch: _Scratch) -> None:
    """A new match: the parameters take effect, everyone stands somewhere near its place, the first view is taken."""
    bodies = state.bodies[arena]
    ball = bodies.shape[0] - 1
    state.ball_touch[arena] = parameters[0]
    state.ball_radius[arena] = BALL_RADIUS * parameters[1]
    scratch.radius[ball] = state.ball_radius[arena]
    bodies[:] = 0.0
    for seat in range(ball):
        bodies[seat, 0] = uniform(state.streams, arena, tables.start[seat, 0], START_SPREAD)
        bodies[seat, 1] = tables.start[seat, 1]
        state.heading[arena, seat] = _wrapped(uniform(state.streams, arena, tables.start[seat, 2], HEADING_SPREAD))
    bodies[ball, 0] = uniform(state.streams, arena, 0.0, BALL_SPREAD)
    bodies[ball, 1] = uniform(state.streams, arena, 0.0, BALL_SPREAD)
    separate(bodies, scratch.radius, tables.inverse_mass, tables.walls, tables.posts)
    state.ticks[arena] = 0
    state.touching[arena] = False
    state.reward[arena] = 0.0
    state.sight[arena] = 0.0
    _look(tables, state, arena, scratch)


@compiled
def _finish(tables: SoccerTables, state: SoccerState, arena: int, outcome: int, scratch: _Scratch) -> None:
    """Keeps what the agents see and get at the end of their match."""
    state.last_sight[arena] = state.sight[arena]
    state.last_reward[arena] = scratch.reward
    state.last_ticks[arena] = state.ticks[arena]
    if outcome == TIME_OUT:
        state.last_group_reward[arena] = 0.0
        state.score[arena] = tables.timeout_score
        return
    scorer = 0 if outcome == BLUE_SCORED else 1
    state.last_group_reward[arena, scorer] = 1.0 - state.ticks[arena] / tables.max_ticks[0]
    state.last_group_reward[arena, 1 - scorer] = -1.0
    state.score[arena, scorer] = 1.0
    state.score[arena, 1 - scorer] = 0.0


@entry
def start_arenas(tables: SoccerTables, state: SoccerState, parameters: FloatArray, first: int, last: int) -> None:
    """Starts new matches in arenas `first` to `last` - 1; those that ran are forgotten.

    Args:
        tables: the rules.
        state: changed in place.
        parameters: `[2]`, touch reward and multiple of the ball's radius for matches that start.
        first: first arena.
        last: one past the last arena.
    """
    scratch = _scratch(tables)
    for arena in range(first, last):
        _start(tables, state, parameters, arena, scratch)
        state.outcome[arena] = PLAYING
        state.actions[arena] = 0


@entry
def play_arenas(tables: SoccerTables, state: SoccerState, parameters: FloatArray, first: int, last: int) -> None:
    """Plays one decision of arenas `first` to `last` - 1; where a match ends, the next one starts at once.

    Args are those of `start_arenas`.
    """
    scratch = _scratch(tables)
    for arena in range(first, last):
        scratch.radius[-1] = state.ball_radius[arena]
        scratch.reward[:] = 0.0
        _face(state, arena, scratch.facing)
        outcome = PLAYING
        for _ in range(TICKS_PER_DECISION):
            outcome = _tick(tables, state, arena, scratch)
            if outcome != PLAYING:
                break
        _look(tables, state, arena, scratch)
        state.outcome[arena] = outcome
        state.reward[arena] = scratch.reward
        state.actions[arena] = 0
        if outcome != PLAYING:
            _finish(tables, state, arena, outcome, scratch)
            _start(tables, state, parameters, arena, scratch)
