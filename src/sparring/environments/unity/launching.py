"""Starting a game as a child process, watching it and ending it; nothing is left behind, whatever happens."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from sparring.environments.unity import guard
from sparring.errors import GameError

__all__ = ["GameProcess", "exit_in_words", "find_command", "find_executable", "game_arguments", "words_of"]

_ENDINGS = (".app", ".exe", ".x86_64", ".x86")
_TAIL_BYTES = 4096
_TAIL_LINES = 12


def find_command(text: str) -> list[str]:
    """The first words of a game's command: an executable, or one with arguments (`sparring serve soccer_twos`).

    Raises:
        GameError: as `find_executable`.
    """
    if not Path(text).expanduser().exists():
        words = words_of(text)
        if len(words) > 1:
            return [str(find_executable(words[0])), *words[1:]]
    return [str(find_executable(text))]


def words_of(text: str) -> list[str]:
    """The words of a command as a shell would split it; a backslash of Windows stays one."""
    return shlex.split(text.replace("\\", "\\\\") if os.name == "nt" else text)


def find_executable(path: str) -> Path:
    """The file to start for what a user names: an executable, a build without its ending, a folder or a bundle.

    Raises:
        GameError: there is no such file, or it may not be executed; says what was looked for.
    """
    given = Path(path).expanduser()
    bare = given.with_suffix("") if given.suffix in _ENDINGS else given
    candidates = [given, *(bare.with_name(bare.name + ending) for ending in _ENDINGS), bare]
    for candidate in candidates:
        inside = _inside(candidate) if candidate.is_dir() else candidate
        if inside is not None and inside.is_file():
            if os.access(inside, os.X_OK):
                return inside.absolute()  # a link keeps its name: the Python of a virtual environment is one
            raise GameError("the game may not be executed", where=str(inside), cure=f"chmod +x '{inside}'")
    on_path = shutil.which(path) if given.parent == Path() else None
    if on_path is not None:
        return Path(on_path)
    raise GameError(
        "there is no such game",
        where=str(given),
        expected="an executable, a folder with one, or a macOS bundle",
        cure=_what_is_there(given),
    )


def _inside(folder: Path) -> Path | None:
    """The executable in a bundle or in a folder of a build."""
    bundle = folder / "Contents" / "MacOS"
    if bundle.is_dir():
        files = sorted(bundle.iterdir())
        named = [file for file in files if file.name == folder.stem]
        return next(iter(named + files), None)
    for pattern in ("*.x86_64", "*.exe", "*.app", "*.x86"):
        for file in sorted(folder.glob(pattern)):
            if not file.name.startswith("UnityCrashHandler"):
                return _inside(file) if file.is_dir() else file
    return None


def _what_is_there(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    names = sorted(entry.name for entry in path.parent.iterdir())[:8]
    return f"{path.parent} holds: {', '.join(names) or 'nothing'}"


def game_arguments(
    executable: Sequence[str],
    *,
    port: int,
    worker: int,
    no_graphics: bool = False,
    log_folder: Path | None = None,
    additional: Sequence[str] = (),
) -> list[str]:
    """The command of a game, argument by argument (wire spec 1.2); no shell ever reads it.

    Args:
        executable: what to start, with the words that have to follow at once.
        port, worker, no_graphics, log_folder: what the game is told.
        additional: the user's arguments, which come last.
    """
    command = list(executable)
    if no_graphics:
        command += ["-nographics", "-batchmode"]
    command += ["--mlagents-port", str(port)]
    if log_folder is not None and not any(argument.lower() == "-logfile" for argument in additional):
        command += ["-logFile", str((log_folder / f"Player-{worker}.log").resolve())]
    return [*command, *additional]


def exit_in_words(code: int) -> str:
    """An exit code as people say it: the signal a process died of, or its number."""
    number = -code if code < 0 else code - 128
    if code < 0 or 128 < code < 160:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        meanings = {
            "SIGSEGV": "it crashed: a memory fault",
            "SIGKILL": "it was killed, often because memory ran out",
            "SIGABRT": "it gave up: an assertion or an unhandled error",
            "SIGTERM": "somebody asked it to end",
            "SIGILL": "it is built for another kind of processor",
            "SIGBUS": "it crashed: a memory fault or a full disk",
        }
        return f"exit code {code}, {name}" + (f": {meanings[name]}" if name in meanings else "")
    if code == 127:
        return "exit code 127: it could not be started"
    return f"exit code {code}" + (": it ended as if all were well" if code == 0 else "")


class GameProcess:
    """A running game.

    Args:
        command: the executable and its arguments.
        log_folder: where its output goes, as `Player-<worker>.output.log`; None keeps it in a temporary file.
        worker: the number of the game.

    Raises:
        GameError: the output file cannot be written.
    """

    def __init__(self, command: Sequence[str], *, log_folder: Path | None, worker: int) -> None:
        self.command = list(command)
        self._player_log = None if log_folder is None else log_folder / f"Player-{worker}.log"
        try:
            if log_folder is None:
                self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
            else:
                log_folder.mkdir(parents=True, exist_ok=True)
                output = log_folder / f"Player-{worker}.output.log"
                self._output = output.open("w+b")
        except OSError as error:
            raise GameError("the game's log cannot be written", where=str(log_folder), found=str(error)) from None
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, *self.command],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def poll(self) -> int | None:
        """The exit code once the game has ended."""
        return self._process.poll()

    def log_tail(self) -> str:
        """The last lines the game wrote, to its log or to its output; empty if it wrote nothing."""
        texts = []
        if self._player_log is not None and self._player_log.is_file():
            texts.append(_tail(self._player_log.read_bytes()))
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _TAIL_BYTES))
        texts.append(_tail(self._output.read()))
        return "\n".join(text for text in texts if text)

    def end(self, *, grace_s: float) -> int | None:
        """Waits for the game to end by itself, then kills it; gives its exit code."""
        try:
            self._process.wait(grace_s if grace_s > 0 else 0.0)
        except subprocess.TimeoutExpired:
            assert self._process.stdin is not None, "the pipe is what the guard watches"
            self._process.stdin.close()
            try:
                self._process.wait(2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._output.close()
        return self._process.returncode


def _tail(content: bytes) -> str:
    lines = content[-_TAIL_BYTES:].decode("utf-8", "replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:]).strip()
