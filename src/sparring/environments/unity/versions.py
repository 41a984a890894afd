"""Which games a trainer may talk to (wire spec 3)."""

from __future__ import annotations

import re

from sparring.errors import GameError
from sparring.wire import Introduction

__all__ = ["LEGACY_VERSION", "check_version"]

LEGACY_VERSION = "0.15.0"
_STRICT = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[ab]\d+)?", re.ASCII)


def check_version(game: Introduction, *, trainer: str) -> None:
    """Lets a game pass whose protocol the trainer speaks: the same major version, and before 1.0 the same minor too.

    Raises:
        GameError: another version, or none that can be read; names both and which side to change.
    """
    theirs = _STRICT.fullmatch(game.communication_version)
    ours = _STRICT.fullmatch(trainer)
    assert ours is not None, trainer
    if theirs is not None and theirs[1] == ours[1] and (ours[1] != "0" or theirs[2] == ours[2]):
        return
    if theirs is None:
        cure = "the game's package is broken or is no game; build it with a release of com.unity.ml-agents"
    elif int(theirs[1]) > int(ours[1]):
        cure = "the game is newer: build it with a package that speaks 1.x (com.unity.ml-agents 1.0 to 4.x)"
    else:
        cure = (
            "the game is older: build it with a package that speaks 1.x, or set communication_version to "
            f"{LEGACY_VERSION} for games of that version"
        )
    raise GameError(
        "the game and the trainer speak different versions of the protocol (stage: version)",
        where=f"the game's package {game.package_version or 'of unknown version'}",
        found=f"version {game.communication_version or 'none'} in the game",
        expected=f"a version compatible with the trainer's {trainer}",
        cure=cure,
    )
