"""Keys as they are pressed, without Enter, on a terminal of Linux, macOS or Windows."""

from __future__ import annotations

import os
import select
import sys
import time
from types import TracebackType

if sys.platform == "win32":
    import msvcrt
else:
    import termios
    import tty

__all__ = ["Keys", "names_of"]

_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_WINDOWS_ARROWS = {"H": "up", "P": "down", "M": "right", "K": "left"}
_NAMES = {" ": "space", "\x1b": "escape", "\t": "tab", "\r": "enter", "\n": "enter"}


def names_of(text: str) -> list[str]:
    """The keys behind what a terminal sends: letters in lower case, arrows by name; unknown sequences are left out."""
    keys: list[str] = []
    place = 0
    while place < len(text):
        if text[place] == "\x1b" and text[place + 1 : place + 2] in ("[", "O"):
            end = place + 2
            while end < len(text) and not text[end].isalpha() and text[end] != "~":
                end += 1
            if text[end : end + 1] in _ARROWS:
                keys.append(_ARROWS[text[end]])
            place = end + 1
            continue
        keys.append(_NAMES.get(text[place], text[place].lower()))
        place += 1
    return keys


class Keys:
    """Reads keys from the terminal on stdin; a context manager, which leaves the terminal as it was."""

    def __enter__(self) -> Keys:
        if sys.platform != "win32":
            self._file = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._file)
            tty.setcbreak(self._file)  # Ctrl-C still interrupts
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def pressed(self, *, within_s: float) -> list[str]:
        """The keys that are pressed within a time, in order; returns at the first ones."""
        keys: list[str] = []
        if sys.platform == "win32":
            deadline = time.monotonic() + within_s
            while not msvcrt.kbhit() and time.monotonic() < deadline:
                time.sleep(0.005)
            while msvcrt.kbhit():
                key = msvcrt.getwch()
                if key in ("\x00", "\xe0"):
                    key = msvcrt.getwch()
                    keys += [_WINDOWS_ARROWS[key]] if key in _WINDOWS_ARROWS else []
                else:
                    keys += names_of(key)
        elif select.select([self._file], [], [], max(0.0, within_s))[0]:
            keys = names_of(os.read(self._file, 1024).decode("utf-8", errors="ignore"))
        return keys
