"""What an arena looks like at one moment, as plain values for whoever draws it. Nothing is drawn here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Scene", "SceneDisc", "SceneLine"]


@dataclass(frozen=True, slots=True)
class SceneLine:
    """A straight piece of wall or goal; ends are (x, z) in meters, x to the right and z up on the page."""

    start: tuple[float, float]
    end: tuple[float, float]
    color: str


@dataclass(frozen=True, slots=True)
class SceneDisc:
    """Something round that moves.

    Attributes:
        name: which one, e.g. `agent 2` or `ball`.
        position: (x, z) of its center in meters.
        radius: meters.
        heading: radians counterclockwise from +x; None for what has no front.
        color: a color's name.
    """

    name: str
    position: tuple[float, float]
    radius: float
    heading: float | None
    color: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One arena: its fixed walls and goals, its moving discs, and how many ticks its match has lasted."""

    walls: tuple[SceneLine, ...]
    goals: tuple[SceneLine, ...]
    discs: tuple[SceneDisc, ...]
    tick: int
