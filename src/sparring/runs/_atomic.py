"""Files that are complete or not there: written beside, flushed, renamed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from pathlib import Path

__all__ = ["remove_leftovers", "replace_file"]

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{12}\.part")
_RENAME_TRIES = 6
_RENAME_PAUSE_S = 0.05


def replace_file(path: Path, content: bytes) -> None:
    """Writes `path` so that a kill or a power cut at any instant leaves the old content or the new one, never half.

    Raises:
        OSError: nothing was changed, and nothing is left beside.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell; a leftover is swept at the next start
            beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def remove_leftovers(folder: Path) -> list[Path]:
    """Removes what killed writers left beside; only for whoever holds the folder's lock. Returns what was removed."""
    removed = []
    for entry in folder.glob(".*.part"):
        if _LEFTOVER.fullmatch(entry.name) and entry.is_file():
            entry.unlink(missing_ok=True)
            removed.append(entry)
    return removed


def _rename(source: Path, target: Path) -> None:
    """Renames over the target; on Windows waits a moment for a reader (a virus scanner, say) that holds it open."""
    tries = _RENAME_TRIES if os.name == "nt" else 1
    while not _renamed(source, target, is_last_try=tries == 1):
        tries -= 1
        time.sleep(_RENAME_PAUSE_S)


def _renamed(source: Path, target: Path, *, is_last_try: bool) -> bool:
    try:
        source.replace(target)
    except PermissionError:
        if is_last_try:
            raise
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power cut, where the system lets a folder be flushed (Windows does not)."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):  # some network disks refuse it; the file itself is flushed already
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
