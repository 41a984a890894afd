"""Starting a game as a child process, watching it and ending it; nothing is left behind, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO

from sparring.environments.unity import guard
from sparring.errors import GameError

__all__ = ["GameProcess", "exit_in_words"]

_WINDOWS: Mapping[int, str] = MappingProxyType(
    {
        0xC0000005: "it crashed: a memory fault (access violation)",
        0xC000001D: "it is built for another kind of processor",
        0xC0000094: "it crashed: a division by zero",
        0xC00000FD: "it crashed: its stack overflowed",
        0xC0000135: "a library it needs is missing",
        0xC0000142: "a library it needs could not be started",
        0xC000013A: "somebody asked it to end",
        0xC0000374: "it crashed: its memory was damaged",
        0xC0000409: "it crashed: its memory was damaged, or it gave up",
    }
)
"""What Windows says with the codes of processes that crash."""
_SIGNALS: Mapping[str, str] = MappingProxyType(
    {
        "SIGSEGV": "it crashed: a memory fault",
        "SIGKILL": "it was killed, often because memory ran out",
        "SIGABRT": "it gave up: an assertion or an unhandled error",
        "SIGTERM": "somebody asked it to end",
        "SIGILL": "it is built for another kind of processor",
        "SIGBUS": "it crashed: a memory fault or a full disk",
    }
)
_TAIL_BYTES = 4096
_TAIL_LINES = 12


def exit_in_words(code: int) -> str:
    """An exit code as people say it: the signal a process died of, or its number."""
    status = code % (1 << 32)
    if status in _WINDOWS:
        return f"exit code {status}: {_WINDOWS[status]}"
    if code < 0 or 128 < code < 160:
        number = -code if code < 0 else code - 128
        try:
            name = signal.Signals(number).name
        except ValueError:
            return f"exit code {code}"
        return f"exit code {code}, {name}" + (f": {_SIGNALS[name]}" if name in _SIGNALS else "")
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
