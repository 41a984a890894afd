"""A person at the keyboard: what keys mean, the picture, and a real terminal in which somebody plays."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.cli.keyboard import HOLD, HeldKeys, Move, bindings_of, default_bindings
from sparring.cli.keys import names_of
from sparring.cli.main import main
from sparring.cli.picture import drawn
from sparring.errors import SettingsError
from sparring.specs import ActionSpec
from sparring.steps import DecisionSteps
from sparring.wire.demonstrations import read_demonstration
from sparring.worlds import Scene, SceneDisc, SceneLine
from tests.builders import decisions

SOCCER = ActionSpec.create_discrete((3, 3, 3))
ASKING = decisions([0])


def chosen(held: HeldKeys, steps: DecisionSteps = ASKING) -> list[int]:
    discrete: list[int] = held.next(steps, 0).discrete[0].tolist()
    return discrete


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("w", ["w"]),
        ("W", ["w"]),
        ("wa d", ["w", "a", "space", "d"]),
        ("\x1b[A\x1b[D", ["up", "left"]),
        ("\x1bOC", ["right"]),
        ("\x1b", ["escape"]),
        ("\x1b[1;5Aw", ["up", "w"]),
        ("\x1b[3~w", ["w"]),
        ("\x1b[", []),
        ("", []),
    ],
)
def test_keys_are_told_by_name(sent: str, keys: list[str]) -> None:
    assert names_of(sent) == keys


@given(st.text(max_size=30))
def test_whatever_is_sent_gives_keys_or_none(sent: str) -> None:
    assert all(names_of(sent))


def test_soccer_is_played_with_the_usual_keys() -> None:
    keys = default_bindings(SOCCER)
    assert {key: (move.place, move.value) for key, move in keys.items()} == {
        "w": (0, 1),
        "s": (0, 2),
        "d": (1, 1),
        "a": (1, 2),
        "left": (2, 1),
        "right": (2, 2),
    }


def test_continuous_actions_and_small_branches_have_keys_too() -> None:
    keys = default_bindings(ActionSpec.create_hybrid(1, (2, 1)))
    assert keys == {"w": Move(True, 0, 1), "d": Move(False, 0, 1.0), "a": Move(False, 0, -1.0)}


def test_a_key_holds_for_some_decisions_and_begins_anew_when_pressed_again() -> None:
    held = HeldKeys(SOCCER, default_bindings(SOCCER))
    held.press("w")
    assert [chosen(held)[0] for _ in range(HOLD + 1)] == [1] * HOLD + [0]
    held.press("w")
    chosen(held)
    held.press("w")
    assert [chosen(held)[0] for _ in range(HOLD + 1)] == [1] * HOLD + [0]


def test_keys_of_a_pair_end_each_other_and_others_go_together() -> None:
    held = HeldKeys(SOCCER, default_bindings(SOCCER))
    for key in ("w", "left", "nothing"):
        held.press(key)
    assert chosen(held) == [1, 0, 1]
    held.press("s")
    assert chosen(held) == [2, 0, 1]
    held.press("space")
    assert chosen(held) == [0, 0, 0]


@given(st.lists(st.sampled_from(["w", "s", "a", "d", "left", "right", "space", ""]), max_size=30), st.integers(0, 99))
def test_what_is_masked_is_never_chosen(keys: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = HeldKeys(SOCCER, default_bindings(SOCCER))
    for key in keys:
        held.press(key)
        mask = [rng.random((1, 3)) < 0.5 for _ in range(3)]
        for branch in mask:
            branch[0, rng.integers(3)] = False
        choices = chosen(held, decisions([0], action_mask=mask))
        assert not any(branch[0, choice] for branch, choice in zip(mask, choices, strict=True))


def test_continuous_actions_are_held_too() -> None:
    spec = ActionSpec.create_continuous(2)
    held = HeldKeys(spec, bindings_of("w=c1:0.5,s=c1:-1", spec))
    held.press("w")
    assert held.next(ASKING, 0).continuous.tolist() == [[0.0, 0.5]]


def test_keys_may_be_chosen_and_all_mistakes_are_told() -> None:
    spec = ActionSpec.create_hybrid(1, (3,))
    assert bindings_of("u=0:1, j=0:2,up=c0:1", spec) == {
        "u": Move(True, 0, 1),
        "j": Move(True, 0, 2),
        "up": Move(False, 0, 1.0),
    }
    with pytest.raises(SettingsError) as told:
        bindings_of("u=0:3,j=1:1,k,up=c0:2,i=c1:0,x=0:1,space=0:1,=0:1,a=0:0.5", spec)
    assert [finding.what for finding in told.value.findings] == [
        "there is no such choice",
        "there is no such choice",
        "this is no key",
        "there is no such action",
        "there is no such action",
        "this key is taken",
        "this key is taken",
        "this key is taken",
        "there is no such choice",
    ]


def square(*discs: SceneDisc, half: float = 10.0) -> Scene:
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    sides = [SceneLine(start, end, "gray") for start, end in zip(corners, corners[1:] + corners[:1], strict=True)]
    return Scene(tuple(sides[:3]), tuple(sides[3:]), discs, 0)


@given(st.integers(1, 90), st.integers(1, 40), st.floats(-30, 30), st.floats(-30, 30), st.floats(0.1, 5))
def test_a_picture_has_the_size_that_was_asked_for_wherever_things_are(
    columns: int, rows: int, x: float, z: float, radius: float
) -> None:
    disc = SceneDisc("ball", (x, z), radius, 0.5, "white")
    lines = drawn(square(disc), columns=columns, rows=rows, marked="ball").plain.split("\n")
    assert [len(line) for line in lines] == [columns] * rows
    assert all(0x2800 <= ord(character) < 0x2900 for line in lines for character in line)


def test_a_picture_shows_what_is_where() -> None:
    agent = SceneDisc("agent 0", (-5.0, 5.0), 1.0, 0.0, "blue")
    text = drawn(
        square(agent, SceneDisc("ball", (5.0, -5.0), 1.0, None, "white")), columns=40, rows=20, marked="agent 0"
    )
    lines = text.plain.split("\n")
    empty = drawn(square(), columns=40, rows=20).plain.split("\n")
    changed = {(row, column) for row in range(20) for column in range(40) if lines[row][column] != empty[row][column]}
    up_left = {(row, column) for row, column in changed if row < 10 and column < 20}
    down_right = {(row, column) for row, column in changed if row >= 10 and column >= 20}
    assert up_left | down_right == changed
    assert min(up_left)[0] >= 3
    # Four dots a meter, two a column: one meter from the middle to the left, two to the end of its front.
    assert (min(column for _, column in up_left), max(column for _, column in up_left)) == (8, 14)
    styles = {str(span.style) for span in text.spans}
    assert {"bright_yellow", "white", "bright_black"} <= styles


def test_a_scene_of_nothing_is_empty() -> None:
    assert set(drawn(Scene((), (), (), 0), columns=3, rows=2).plain) == {"\u2800", "\n"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keyboard"], "there is no terminal to play in"),
        (["--keyboard", "--script", "a.py:play"], "--keyboard and --script contradict each other"),
        (["--keys", "w=0:1"], "--keys are those of --keyboard"),
    ],
)
def test_what_can_not_be_played_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["record", "soccer_twos", str(tmp_path / "a.demo"), *options])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


class Terminal:
    """A pseudo-terminal in which `sparring record --keyboard` runs; `seen` is what it has shown so far."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        import pty  # noqa: PLC0415 - not on Windows

        self.child, self.file = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            command = [sys.executable, "-m", "sparring.cli.main", "record", *arguments]
            os.execve(sys.executable, command, {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"})
        self.seen = ""

    def read(self) -> bool:
        """Reads on; False at the end."""
        import select  # noqa: PLC0415

        if not select.select([self.file], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self.file, 65536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", errors="replace")
        return bool(data)

    def wait_for(self, pattern: str) -> None:
        """Until it has shown something since the last time."""
        deadline = time.monotonic() + 60
        while not re.search(pattern, self.seen):
            assert self.read(), self.seen[-2000:]
            assert time.monotonic() < deadline, self.seen[-2000:]
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self.file, keys.encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and what was shown last."""
        deadline = time.monotonic() + 60
        while self.read():
            assert time.monotonic() < deadline, self.seen[-2000:]
        _, status = os.waitpid(self.child, 0)
        os.close(self.file)
        return os.waitstatus_to_exitcode(status), self.seen


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_person_plays_in_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal("strikers_vs_goalie", "mine.demo", "--keyboard", "--rate", "40", folder=tmp_path)
    terminal.wait_for(r"stand still")
    terminal.press("w")
    terminal.wait_for(r"decision (2\d|[3-9]\d|\d{3})")
    terminal.press("\x1b[C")
    terminal.wait_for(r"decision \d+")
    terminal.press("p")
    terminal.wait_for(r"paused: p goes on")
    terminal.press("p")
    terminal.wait_for(r"decision \d+")
    terminal.press("x")
    code, shown = terminal.end()
    assert code == 0, shown
    assert "look into it with" in shown
    assert "\x1b[?1049l" in shown  # the screen of before is back
    demo = read_demonstration(tmp_path / "mine.demo")
    assert demo.behavior_name == "Striker?team=0"
    forward, turn = demo.actions.discrete[:, 0], demo.actions.discrete[:, 2]
    assert (set(forward.tolist()), int((forward == 1).sum())) == ({0, 1}, HOLD)
    assert (set(turn.tolist()), 1 <= int((turn == 2).sum()) <= HOLD) == ({0, 2}, True)
    assert not demo.actions.discrete[:, 1].any()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_an_interrupt_leaves_a_readable_file_and_the_terminal_as_it_was(tmp_path: Path) -> None:
    terminal = Terminal("soccer_twos", "mine.demo", "--keyboard", "--rate", "40", folder=tmp_path)
    terminal.wait_for(r"decision [3-9]")
    os.kill(terminal.child, signal.SIGINT)
    code, shown = terminal.end()
    assert code == 0, shown
    assert "\x1b[?1049l" in shown
    assert len(read_demonstration(tmp_path / "mine.demo")) >= 3
