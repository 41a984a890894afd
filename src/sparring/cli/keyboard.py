"""A person at the keyboard who steers one agent, with a picture of the arena in the terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from sparring.cli.keys import Keys
from sparring.cli.picture import drawn
from sparring.environments import Environment
from sparring.errors import Finding, SettingsError
from sparring.specs import ActionSpec
from sparring.steps import ActionBatch, DecisionSteps
from sparring.worlds import Scene

__all__ = ["HeldKeys", "KeyboardPlayer", "Move", "bindings_of", "default_bindings"]

HOLD = 6
"""Decisions for which a key counts after it was pressed: terminals tell when a key goes down, and never when up."""

_PAIRS = (("w", "s"), ("d", "a"), ("left", "right"), ("i", "k"), ("l", "j"), ("up", "down"))
_QUIT, _PAUSE, _STOP = ("x", "escape"), "p", "space"
_LINES_BELOW = 3


class Move(NamedTuple):
    """What a key does: a choice in a discrete branch, or a value of a continuous action."""

    is_discrete: bool
    place: int
    value: float

    def __str__(self) -> str:
        return f"{'' if self.is_discrete else 'c'}{self.place}:{self.value:g}"


@runtime_checkable
class DrawnWorld(Protocol):
    """A world that can be drawn."""

    def scene(self, arena: int) -> Scene:
        """What one arena looks like now."""


def default_bindings(spec: ActionSpec) -> dict[str, Move]:
    """Keys for the first few branches and continuous actions: a pair of keys each, w and s first.

    In the soccer worlds w and s go forward and back, d and a sideways, the arrows left and right turn.
    """
    moves: list[tuple[Move, Move | None]] = [
        (Move(True, branch, 1), Move(True, branch, 2) if size > 2 else None)
        for branch, size in enumerate(spec.discrete_branches)
        if size > 1
    ]
    moves += [(Move(False, index, 1.0), Move(False, index, -1.0)) for index in range(spec.continuous_size)]
    keys = {}
    for (one, other), (first, second) in zip(_PAIRS, moves, strict=False):
        keys[one] = first
        if second is not None:
            keys[other] = second
    return keys


def bindings_of(text: str, spec: ActionSpec) -> dict[str, Move]:
    """Keys as a person wants them: `w=0:1,s=0:2,up=c0:0.5`, which is key = branch : choice, or c action : value.

    Raises:
        SettingsError: all mistakes at once.
    """
    keys, findings = {}, []
    for part in text.split(","):
        key, _, meaning = part.strip().partition("=")
        place, _, value = meaning.partition(":")
        try:
            move = Move(not place.startswith("c"), int(place.removeprefix("c")), float(value))
        except ValueError:
            findings.append(Finding("this is no key", "--keys", repr(part), "KEY=BRANCH:CHOICE or KEY=cACTION:VALUE"))
            continue
        sizes = spec.discrete_branches
        if move.is_discrete and not (0 <= move.place < len(sizes) and move.value in range(sizes[move.place])):
            findings.append(Finding("there is no such choice", "--keys", repr(part), f"branches of {list(sizes)}"))
        elif not move.is_discrete and not (0 <= move.place < spec.continuous_size and -1.0 <= move.value <= 1.0):
            expected = f"one of {spec.continuous_size} actions, and a value from -1 to 1"
            findings.append(Finding("there is no such action", "--keys", repr(part), expected))
        elif key in (*_QUIT, _PAUSE, _STOP) or not key:
            findings.append(
                Finding("this key is taken", "--keys", repr(part), cure=f"not {', '.join(_QUIT)}, p, space")
            )
        else:
            keys[key] = move
    if findings:
        raise SettingsError(findings)
    return keys


class HeldKeys:
    """The actions that keys stand for, each for a while after it was pressed.

    Args:
        spec: what the agent does.
        bindings: what keys do.
        hold: decisions for which a key counts; pressing it again starts anew, another one of its pair ends it.
    """

    def __init__(self, spec: ActionSpec, bindings: Mapping[str, Move], *, hold: int = HOLD) -> None:
        self._spec = spec
        self._bindings = bindings
        self._hold = hold
        self._held: dict[tuple[bool, int], tuple[float, int]] = {}

    def press(self, key: str) -> None:
        """A key went down; one that does nothing is no mistake."""
        if key == _STOP:
            self._held.clear()
        elif key in self._bindings:
            move = self._bindings[key]
            self._held[move.is_discrete, move.place] = move.value, self._hold

    def next(self, steps: DecisionSteps, row: int) -> ActionBatch:
        """One row of actions for this decision; a choice that is not available gives way to the first that is."""
        actions = ActionBatch.zeros(self._spec, 1)
        for (is_discrete, place), (value, left) in list(self._held.items()):
            if is_discrete:
                actions.discrete[0, place] = int(value)
            else:
                actions.continuous[0, place] = value
            if left > 1:
                self._held[is_discrete, place] = value, left - 1
            else:
                del self._held[is_discrete, place]
        for branch, mask in enumerate(steps.action_mask or ()):
            if mask[row, actions.discrete[0, branch]]:
                actions.discrete[0, branch] = int(np.argmin(mask[row]))
        return actions


class KeyboardPlayer:
    """Steers an agent by the keys of this terminal; a context manager, which leaves the terminal as it was.

    Args:
        world: the game, one arena of it; it is drawn if it can be.
        actions: of the behavior that is steered.
        bindings: what keys do.
        rate: decisions a second.

    Raises:
        SettingsError: stdin or stdout is no terminal.
    """

    def __init__(self, world: Environment, actions: ActionSpec, bindings: Mapping[str, Move], *, rate: float) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise SettingsError(
                "there is no terminal to play in", where="--keyboard", cure="play by a function with --script"
            )
        self._world = world
        self._held = HeldKeys(actions, bindings)
        self._legend = "   ".join(f"{key} {move}" for key, move in bindings.items())
        self._pause_s = 1.0 / rate
        self._due = time.monotonic()
        self._keys = Keys()
        self._live = Live(console=Console(), screen=True, auto_refresh=False)
        self._decisions, self._total, self._episodes = 0, 0.0, 0
        self.has_left = False
        """Whether the person wants to stop."""

    def __enter__(self) -> KeyboardPlayer:
        self._keys.__enter__()
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)
        self._keys.__exit__(kind, error, trace)

    def choose(self, agent: int, steps: DecisionSteps, row: int, *, is_first: bool) -> ActionBatch:
        """As `Person` wants it: shows the arena, waits until the decision is due, and gives what the keys say."""
        if is_first:
            self._decisions, self._total, self._episodes = 0, 0.0, self._episodes + 1
        self._decisions += 1
        self._total += float(steps.reward[row] + steps.group_reward[row])
        self._show(agent)
        self._due = max(self._due + self._pause_s, time.monotonic())
        while not self.has_left and time.monotonic() < self._due:
            self._take(self._keys.pressed(within_s=self._due - time.monotonic()), agent)
        return self._held.next(steps, row)

    def _take(self, keys: list[str], agent: int) -> None:
        for key in keys:
            if key in _QUIT:
                self.has_left = True
            elif key == _PAUSE:
                self._rest(agent)
            else:
                self._held.press(key)

    def _rest(self, agent: int) -> None:
        self._show(agent, note="paused: p goes on")
        while not self.has_left:
            keys = self._keys.pressed(within_s=1.0)
            self.has_left = any(key in _QUIT for key in keys)
            if _PAUSE in keys:
                break
        self._due = time.monotonic() + self._pause_s

    def _show(self, agent: int, *, note: str = "") -> None:
        size = shutil.get_terminal_size()
        told = f"episode {self._episodes}   decision {self._decisions}   reward {self._total:+.2f}   {note}"
        below = Text(f"{told}\n{self._legend}\nspace stand still   p pause   x leave", no_wrap=True)
        if isinstance(self._world, DrawnWorld):
            rows = max(1, size.lines - _LINES_BELOW - 1)
            picture = drawn(self._world.scene(0), columns=max(1, size.columns), rows=rows, marked=f"agent {agent}")
            self._live.update(Group(picture, below), refresh=True)
        else:
            self._live.update(below, refresh=True)
