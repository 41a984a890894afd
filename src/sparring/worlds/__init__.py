"""The built-in worlds, by name. Importing this package brings in neither Numba nor torch; a world's module does.

`sparring.worlds.soccer` holds the classes `StrikersVsGoalie` and `SoccerTwos`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparring._exports import exports as _exports

if TYPE_CHECKING:
    from sparring.worlds.registry import CreateWorld, WorldInfo, available_worlds, create_world
    from sparring.worlds.scene import Scene, SceneDisc, SceneLine

__all__ = [
    "CreateWorld",
    "Scene",
    "SceneDisc",
    "SceneLine",
    "WorldInfo",
    "available_worlds",
    "create_world",
]

__getattr__ = _exports(
    __name__,
    {
        "registry": ("CreateWorld", "WorldInfo", "available_worlds", "create_world"),
        "scene": ("Scene", "SceneDisc", "SceneLine"),
    },
)
