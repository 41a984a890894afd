"""Child processes: their exit codes in words, and nothing left behind whoever is killed."""

import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from sparring.environments.unity.launching import GameProcess, exit_in_words

SHORT_S = 5.0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "as if all were well"),
        (1, "exit code 1"),
        (127, "could not be started"),
        (139, "SIGSEGV: it crashed"),
        (-11, "SIGSEGV: it crashed"),
        (-9, "memory ran out"),
        (3221225477, "exit code 3221225477: it crashed: a memory fault"),
        (3221225477 - (1 << 32), "exit code 3221225477: it crashed: a memory fault"),
        (3221225781, "a library it needs is missing"),
    ],
)
def test_exit_codes_are_put_into_words(code: int, words: str) -> None:
    assert words in exit_in_words(code)


def started(script: str, tmp_path: Path) -> GameProcess:
    program = tmp_path / "game.py"
    program.write_text(textwrap.dedent(script))
    return GameProcess([sys.executable, str(program)], log_folder=tmp_path, worker=0)


def until(condition: object) -> None:
    deadline = time.monotonic() + SHORT_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


FAMILY = """
    import os, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(os.getpid(), child.pid, flush=True)
    time.sleep({seconds})
"""


def pids(tmp_path: Path) -> list[int]:
    output = tmp_path / "Player-0.output.log"
    until(lambda: output.is_file() and output.read_text().endswith("\n"))
    return [int(word) for word in output.read_text().split()]


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_ending_a_game_ends_what_it_started(tmp_path: Path) -> None:
    game = started(FAMILY.format(seconds=60), tmp_path)
    family = pids(tmp_path)
    assert game.poll() is None
    game.end(grace_s=0.0)
    until(lambda: all(is_gone(pid) for pid in family))


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_a_game_that_ends_by_itself_takes_what_it_started_along(tmp_path: Path) -> None:
    game = started(FAMILY.format(seconds=0), tmp_path)
    assert game.end(grace_s=SHORT_S) == 0
    until(lambda: all(is_gone(pid) for pid in pids(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="the signal tied to the guard")
def test_a_game_whose_guard_is_killed_dies_too(tmp_path: Path) -> None:
    game = started("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)", tmp_path)
    (pid,) = pids(tmp_path)
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    until(lambda: is_gone(pid))
    assert game.end(grace_s=SHORT_S) == -signal.SIGKILL


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_game_that_dies_of_a_signal_says_which(tmp_path: Path) -> None:
    game = started("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)", tmp_path)
    assert game.end(grace_s=SHORT_S) == -signal.SIGABRT


def test_a_command_that_cannot_be_started_says_so_in_its_log(tmp_path: Path) -> None:
    game = GameProcess([str(tmp_path / "nothing")], log_folder=tmp_path, worker=0)
    until(lambda: game.poll() is not None)
    assert game.poll() == 127
    assert "cannot be started: No such file" in game.log_tail()
    game.end(grace_s=0.0)
