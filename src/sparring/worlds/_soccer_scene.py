"""The picture of a soccer arena as data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._soccer_rules import AGENT_RADIUS, BLUE_GOAL, PURPLE_GOAL, WALL, SoccerRules
from sparring.worlds.scene import Scene, SceneDisc, SceneLine

__all__ = ["soccer_scene"]

_TEAM_COLORS = ("blue", "purple")
_LINE_COLORS = {WALL: "gray", BLUE_GOAL: "blue", PURPLE_GOAL: "purple"}


def soccer_scene(
    rules: SoccerRules,
    bodies: NDArray[np.float64],
    heading: NDArray[np.float64],
    *,
    ball_radius: float,
    tick: int,
) -> Scene:
    """Describes one arena.

    Args:
        rules: the game.
        bodies: `[discs, 4]`, the ball last.
        heading: `[seats]` in radians.
        ball_radius: meters.
        tick: of the running match.
    """
    corners = rules.pitch.corners
    sides = zip(corners, corners[1:] + corners[:1], rules.pitch.things, strict=True)
    lines = [(thing, SceneLine(start, end, _LINE_COLORS[thing])) for start, end, thing in sides]
    agents = [
        SceneDisc(f"agent {number}", (x, z), AGENT_RADIUS, angle, _TEAM_COLORS[seat.team])
        for number, (seat, (x, z), angle) in enumerate(
            zip(rules.seats, bodies[:-1, :2].tolist(), heading.tolist(), strict=True)
        )
    ]
    ball = SceneDisc("ball", (float(bodies[-1, 0]), float(bodies[-1, 1])), ball_radius, None, "white")
    return Scene(
        walls=tuple(line for thing, line in lines if thing == WALL),
        goals=tuple(line for thing, line in lines if thing != WALL),
        discs=(*agents, ball),
        tick=tick,
    )
