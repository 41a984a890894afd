"""The two soccer games as numbers: pitch, agents, sensors, and the tables the compiled kernel reads.

Lengths are meters, masses kilograms, times seconds, angles radians unless named otherwise. The pitch is seen from
above: x to the right, z up, headings counterclockwise from +x. Blue (team 0) plays towards +x, purple (team 1)
towards -x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._sight import LANES, LONGEST_RAY, MOST_THINGS, NOTHING
from sparring.worlds.outline import Outline
from sparring.worlds.sensors import RaySensor

__all__ = [
    "BALL",
    "BALL_RADIUS",
    "BALL_SCALES",
    "BLUE_AGENT",
    "BLUE_GOAL",
    "GOAL_LINE",
    "PURPLE_AGENT",
    "PURPLE_GOAL",
    "WALL",
    "Seat",
    "SoccerRules",
    "SoccerTables",
    "soccer_twos_rules",
    "strikers_vs_goalie_rules",
    "tables",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# What rays tell apart. Where two sides meet in a post, the lower number wins: a goal's post belongs to the goal.
BALL, BLUE_GOAL, PURPLE_GOAL, WALL, BLUE_AGENT, PURPLE_AGENT = range(6)

BALL_RADIUS: Final = 0.624
BALL_SCALES: Final = (0.25, 4.0)
"""Multiples of the radius that still fit the pitch and the goals."""
BALL_MASS: Final = 3.0
BALL_BOUNCE: Final = 0.8
BALL_DRAG_PER_TICK: Final = 1.0 * 0.02
AGENT_RADIUS: Final = 0.5
AGENT_MASS: Final = 50.0
AGENT_DRAG_PER_TICK: Final = 3.0 * 0.02
GOAL_LINE: Final = 15.5
"""Where the goal's floor begins; the ball scores when it overlaps the floor."""

_SIDE = 7.508
_MOUTH = 4.15
_CORNER_X = GOAL_LINE - (_SIDE - _MOUTH) / math.tan(math.radians(60.0))
_PURPLE_NET, _BLUE_NET = 17.36, -17.37
_BLOCKER_X, _BLOCKER_Z = -15.01, 3.9575


def _pitch(*, blue_goal_open: bool) -> Outline:
    """The pitch with both goal pockets, or with the blue goal closed by a box.

    The box leaves a gap of 0.19 m beside it that no disc of at least 0.5 m can enter; a slanted side closes it, so
    that smaller balls cannot get lost there. Bigger discs touch the box's corner before that side.
    """
    blue_end = (
        [((-GOAL_LINE, _MOUTH), BLUE_GOAL), ((_BLUE_NET, _MOUTH), BLUE_GOAL), ((_BLUE_NET, -_MOUTH), BLUE_GOAL)]
        if blue_goal_open
        else [((-GOAL_LINE, _MOUTH), WALL), ((_BLOCKER_X, _BLOCKER_Z), WALL), ((_BLOCKER_X, -_BLOCKER_Z), WALL)]
    )
    chain = [
        ((GOAL_LINE, -_MOUTH), PURPLE_GOAL),
        ((_PURPLE_NET, -_MOUTH), PURPLE_GOAL),
        ((_PURPLE_NET, _MOUTH), PURPLE_GOAL),
        ((GOAL_LINE, _MOUTH), WALL),
        ((_CORNER_X, _SIDE), WALL),
        ((-_CORNER_X, _SIDE), WALL),
        *blue_end,
        ((-GOAL_LINE, -_MOUTH), WALL),
        ((-_CORNER_X, -_SIDE), WALL),
        ((_CORNER_X, -_SIDE), WALL),
    ]
    corners, things = zip(*chain, strict=True)
    return Outline(corners, things, clear=(_CORNER_X, _SIDE))


@dataclass(frozen=True, slots=True)
class Seat:
    """One agent of the game.

    Attributes:
        team: 0 blue, 1 purple.
        forward_push, side_push: m/s added to the velocity by every tick of that choice.
        kicks_always: kicks at every contact that begins, not only while it chooses forward.
        start_x, start_z: middle of where it starts.
        match_reward: its own reward over a match of full length, a little at every tick.
        sensors: in the order of their names.
    """

    team: int
    forward_push: float
    side_push: float
    kicks_always: bool
    start_x: float
    start_z: float
    match_reward: float
    sensors: tuple[RaySensor, ...]

    @property
    def view_size(self) -> int:
        """Numbers in all its observations."""
        return sum(sensor.size for sensor in self.sensors)


@dataclass(frozen=True, slots=True)
class SoccerRules:
    """A whole game.

    Attributes:
        behaviors: full names, by team.
        seats: blue ones first; all seats of a team have the same sensors.
        pitch: the walls.
        blue_goal_open: whether purple can score at all.
        timeout_score: match score of blue and purple when time runs out.
    """

    behaviors: tuple[str, str]
    seats: tuple[Seat, ...]
    pitch: Outline
    blue_goal_open: bool
    timeout_score: tuple[float, float]


def _two_way_sensors(color: str, tags: tuple[int, ...]) -> tuple[RaySensor, ...]:
    ahead = RaySensor(f"{color}RayPerceptionSensor", rays_per_direction=5, max_angle=60.0, tags=tags)
    behind = RaySensor(
        f"{color}RayPerceptionSensorReverse", rays_per_direction=1, max_angle=45.0, tags=tags, turned=180.0
    )
    return ahead, behind


def strikers_vs_goalie_rules() -> SoccerRules:
    """Two strikers must score in the purple goal, one goalie must keep the ball out."""
    eyes = _two_way_sensors("Blue", (BALL, PURPLE_GOAL, WALL, BLUE_AGENT, PURPLE_AGENT))
    around = RaySensor(
        "PurpleGoalieRayPerceptionSensor",
        rays_per_direction=20,
        max_angle=180.0,
        tags=(BALL, PURPLE_GOAL, WALL, BLUE_AGENT),
    )
    strikers = [
        Seat(
            team=0,
            forward_push=2.6,
            side_push=0.6,
            kicks_always=False,
            start_x=-8.19,
            start_z=z,
            match_reward=-1.0,
            sensors=eyes,
        )
        for z in (-1.2, 1.2)
    ]
    goalie = Seat(
        team=1,
        forward_push=2.0,
        side_push=2.0,
        kicks_always=True,
        start_x=9.0,
        start_z=0.0,
        match_reward=1.0,
        sensors=(around,),
    )
    return SoccerRules(
        behaviors=("Striker?team=0", "Goalie?team=1"),
        seats=(*strikers, goalie),
        pitch=_pitch(blue_goal_open=False),
        blue_goal_open=False,
        timeout_score=(0.0, 1.0),
    )


def soccer_twos_rules() -> SoccerRules:
    """Two against two; each team sees its own goal and mates under the same tags, so one policy plays both."""
    blue = _two_way_sensors("Blue", (BALL, BLUE_GOAL, PURPLE_GOAL, WALL, BLUE_AGENT, PURPLE_AGENT))
    purple = _two_way_sensors("Purple", (BALL, PURPLE_GOAL, BLUE_GOAL, WALL, PURPLE_AGENT, BLUE_AGENT))
    return SoccerRules(
        behaviors=("SoccerTwos?team=0", "SoccerTwos?team=1"),
        seats=tuple(
            Seat(
                team=team,
                forward_push=2.0,
                side_push=0.6,
                kicks_always=False,
                start_x=side * 8.19,
                start_z=z,
                match_reward=0.0,
                sensors=eyes,
            )
            for team, side, eyes in ((0, -1.0, blue), (1, 1.0, purple))
            for z in (-1.2, 1.2)
        ),
        pitch=_pitch(blue_goal_open=True),
        blue_goal_open=True,
        timeout_score=(0.5, 0.5),
    )


FORWARD_PUSH, SIDE_PUSH, ALWAYS_KICKS, TICK_REWARD, THING, START_X, START_Z, START_HEADING = range(8)
"""Columns of `SoccerTables.seats`."""


class SoccerTables(NamedTuple):
    """The rules as arrays for the kernel; read only.

    Attributes:
        walls, posts, clear: of the pitch.
        traits: `[discs, 4]`, see `move`; the ball last, at its default radius.
        seats: `[seats, 8]`, columns above; 1 for an agent that always kicks.
        fans: `[seats, 2, blocks, LANES]`, see `aim`; filled up with repeats of the last ray.
        fan_blocks: `[seats]`, blocks in use.
        sensors, marks: see `write_view`.
        timeout_score: `[2]` by team.
        ray_length, ray_radius: the same for all sensors.
        blue_goal_open: whether purple can score.
        sees_overlaps: whether rays report what overlaps their sphere.
        max_ticks: length of a match.
    """

    walls: FloatArray
    posts: FloatArray
    clear: FloatArray
    traits: FloatArray
    seats: FloatArray
    fans: NDArray[np.float32]
    fan_blocks: IntArray
    sensors: IntArray
    marks: IntArray
    timeout_score: FloatArray
    ray_length: float
    ray_radius: float
    blue_goal_open: bool
    sees_overlaps: bool
    max_ticks: int


def tables(rules: SoccerRules, *, max_ticks: int, sees_overlaps: bool) -> SoccerTables:
    """Lays the rules out for the kernel."""
    fans, fan_blocks = _fans(rules.seats)
    sensors, marks = _sensor_rows(rules.seats)
    eye = rules.seats[0].sensors[0]
    kinds = {(sensor.length, sensor.radius) for seat in rules.seats for sensor in seat.sensors}
    assert kinds == {(eye.length, eye.radius)}, f"the kernel knows one kind of ray, not {kinds}"
    assert eye.length <= LONGEST_RAY, f"rays of {eye.length} m are longer than hits can tell"
    agent = (AGENT_RADIUS, 1.0 / AGENT_MASS, 0.0, 1.0 - AGENT_DRAG_PER_TICK)
    ball = (BALL_RADIUS, 1.0 / BALL_MASS, BALL_BOUNCE, 1.0 - BALL_DRAG_PER_TICK)
    return SoccerTables(
        walls=rules.pitch.walls(),
        posts=rules.pitch.posts(),
        clear=np.array(rules.pitch.clear),
        traits=np.array([agent] * len(rules.seats) + [ball]),
        seats=np.array([_seat_row(seat, max_ticks) for seat in rules.seats]),
        fans=fans,
        fan_blocks=fan_blocks,
        sensors=sensors,
        marks=marks,
        timeout_score=np.array(rules.timeout_score),
        ray_length=eye.length,
        ray_radius=eye.radius,
        blue_goal_open=rules.blue_goal_open,
        sees_overlaps=sees_overlaps,
        max_ticks=max_ticks,
    )


def _seat_row(seat: Seat, max_ticks: int) -> tuple[float, ...]:
    return (
        seat.forward_push,
        seat.side_push,
        float(seat.kicks_always),
        seat.match_reward / max_ticks,
        float((BLUE_AGENT, PURPLE_AGENT)[seat.team]),
        seat.start_x,
        seat.start_z,
        math.pi * seat.team,
    )


def _fans(seats: tuple[Seat, ...]) -> tuple[NDArray[np.float32], IntArray]:
    fans = [np.concatenate([sensor.directions() for sensor in seat.sensors], axis=1) for seat in seats]
    blocks = [-(-fan.shape[1] // LANES) for fan in fans]
    padded = [np.pad(fan, ((0, 0), (0, max(blocks) * LANES - fan.shape[1])), mode="edge") for fan in fans]
    packed = np.stack(padded).reshape(len(seats), 2, max(blocks), LANES).astype(np.float32)
    return packed, np.array(blocks, np.int64)


def _sensor_rows(seats: tuple[Seat, ...]) -> tuple[IntArray, IntArray]:
    rows, marks = [], []
    place = 0
    for number, seat in enumerate(seats):
        first = 0
        for sensor in seat.sensors:
            rows.append((number, first, sensor.count, len(sensor.tags), sensor.stack, place))
            tags, fraction = sensor.tags, len(sensor.tags) + 1
            marks.append([tags.index(thing) if thing in tags else fraction for thing in range(MOST_THINGS)])
            marks[-1][NOTHING] = len(tags)
            first += sensor.count
            place += sensor.size
    return np.array(rows, np.int64), np.array(marks, np.int64)
