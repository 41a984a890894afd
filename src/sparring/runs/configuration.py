"""The settings in force, as the text of `configuration.yaml`: every value, and where it came from."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from sparring.settings import RunSettings

__all__ = ["configuration_text", "same_settings"]


def configuration_text(settings: RunSettings, origins: Mapping[tuple[str | int, ...], str] | None = None) -> str:
    """The settings as a settings file that trains the same run again.

    `resume` and `force` say how one process began, not what the run is; they are written as false, so that handing
    the file in again neither resumes nor moves a run aside.

    Args:
        settings: The checked settings.
        origins: Where values came from, by path, as `SettingsTree.origins` has it; values without one are defaults.
    """
    tree = settings.model_dump(mode="json")
    tree["checkpoint_settings"] |= {"resume": False, "force": False}
    text = io.StringIO()
    yaml = YAML()
    yaml.width = 4096  # a folded line would carry its comment to the wrong place
    yaml.dump(_commented(tree, (), origins or {}), text)
    return text.getvalue()


def same_settings(one: str, other: str) -> bool:
    """Whether two configuration texts differ in nothing but where values came from."""
    try:
        return bool(YAML(typ="safe").load(one) == YAML(typ="safe").load(other))
    except YAMLError:
        return one == other


def _commented(node: Any, path: tuple[str | int, ...], origins: Mapping[tuple[str | int, ...], str]) -> Any:  # noqa: ANN401
    if isinstance(node, list):
        items = CommentedSeq(node)
        items.fa.set_flow_style()
        return items
    if not isinstance(node, dict):
        return node
    section = CommentedMap()
    for key, value in node.items():
        place = (*path, key)
        section[key] = _commented(value, place, origins)
        if place in origins and not isinstance(value, dict):
            section.yaml_add_eol_comment(origins[place].replace("\n", " "), key, column=0)
    return section
