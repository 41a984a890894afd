"""The built-in worlds, by name. Importing this package brings in neither Numba nor torch; a world's module does.

`sparring.worlds.soccer` holds the classes `StrikersVsGoalie` and `SoccerTwos`.
"""

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
