"""A file that only grows and can be cut back to a remembered length."""

from __future__ import annotations

import io
import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from sparring.statistics._state import StateTree

__all__ = ["AppendedFile", "Mark", "is_plain_name", "set_aside"]

logger = logging.getLogger(__name__)

_PORTION = 1 << 20


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file to come back to."""

    name: str
    """The file's name without its folder, so that a run folder can be moved."""
    length: int
    """Bytes up to the place."""
    checksum: int
    """CRC-32 of those bytes: a file that someone exchanged is not taken for ours and cut."""

    def state(self) -> StateTree:
        """The mark as a state tree."""
        return {"name": self.name, "length": self.length, "checksum": self.checksum}

    @classmethod
    def from_state(cls, state: StateTree) -> Mark:
        """The mark that gave `state`."""
        return cls(name=str(state["name"]), length=int(state["length"]), checksum=int(state["checksum"]))


class AppendedFile:
    """An open file whose every append is there as a whole or not at all."""

    def __init__(self, path: Path, *, length: int = 0, checksum: int = 0) -> None:
        """Opens `path`, whose first `length` bytes have the `checksum`; what lies behind them is cut off."""
        self.path = path
        self.length = length
        self._checksum = checksum
        # Unbuffered: what `append` has taken survives the death of the process.
        self._file: io.FileIO = path.open("ab", buffering=0)
        self._is_torn = True
        try:
            self._mend()
        except OSError:
            self._file.close()
            raise

    @classmethod
    def create(cls, path: Path) -> AppendedFile:
        """A new empty file; there must be none.

        Raises:
            FileExistsError: there is one.
        """
        path.touch(exist_ok=False)
        return cls(path)

    @classmethod
    def cut_back(cls, folder: Path, mark: Mark) -> AppendedFile | None:
        """The file in `folder` that `mark` names, cut back to it; None where it is not there or begins differently."""
        path = folder / mark.name
        if not is_plain_name(mark.name) or not path.is_file():
            return None
        if _checksum(path, mark.length) != mark.checksum:
            return None
        return cls(path, length=mark.length, checksum=mark.checksum)

    def append(self, content: bytes) -> None:
        """Puts `content` at the end.

        Raises:
            OSError: it does not fit or the file is gone; nothing of it stays.
        """
        self._mend()
        # A part that got through before an error or an interrupt would make everything behind it unreadable.
        self._is_torn = True
        view = memoryview(content)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self._try_to_mend()
            raise
        self._is_torn = False
        self.length += len(content)
        self._checksum = zlib.crc32(content, self._checksum)

    def mark(self) -> Mark:
        """The end of what was appended, brought to the disk as far as the system allows."""
        if not self._file.closed:
            self._try_to_mend()
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                # Costs points only if the machine fails as well, and then `cut_back` sees that they are missing.
                logger.debug("%s can not be synchronized: %s", self.path, error)
        return Mark(self.path.name, self.length, self._checksum)

    def close(self) -> None:
        """Closes the file; twice is allowed."""
        if not self._file.closed:
            self._try_to_mend()
            self._file.close()

    def _mend(self) -> None:
        if self._is_torn:
            self._file.truncate(self.length)
            self._is_torn = False

    def _try_to_mend(self) -> None:
        try:
            self._mend()
        except OSError as error:
            logger.debug("%s can not be cut back now; the next append tries again: %s", self.path, error)


def is_plain_name(name: str) -> bool:
    """Whether a name read from a checkpoint stays in its folder."""
    return name not in {"", ".", ".."} and not set(name) & set("/\\:\0")


def set_aside(path: Path, *, hide: str = "") -> Path:
    """Renames a file that is in the way to a free name beside it; nothing is deleted.

    Args:
        path: the file.
        hide: a part of the name to leave out, so that readers that look for it pass the file over.

    Gives:
        The new path.
    """
    stem, suffix = (path.stem, path.suffix) if not hide else (path.name.replace(hide, "events"), "")
    number = 1
    while (aside := path.with_name(f"{stem}.earlier-{number}{suffix}")).exists():
        number += 1
    return path.rename(aside)


def _checksum(path: Path, length: int) -> int | None:
    """CRC-32 of the first `length` bytes; None for a shorter file."""
    checksum, left = 0, length
    with path.open("rb") as file:
        while left:
            portion = file.read(min(left, _PORTION))
            if not portion:
                return None
            checksum = zlib.crc32(portion, checksum)
            left -= len(portion)
    return checksum
