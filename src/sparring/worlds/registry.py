"""Which worlds there are, by name: the built-in ones, and those that installed packages add.

A package adds a world with an entry point in the group `sparring.worlds`; it names something that is called like
`SoccerTwos(num_arenas=8, seed=0, threads=1)` and gives an `Environment`. Listing loads neither these nor the built-in
worlds; a world that cannot be loaded is an error, with its name, for whoever asks for it.

`FILE.py:NAME` is a world as well: NAME in that script is called like the above.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sparring.errors import SettingsError, nearest
from sparring.user_code import existing_script, load_function, script_path

if TYPE_CHECKING:  # a refusal must wait neither for packages to be looked through nor for NumPy
    from importlib.metadata import EntryPoint

    from sparring.environments import Environment

__all__ = ["CreateWorld", "WorldInfo", "available_worlds", "create_world", "find_world"]

GROUP = "sparring.worlds"


class CreateWorld(Protocol):
    """What makes a world."""

    def __call__(self, *, num_arenas: int, seed: int, threads: int) -> Environment:
        """A world of `num_arenas` arenas, ready to be stepped."""
        ...


@dataclass(frozen=True, slots=True)
class WorldInfo:
    """One world, before it is loaded.

    Attributes:
        name: by which it is asked for.
        summary: one line.
        teams: who plays, one line; empty if only the world itself knows.
        create: loads and makes it.
    """

    name: str
    summary: str
    teams: str
    create: CreateWorld


def _create_strikers_vs_goalie(*, num_arenas: int, seed: int, threads: int) -> Environment:
    from sparring.worlds.soccer import StrikersVsGoalie  # noqa: PLC0415 - brings in Numba, which listing must not

    return StrikersVsGoalie(num_arenas=num_arenas, seed=seed, threads=threads)


def _create_soccer_twos(*, num_arenas: int, seed: int, threads: int) -> Environment:
    from sparring.worlds.soccer import SoccerTwos  # noqa: PLC0415 - brings in Numba, which listing must not

    return SoccerTwos(num_arenas=num_arenas, seed=seed, threads=threads)


_BUILT_IN = (
    WorldInfo(
        "strikers_vs_goalie",
        "Soccer: two strikers must score against one goalie before time runs out.",
        "Striker (team 0, 2 agents) against Goalie (team 1, 1 agent)",
        _create_strikers_vs_goalie,
    ),
    WorldInfo(
        "soccer_twos",
        "Soccer: two against two, both teams with the same policy.",
        "SoccerTwos (team 0, 2 agents) against SoccerTwos (team 1, 2 agents)",
        _create_soccer_twos,
    ),
)


def available_worlds() -> tuple[WorldInfo, ...]:
    """The built-in worlds, then those of installed packages by name; a built-in name cannot be taken over."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - a built-in world is found without

    offered: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        offered.setdefault(point.name, []).append(point)
    built_in = {world.name for world in _BUILT_IN}
    added = (_plug_in(name, points) for name, points in sorted(offered.items()) if name not in built_in)
    return (*_BUILT_IN, *added)


def create_world(name: str, *, num_arenas: int = 8, seed: int = 0, threads: int = 1) -> Environment:
    """Makes a world, ready to be stepped.

    Args:
        name: one of `available_worlds()`.
        num_arenas: copies of the game that are played side by side.
        seed: of all its random streams.
        threads: that share the arenas out.

    Raises:
        SettingsError: there is no such world, it cannot be loaded, or a number is out of range.
    """
    return find_world(name).create(num_arenas=num_arenas, seed=seed, threads=threads)


def find_world(name: str) -> WorldInfo:
    """The world of a name, not loaded yet.

    Args:
        name: one of `available_worlds()`, or `FILE.py:NAME`.

    Raises:
        SettingsError: there is none; names those most like it.
    """
    if script_path(name) is not None:
        return WorldInfo(name, f"From {existing_script(name, where='world')}.", "", _of_script(name))
    worlds = {world.name: world for world in _BUILT_IN}
    if name not in worlds:
        worlds = {world.name: world for world in available_worlds()}
    if name not in worlds:
        close = nearest(name, worlds)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        hint += "A script's world is named FILE.py:NAME. " if ".py" in name else ""
        raise SettingsError(f"there is no world {name!r}", cure=f"{hint}The worlds are: {', '.join(worlds)}")
    return worlds[name]


def _plug_in(name: str, points: list[EntryPoint]) -> WorldInfo:
    sources = " and ".join(sorted(_source(point) for point in points))
    return WorldInfo(name, f"From {sources}.", "", _loader(name, points, sources))


def _source(point: EntryPoint) -> str:
    return f"package {point.dist.name}" if point.dist is not None else point.value


def _loader(name: str, points: list[EntryPoint], sources: str) -> Callable[..., Environment]:
    def create(*, num_arenas: int, seed: int, threads: int) -> Environment:
        if len(points) > 1:
            raise SettingsError(
                f"world {name!r} is offered more than once", found=sources, cure="uninstall all but one"
            )
        try:
            make = points[0].load()
            if not callable(make):
                raise TypeError(f"{points[0].value} cannot be called")
        except Exception as error:  # foreign code: whatever it raises, the person must learn whose world is broken
            raise SettingsError(
                f"world {name!r} cannot be loaded",
                where=sources,
                found=f"{type(error).__name__}: {error}",
                cure="reinstall or uninstall that package; the other worlds work without it",
            ) from error
        return _made(make, name, sources, num_arenas=num_arenas, seed=seed, threads=threads)

    return create


def _of_script(place: str) -> CreateWorld:
    def create(*, num_arenas: int, seed: int, threads: int) -> Environment:
        make = load_function(place, where="world")
        return _made(make, place, place, num_arenas=num_arenas, seed=seed, threads=threads)

    return create


def _made(
    make: Callable[..., object], name: str, source: str, *, num_arenas: int, seed: int, threads: int
) -> Environment:
    from sparring.environments import Environment  # noqa: PLC0415 - brings in NumPy, which listing must not

    try:
        inspect.signature(make).bind(num_arenas=num_arenas, seed=seed, threads=threads)
    except TypeError as error:
        raise SettingsError(
            f"world {name!r} can't be called as a world",
            where=source,
            found=str(error),
            expected="the keywords num_arenas, seed and threads",
            cure="a function that makes a game of an academy becomes a world by sparring.academy.as_world",
        ) from None
    world = make(num_arenas=num_arenas, seed=seed, threads=threads)
    if not isinstance(world, Environment):
        raise SettingsError(f"world {name!r} is not an Environment", where=source, found=type(world).__name__)
    return world
