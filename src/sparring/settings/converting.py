"""A settings file of an older generation as the text of one of the current generation, comments included."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from sparring.settings._schema import value_at
from sparring.settings._yaml import Path
from sparring.settings.files import decoded, read_plain_file
from sparring.settings.older import Upgrade, is_older
from sparring.settings.reading import current_tree, upgraded_trees, validate_settings

__all__ = ["converted"]

_INDENT = 2


def converted(
    old: FilePath, *, curriculum: FilePath | None = None, sampler: FilePath | None = None
) -> tuple[bytes, list[str]]:
    """The content of a file of the current generation that says what older ones did, and what was left away.

    A file that is of the current generation comes out as it is, byte by byte.

    Raises:
        SettingsError: a file can't be read, or what it says is no valid settings.
    """
    files = {"settings": old}
    files |= {name: path for name, path in (("curriculum", curriculum), ("sampler", sampler)) if path is not None}
    trees = {name: read_plain_file(path) for name, path in files.items()}
    if len(trees) == 1 and not is_older(trees["settings"]):
        return old.read_bytes(), []
    upgrade = upgraded_trees(trees)
    validate_settings(current_tree(upgrade, trees))
    documents = {name: _document(path) for name, path in files.items()}
    written = _Writing(upgrade, documents).node(upgrade.tree, ())
    head = getattr(documents["settings"], "ca", None)
    if head is not None and head.comment is not None:
        written.ca.comment = head.comment
    text = io.StringIO()
    _yaml().dump(written, text)
    return text.getvalue().encode(), upgrade.notes


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=_INDENT, sequence=2 * _INDENT, offset=_INDENT)
    return yaml


def _document(path: FilePath) -> Any:  # noqa: ANN401 - a YAML value is anything
    """A file with its comments, numbers as they were written."""
    yaml = _yaml()
    yaml.preserve_quotes = True
    return yaml.load(decoded(path.read_bytes(), source=str(path)))


class _Writing:
    """Puts a tree together from the pieces of the documents it came from."""

    def __init__(self, upgrade: Upgrade, documents: Mapping[str, Any]) -> None:
        self._sources = upgrade.sources
        self._made = upgrade.made
        self._documents = documents

    def node(self, value: Any, place: Path) -> Any:  # noqa: ANN401 - a YAML value is anything
        """A value with the comments of the keys it is made of."""
        if isinstance(value, Mapping):
            section = CommentedMap()
            for key, item in value.items():
                section[key] = self.node(item, (*place, key))
                self._take_comment(section, key, (*place, key))
            return section
        if isinstance(value, list):
            items = CommentedSeq([self.node(item, (*place, index)) for index, item in enumerate(value)])
            if not any(isinstance(item, Mapping) for item in value):
                items.fa.set_flow_style()
            return items
        found = None if place in self._made else self._original(place)
        if found is None or isinstance(found, Mapping | list):
            return YAML(typ="safe").load(value) if isinstance(value, str) else value
        return found

    def _original(self, place: Path) -> Any:  # noqa: ANN401 - a YAML value is anything
        file, path = self._sources.get(place, ("", ()))
        node = self._documents.get(file)
        for key in path:
            node = value_at(node, key)
        return node

    def _take_comment(self, section: CommentedMap, key: str, place: Path) -> None:
        """Carries the comment of a key over, to the first place its value went to."""
        file, path = self._sources.get(place, ("", ()))
        if not path:
            return
        node = self._documents.get(file)
        for step in path[:-1]:
            node = value_at(node, step)
        comments = getattr(node, "ca", None)
        if comments is not None and path[-1] in comments.items:
            section.ca.items[key] = comments.items.pop(path[-1])
