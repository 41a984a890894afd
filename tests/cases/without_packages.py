"""A process that runs the command line as on a machine that lacks some packages, and knows the world `walk`.

Arguments: the packages that are missing, joined by commas or `-` for none, then the words of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from sparring.cli.main import main
from sparring.worlds import registry
from tests import games

__all__: list[str] = []


class Without:
    """A finder that finds all that another one does but for some packages, as where they are not installed."""

    def __init__(self, finder: Any, packages: Sequence[str]) -> None:
        self._finder = finder
        self._packages = frozenset(packages)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in self._packages else self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


if __name__ == "__main__":
    missing, *words = sys.argv[1:]
    sys.meta_path[:] = [Without(finder, missing.split(",")) for finder in sys.meta_path]
    world = registry.WorldInfo("walk", "Two walkers on a line.", "", games.duel)
    vars(registry)["_BUILT_IN"] = (*registry._BUILT_IN, world)
    main(words)
