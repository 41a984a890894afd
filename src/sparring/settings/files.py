"""Settings files as they stand on disk: bytes to text to nested dictionaries, with the place of every key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from sparring.errors import SettingsError, nearest
from sparring.settings._yaml import Path, parse_yaml

__all__ = ["SettingsTree", "decoded", "read_plain_file", "tree_of"]

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class SettingsTree(dict[str, Any]):
    """Settings not checked yet, as nested dictionaries; values may still be the text they were written as."""

    def __init__(self, tree: Mapping[str, Any] | None = None, *, origins: Mapping[Path, str] | None = None) -> None:
        super().__init__(tree or {})
        self.origins: dict[Path, str] = dict(origins or {})
        """Where each key came from, such as `strikers.yaml:14` or `--set`, by its path from the root."""


def read_plain_file(path: FilePath | str) -> SettingsTree:
    """What a YAML file says, as it stands there.

    Raises:
        SettingsError: the file is missing, is no text, no YAML, or says something twice.
    """
    file = FilePath(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        like = nearest(file.name, _yaml_names(file.parent))
        cure = f"did you mean {file.with_name(like[0])}?" if like else ""
        raise SettingsError(
            "the settings file cannot be read", where=str(path), found=error.strerror or str(error), cure=cure
        ) from None
    return tree_of(decoded(content, source=str(path)), source=str(path))


def _yaml_names(folder: FilePath) -> list[str]:
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.suffix in {".yaml", ".yml"}]


def decoded(content: bytes, *, source: str) -> str:
    """The text of a file: UTF-8, or UTF-16 with a mark.

    Raises:
        SettingsError: it is something else; names the first byte that can't be read.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise SettingsError(
            "the file is not UTF-8",
            where=f"{source}:{line}:{column}",
            found=f"byte 0x{content[error.start]:02x} at position {error.start}",
            cure="save it as UTF-8, or as UTF-16 with a byte order mark",
        ) from None


def tree_of(text: str, *, source: str) -> SettingsTree:
    """The tree of a YAML text; `source` names it in messages.

    Raises:
        SettingsError: it is no YAML, says something twice, or holds no sections.
    """
    value, positions = parse_yaml(text, source=source)
    if value is None:
        return SettingsTree()
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise SettingsError("the file does not hold settings", where=source, found=kind, expected="sections with keys")
    return SettingsTree(
        value, origins={path: f"{source}:{line}:{column}" for path, (line, column) in positions.items()}
    )
