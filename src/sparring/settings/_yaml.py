"""Reads YAML into plain dictionaries and lists, with the place of every key; the only place that knows ruamel's API.

Scalars stay the text they were written as, but for null: what a value should be is known by the settings, not by the
file. So `run_id: 007` keeps its zeros, and `yes` is a truth only where a truth is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sparring.errors import Finding, SettingsError

__all__ = ["Path", "Position", "parse_yaml"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the root to one place in a tree."""

_MAX_CHARACTERS = 4_000_000
_MAX_NODES = 200_000  # far above any real file; an alias of aliases of aliases gets there at once
_NULL, _MERGE = "tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"
_KINDS = ("map", "seq", "str", "int", "float", "bool", "null", "merge", "timestamp")
_KNOWN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in _KINDS)


Position: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""


def parse_yaml(text: str, *, source: str) -> tuple[Any, dict[Path, Position]]:
    """The value of a YAML text and the position of every key and list item in it.

    Args:
        text: One document; empty gives None.
        source: What messages call it.

    Raises:
        SettingsError: every duplicate key, unknown tag and key that is no text at once, or the place where the text is
            no YAML, or one too large or too deep.
    """
    if len(text) > _MAX_CHARACTERS:
        raise SettingsError("the file is too large", where=source, found=f"{len(text)} characters")
    try:
        root = YAML().compose(text)
        reading = _Reading(source)
        value = None if root is None else reading.value(root, ())
    except MarkedYAMLError as error:
        raise SettingsError([_syntax_finding(error, source)]) from None
    except YAMLError as error:
        raise SettingsError("the file is not YAML", where=source, found=" ".join(str(error).split())) from None
    except RecursionError:
        raise SettingsError("the file is nested too deeply", where=source) from None
    if reading.findings:
        raise SettingsError(reading.findings)
    return value, reading.positions


def _syntax_finding(error: MarkedYAMLError, source: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    where = source if mark is None else f"{source}:{mark.line + 1}:{mark.column + 1}"
    problem = str(error.problem or error.context)
    cure = "a tab is used for indentation; use spaces, for YAML knows no tabs" if "\\t" in problem else ""
    return Finding("the file is not YAML", where=where, found=problem, cure=cure)


@dataclass
class _Reading:
    """One pass over the nodes of a document; collects positions and mistakes."""

    source: str
    positions: dict[Path, Position] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    open_nodes: list[Node] = field(default_factory=list)
    num_nodes: int = 0

    def value(self, node: Node, path: Path) -> Any:  # noqa: ANN401 - a YAML value is anything
        self.num_nodes += 1
        if self.num_nodes > _MAX_NODES:
            raise SettingsError("the file grows too large through its aliases", where=self._where(node))
        if any(node is parent for parent in self.open_nodes):
            raise SettingsError("an alias stands within what it stands for", where=self._where(node))
        self._check_tag(node)
        if isinstance(node, ScalarNode):
            return None if str(node.tag) == _NULL else str(node.value)
        self.open_nodes.append(node)
        try:
            if isinstance(node, SequenceNode):
                return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self.open_nodes.pop()

    def _item(self, node: Node, path: Path) -> Any:  # noqa: ANN401 - a YAML value is anything
        self.positions[path] = _position(node)
        return self.value(node, path)

    def _mapping(self, node: Node, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if str(key_node.tag) == _MERGE:
                for piece in self._merged(value_node, path):
                    merged = {**piece, **merged}  # of several, the first one named wins
                continue
            if not isinstance(key_node, ScalarNode):
                self.findings.append(Finding("a key must be a single text", where=self._where(key_node)))
                continue
            key = str(key_node.value)
            if key in own:
                first = self.positions[(*path, key)][0]
                self.findings.append(
                    Finding(f"key {key!r} is given twice", self._where(key_node), cure=f"the first is on line {first}")
                )
                continue
            self.positions[(*path, key)] = _position(key_node)
            own[key] = self.value(value_node, (*path, key))
        return {**merged, **own}

    def _merged(self, node: Node, path: Path) -> Iterator[dict[str, Any]]:
        """The mappings that `<<` takes in."""
        for piece in node.value if isinstance(node, SequenceNode) else [node]:
            if isinstance(piece, MappingNode):
                own = dict(self.positions)
                yield self.value(piece, path)
                self.positions.update(own)  # a key of its own stands nearer than the merged one
            else:
                self.findings.append(Finding("<< takes in a section or a list of sections", where=self._where(piece)))

    def _check_tag(self, node: Node) -> None:
        tag = str(node.tag)
        if tag not in _KNOWN_TAGS:
            self.findings.append(
                Finding(
                    "settings are plain values; a tag has no meaning here", where=self._where(node), found=f"!<{tag}>"
                )
            )

    def _where(self, node: Node) -> str:
        line, column = _position(node)
        return f"{self.source}:{line}:{column}"


def _position(node: Node) -> Position:
    return int(node.start_mark.line) + 1, int(node.start_mark.column) + 1
