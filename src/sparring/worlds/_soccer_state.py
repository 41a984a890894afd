"""Everything a running soccer game consists of, as arrays: what the kernel changes and a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.errors import CheckpointError
from sparring.worlds._motion import MAX_TOGETHER
from sparring.worlds._random import seed_streams
from sparring.worlds._soccer_rules import BALL_RADIUS, BALL_SCALES, SoccerTables
from sparring.worlds.outline import Outline

__all__ = [
    "BLUE_SCORED",
    "NOT_STARTED",
    "PLAYING",
    "PURPLE_SCORED",
    "TICKS_PER_DECISION",
    "TIME_OUT",
    "SoccerScratch",
    "SoccerState",
    "check_possible",
    "new_scratch",
    "new_state",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TICKS_PER_DECISION = 5

PLAYING, BLUE_SCORED, PURPLE_SCORED, TIME_OUT = range(4)
MOST_SPEED = 1000.0
"""Meters a second that nothing in a match comes near."""
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


class SoccerScratch(NamedTuple):
    """Room for one arena at a time; each thread has its own, and nothing in it outlives a call.

    Attributes:
        traits: `[discs, 4]`, those of the rules with the ball's radius in the arena.
        struck, walls_ahead, pairs, impulse: see `move`.
        facing: `[seats, 2]`, cosine and sine of the headings.
        earned: `[seats]`, rewards of this step.
        circles, rays, hits: see `meet_circles`.
        flat_hits: `[rays]`, the memory of `hits`.
    """

    traits: FloatArray
    struck: FloatArray
    walls_ahead: FloatArray
    pairs: IntArray
    impulse: FloatArray
    facing: FloatArray
    earned: FloatArray
    circles: FloatArray
    rays: NDArray[np.float32]
    hits: NDArray[np.float32]
    flat_hits: NDArray[np.float32]


def new_scratch(tables: SoccerTables) -> SoccerScratch:
    """Room for a game of these rules."""
    seats, _, blocks, lanes = tables.fans.shape
    hits = np.zeros((blocks, lanes), np.float32)
    return SoccerScratch(
        traits=tables.traits.copy(),
        struck=np.zeros((seats, 3)),
        walls_ahead=np.zeros((seats + 1, 2)),
        pairs=np.zeros((MAX_TOGETHER, 2), np.int64),
        impulse=np.zeros(MAX_TOGETHER),
        facing=np.zeros((seats, 2)),
        earned=np.zeros(seats),
        circles=np.zeros((len(tables.traits) + len(tables.posts), 4)),
        rays=np.zeros((2, blocks, lanes), np.float32),
        hits=hits,
        flat_hits=hits.reshape(-1),
    )


def check_possible(arenas: Mapping[str, NDArray[Any]], pitch: Outline) -> None:
    """Refuses saved arrays that no match can come to, so that the kernel need not expect them.

    Raises:
        CheckpointError: a disc is outside the pitch or too fast, or the ball has a radius that cannot be set.
    """
    bodies, scale = arenas["bodies"], arenas["ball_radius"] / BALL_RADIUS
    wrong = {
        "a disc is outside the pitch": ~pitch.contains(bodies[..., 0], bodies[..., 1]),
        "a disc is faster than anything can be": (np.abs(bodies[..., 2:]) > MOST_SPEED).any(axis=-1),
        "the ball has no possible radius": (scale < BALL_SCALES[0] - 1e-9) | (scale > BALL_SCALES[1] + 1e-9),
    }
    for what, where in wrong.items():
        if where.any():
            row = np.argwhere(where)[0].tolist()
            raise CheckpointError(f"in a saved match {what}", where=f"arena and disc {row}")
