"""Turns names that people choose into names of files and folders.

Run ids and behavior names are data: they may hold slashes, dots, any script, or be the name of a device. What comes
out of here is one path component on every system Sparring runs on, and never leads out of its folder.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterable, Iterator

__all__ = ["MAX_BYTES", "distinct_name", "folder_key", "safe_name"]

MAX_BYTES = 100
"""Longest safe name in UTF-8: leaves room for endings below the usual 255, and for the path below Windows' 260."""

_KEPT_PUNCTUATION = frozenset("-_. ")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul"] + [port + digit for port in ("com", "lpt") for digit in "0123456789\u00b9\u00b2\u00b3"]
)


def safe_name(name: str, *, taken: Iterable[str] = ()) -> str:
    """The name of the file or folder that belongs to `name`; ordinary names stay as they are.

    Letters, marks and digits of every script, `-`, `_`, dots and spaces inside are kept. Everything else becomes `%XX`
    for each byte of its UTF-8. Names that would grow too long, and names that a disk could mistake for another
    because of their Unicode form, end in `~` and a digest. So different names give different results, but for a
    collision of an 80-bit digest.

    Args:
        name: Any text, also empty.
        taken: Entries of the folder the name is meant for. If one of them differs from the result only in case, which
            some disks do not tell apart, the result carries the digest too. Pass the folder's listing and the answer
            stays the same once the folder exists.
    """
    escaped = "".join(_escaped(name))
    if not name or len(escaped.encode()) > MAX_BYTES or unicodedata.normalize("NFC", name) != name:
        return distinct_name(name)
    key, composed = folder_key(escaped), unicodedata.normalize("NFC", escaped)
    # Some disks list their entries decomposed, so an entry is compared in its composed form.
    if any(unicodedata.normalize("NFC", entry) != composed and folder_key(entry) == key for entry in taken):
        return distinct_name(name)
    return escaped


def distinct_name(name: str) -> str:
    """The safe name with a digest of `name`, for where the plain one means something else already."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    mark = "~" + base64.b32encode(digest).decode("ascii").lower()
    kept: list[str] = []
    room = MAX_BYTES - len(mark)
    for piece in _escaped(name):
        room -= len(piece.encode())
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + mark


def folder_key(entry: str) -> str:
    """What is equal for two entries that some disk takes for the same one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", entry).casefold())


def _escaped(name: str) -> Iterator[str]:
    """The name piece by piece: each a character that may stay, or its escape, never half of one."""
    last = len(name) - 1
    for index, character in enumerate(name):
        at_edge = index in (0, last)
        if index == 0 and _is_device(name):
            yield _percent(character)
        elif character in _KEPT_PUNCTUATION:
            # Edges: '.' and '..' lead elsewhere, '.x' is hidden, '-x' looks like an option, and Windows drops
            # dots and spaces at the end. An underscore is harmless anywhere.
            yield _percent(character) if at_edge and character != "_" else character
        elif unicodedata.category(character)[0] in "LMN":
            yield character
        else:
            yield _percent(character)


def _is_device(name: str) -> bool:
    """Whether Windows reads the name as a device, whatever ending it has."""
    return name.split(".", 1)[0].rstrip(" ").casefold() in _DEVICES


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
