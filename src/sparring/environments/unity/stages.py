"""Where a game can get stuck on its way to its first decision, and what then is likely wrong."""

from __future__ import annotations

import math
from enum import Enum

from sparring.errors import Finding

__all__ = ["Stage", "ended", "stuck", "waiting"]


class Stage(Enum):
    """How far a game has come; the value is the word its messages carry."""

    START = "start"
    CONNECT = "connect"
    SPEAK = "speak"
    HANDSHAKE = "handshake"
    AGENTS = "agents"
    DECISIONS = "decisions"
    PLAY = "play"


_WHAT = {
    Stage.START: "the game ended while starting",
    Stage.CONNECT: "the game runs but has not connected",
    Stage.SPEAK: "the game connected but says nothing",
    Stage.HANDSHAKE: "the game introduced itself and then fell silent",
    Stage.AGENTS: "the game is connected but has shown no agent",
    Stage.DECISIONS: "the game shows agents, but none has ever asked for a decision",
    Stage.PLAY: "the game has stopped answering",
}

_CURE = {
    Stage.START: "start the game by hand and look at its log; likely: a build for another system, or a missing library",
    Stage.CONNECT: "likely: its scene has no agent or academy, it ignores --mlagents-port, it is still loading (raise "
    "--timeout-wait), or a proxy or firewall stands between (unset HTTP_PROXY)",
    Stage.SPEAK: "likely: something else than a game connected, or the game hangs while its scene loads",
    Stage.HANDSHAKE: "likely: the game refused the trainer's version and plays on by itself; games of the 1.0 packages "
    "accept package versions from 0.16.1 to 0.20.0: set package_version",
    Stage.AGENTS: "likely: the scene has no active agent, or every behavior is set to heuristic or inference",
    Stage.DECISIONS: "something must request decisions: add a Decision Requester to the agents, or ask in code",
    Stage.PLAY: "likely: the game hangs or waits for input; a game that is only slow needs a longer --timeout-wait",
}

_EDITOR_CURE = "press Play in the editor, with a scene whose behaviors are of type Default"


_AWAITED = {
    Stage.START: "to start",
    Stage.CONNECT: "to connect",
    Stage.SPEAK: "to say its first word; somebody is connected",
    Stage.HANDSHAKE: "to go on after the handshake",
    Stage.AGENTS: "to show an agent",
    Stage.DECISIONS: "to ask for a decision",
    Stage.PLAY: "to answer",
}


def waiting(stage: Stage, *, where: str, port: int, waited_s: float, limit_s: float) -> str:
    """The line that says what is waited for, since when and for how long, and how to look from the other side."""
    limit = "as long as it takes" if math.isinf(limit_s) else f"at most {limit_s:g} s"
    text = f"waiting for {where} {_AWAITED[stage]} (stage: {stage.value}): {waited_s:.0f} s so far, {limit}"
    if stage is Stage.CONNECT:
        text += (
            f"; try the port from there: python -c \"import socket; socket.create_connection(('localhost', {port}))\""
        )
    return text


def stuck(stage: Stage, *, where: str, waited_s: float, is_editor: bool, log: str) -> Finding:
    """The finding for a game that got no further in time."""
    cure = _EDITOR_CURE if is_editor and stage is Stage.CONNECT else _CURE[stage]
    return Finding(
        f"{_WHAT[stage]} (stage: {stage.value})",
        where,
        f"nothing for {waited_s:g} s",
        "",
        cure + (f"\n  the last lines of its log:\n{log}" if log else ""),
    )


def ended(stage: Stage, *, where: str, how: str, log: str) -> Finding:
    """The finding for a game whose process is gone."""
    what = _WHAT[Stage.START] if stage in {Stage.START, Stage.CONNECT} else "the game ended"
    word = Stage.START if stage is Stage.CONNECT else stage
    return Finding(
        f"{what} (stage: {word.value})",
        where,
        how,
        "",
        f"the last lines of its log:\n{log}" if log else "it wrote no log; start it by hand to see what is wrong",
    )
