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

from sparring.worlds.outline import Outline
from sparring.worlds.sensors import RaySensor

__all__ = [
    "BALL",
    "BALL_RADIUS",
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
THINGS: Final = 6

BALL_RADIUS: Final = 0.624
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
    strikers = [Seat(0, 2.6, 0.6, False, -8.19, z, -1.0, eyes) for z in (-1.2, 1.2)]
    goalie = Seat(1, 2.0, 2.0, True, 9.0, 0.0, 1.0, (around,))
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
            Seat(team, 2.0, 0.6, False, side * 8.19, z, 0.0, eyes)
            for team, side, eyes in ((0, -1.0, blue), (1, 1.0, purple))
            for z in (-1.2, 1.2)
        ),
        pitch=_pitch(blue_goal_open=True),
        blue_goal_open=True,
        timeout_score=(0.5, 0.5),
    )


class SoccerTables(NamedTuple):
    """The rules as arrays for the kernel; read only.

    Attributes:
        walls, posts, clear: of the pitch.
        radius, inverse_mass, bounce, drag: `[discs]`, the ball last; drag is the factor a tick leaves.
        team: `[seats]`.
        push: `[seats, 2]`, forward and sideways.
        kicks_always: `[seats]`.
        start: `[seats, 3]`, x, z and heading.
        tick_reward: `[seats]`.
        thing: `[seats]`, what rays report.
        fans: `[seats, 2, rays]`, padded with repeats of the last ray to whole vector registers.
        fan_sizes: `[seats]`, rays with padding.
        sensors: `[sensors, 6]`: seat, first ray, rays, tags, stack, place in the arena's view.
        slots: `[sensors, things]`, place of a thing among the tags, -1 if it has none.
        sight: length and radius of all rays.
        goals_open: `[2]`, whether blue's and purple's goal can be scored in.
        timeout_score: `[2]` by team.
        max_ticks, sees_overlaps: `[1]`.
    """

    walls: FloatArray
    posts: FloatArray
    clear: FloatArray
    radius: FloatArray
    inverse_mass: FloatArray
    bounce: FloatArray
    drag: FloatArray
    team: IntArray
    push: FloatArray
    kicks_always: NDArray[np.bool_]
    start: FloatArray
    tick_reward: FloatArray
    thing: IntArray
    fans: FloatArray
    fan_sizes: IntArray
    sensors: IntArray
    slots: IntArray
    sight: FloatArray
    goals_open: NDArray[np.bool_]
    timeout_score: FloatArray
    max_ticks: IntArray
    sees_overlaps: NDArray[np.bool_]


def tables(rules: SoccerRules, *, max_ticks: int, sees_overlaps: bool) -> SoccerTables:
    """Lays the rules out for the kernel."""
    seats = rules.seats
    agents = len(seats)
    fans, fan_sizes = _fans(seats)
    sensors, slots = _sensor_rows(seats)
    eye = seats[0].sensors[0]
    return SoccerTables(
        walls=rules.pitch.walls(),
        posts=rules.pitch.posts(),
        clear=np.array(rules.pitch.clear),
        radius=np.array([AGENT_RADIUS] * agents + [BALL_RADIUS]),
        inverse_mass=1.0 / np.array([AGENT_MASS] * agents + [BALL_MASS]),
        bounce=np.array([0.0] * agents + [BALL_BOUNCE]),
        drag=1.0 - np.array([AGENT_DRAG_PER_TICK] * agents + [BALL_DRAG_PER_TICK]),
        team=np.array([seat.team for seat in seats], np.int64),
        push=np.array([(seat.forward_push, seat.side_push) for seat in seats]),
        kicks_always=np.array([seat.kicks_always for seat in seats]),
        start=np.array([(seat.start_x, seat.start_z, math.pi * seat.team) for seat in seats]),
        tick_reward=np.array([seat.match_reward / max_ticks for seat in seats]),
        thing=np.array([(BLUE_AGENT, PURPLE_AGENT)[seat.team] for seat in seats], np.int64),
        fans=fans,
        fan_sizes=fan_sizes,
        sensors=sensors,
        slots=slots,
        sight=np.array([eye.length, eye.radius]),
        goals_open=np.array([rules.blue_goal_open, True]),
        timeout_score=np.array(rules.timeout_score),
        max_ticks=np.array([max_ticks], np.int64),
        sees_overlaps=np.array([sees_overlaps]),
    )


def _fans(seats: tuple[Seat, ...]) -> tuple[FloatArray, IntArray]:
    register = 8
    fans = [np.concatenate([sensor.directions() for sensor in seat.sensors], axis=1) for seat in seats]
    sizes = [-(-fan.shape[1] // register) * register for fan in fans]
    widest = max(sizes)
    padded = [np.pad(fan, ((0, 0), (0, widest - fan.shape[1])), mode="edge") for fan in fans]
    return np.stack(padded), np.array(sizes, np.int64)


def _sensor_rows(seats: tuple[Seat, ...]) -> tuple[IntArray, IntArray]:
    rows, slots = [], []
    place = 0
    for number, seat in enumerate(seats):
        first = 0
        for sensor in seat.sensors:
            rows.append((number, first, sensor.count, len(sensor.tags), sensor.stack, place))
            slots.append([sensor.tags.index(thing) if thing in sensor.tags else -1 for thing in range(THINGS)])
            first += sensor.count
            place += sensor.size
    return np.array(rows, np.int64), np.array(slots, np.int64)
