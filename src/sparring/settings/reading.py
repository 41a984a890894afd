"""From settings files, presets and the command line to one checked `RunSettings`, every mistake told at once.

    tree = layered(preset("soccer_twos"), read_settings_file(path), assignment("env_settings.seed=7"))
    settings = validate_settings(tree)

A later layer wins over an earlier one, key by key. Where each value came from travels with the tree, so that a mistake
is told with its file and line.
"""

from __future__ import annotations

import importlib.resources
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sparring.errors import Finding, SettingsError, nearest
from sparring.settings._schema import (
    Kind,
    Unreadable,
    keys_of,
    kind_at,
    kind_of_model,
    sections_with_key,
    typed,
    value_at,
)
from sparring.settings._yaml import Path, parse_yaml
from sparring.settings.files import SettingsTree, read_plain_file, tree_of
from sparring.settings.older import Upgrade, is_older, upgraded
from sparring.settings.run import RunSettings

__all__ = [
    "SettingsTree",
    "assignment",
    "current_tree",
    "layered",
    "preset",
    "read_settings_file",
    "read_settings_text",
    "tree_with",
    "upgraded_trees",
    "validate_settings",
]

_KEY = re.compile(r'"((?:[^"\\]|\\.)+)"|([^."=]+)')
_ASSIGNED = re.compile(rf"((?:{_KEY.pattern})(?:\.(?:{_KEY.pattern}))*)=")
_log = logging.getLogger(__name__)


def read_settings_file(
    path: FilePath | str, *, curriculum: FilePath | str | None = None, sampler: FilePath | str | None = None
) -> SettingsTree:
    """The settings of a YAML file, not checked yet; older generations are read too, with one notice.

    Args:
        path: the file.
        curriculum, sampler: files that stood beside those of 0.15 and 0.16.

    Raises:
        SettingsError: a file is missing, is no text, no YAML, says something twice, or can't be read as it was meant.
    """
    trees = {"settings": read_plain_file(path)}
    if not trees["settings"]:
        _log.warning("%s holds no settings", path)
    trees |= {name: read_plain_file(file) for name, file in (("curriculum", curriculum), ("sampler", sampler)) if file}
    return _as_current(trees, str(path)) if len(trees) > 1 or is_older(trees["settings"]) else trees["settings"]


def _as_current(trees: Mapping[str, SettingsTree], source: str) -> SettingsTree:
    """Settings of an older generation in the current one; says so."""
    upgrade = upgraded_trees(trees)
    _log.warning(
        "%s is of an older generation and is read as the current one (to convert it: sparring upgrade-config)%s",
        source,
        "".join(f"\n  {note}" for note in upgrade.notes),
    )
    return current_tree(upgrade, trees)


def current_tree(upgrade: Upgrade, trees: Mapping[str, SettingsTree]) -> SettingsTree:
    """What an upgrade came to, each place with where it stands in the older files."""
    origins = {place: trees[file].origins.get(path) for place, (file, path) in upgrade.sources.items()}
    return SettingsTree(upgrade.tree, origins={place: where for place, where in origins.items() if where})


def upgraded_trees(trees: Mapping[str, SettingsTree]) -> Upgrade:
    """The files `settings`, and where given `curriculum` and `sampler`, as one of the current generation.

    Raises:
        SettingsError: what can't be read as it was meant, everything at once.
    """
    return upgraded(
        trees["settings"],
        curriculum=trees.get("curriculum"),
        sampler=trees.get("sampler"),
        origins={(name, path): where for name, tree in trees.items() for path, where in tree.origins.items()},
    )


def read_settings_text(text: str, *, source: str) -> SettingsTree:
    """The settings of a YAML text, not checked yet; `source` names it in messages.

    Raises:
        SettingsError: it is no YAML, or says something twice.
    """
    return tree_of(text, source=source)


def preset(world: str) -> SettingsTree:
    """The settings Sparring proposes for a built-in world; empty for a world without any."""
    file = importlib.resources.files("sparring.settings").joinpath("presets", f"{world}.yaml")
    # The name may come from anywhere; only names of worlds are looked up, so none leads out of the folder.
    if not re.fullmatch(r"[a-z0-9_]+", world, re.ASCII) or not file.is_file():
        return SettingsTree()
    return tree_of(file.read_text(encoding="utf-8"), source=f"preset {world}")


def assignment(text: str, *, source: str = "--set") -> SettingsTree:
    """The tree that `a.b.c=value` sets one value in.

    Keys with dots in them stand in double quotes: `behaviors."My.Behavior".max_steps=5e5`. The value is read as in a
    settings file.

    Raises:
        SettingsError: it does not have this form.
    """
    path = _ASSIGNED.match(text)
    if path is None:
        raise SettingsError(
            "this sets nothing",
            where=source,
            found=repr(text),
            expected="a path and a value, as in behaviors.Striker.max_steps=1e6",
        )
    keys = [re.sub(r"\\(.)", r"\1", quoted) if quoted else plain.strip() for quoted, plain in _KEY.findall(path[1])]
    value, _ = parse_yaml(text[path.end() :], source=source)
    return tree_with(keys, value, source=source)


def tree_with(path: Sequence[str], value: object, *, source: str) -> SettingsTree:
    """The tree that sets one value; `source` names in messages who sets it."""
    origins: dict[Path, str] = {tuple(path[: end + 1]): source for end in range(len(path))}
    tree: Any = value
    for key in reversed(path):
        tree = {key: tree}
    return SettingsTree(tree, origins=origins)


def layered(*trees: Mapping[str, Any]) -> SettingsTree:
    """The trees laid over each other: a later value wins, sections are merged key by key.

    An empty section leaves what earlier layers set in it; where a section may be switched off, null does so.
    """
    result = SettingsTree()
    for tree in trees:
        origins = tree.origins if isinstance(tree, SettingsTree) else {}
        _lay_over(result, tree, (), result.origins, origins)
    return result


def validate_settings(tree: Mapping[str, Any], *, source: str = "settings") -> RunSettings:
    """The checked settings.

    Args:
        tree: What the user and the presets set.
        source: What messages call the origin of values that have none of their own.

    Raises:
        SettingsError: has a finding for every mistake: where it is, what was found, what is allowed, the nearest key.
    """
    root = kind_of_model(RunSettings)
    origins = dict(tree.origins) if isinstance(tree, SettingsTree) else {}
    given: dict[str, Any] = {
        key: _copied(value) for key, value in tree.items() if value is not None or _may_be_null((key,))
    }
    _lay_over_defaults(given, origins)
    findings = list(_misplaced_sections(given, root, origins, source))
    try:
        settings = RunSettings.model_validate(typed(given, root))
    except ValidationError as error:
        unknown = [detail for detail in error.errors(include_url=False) if detail["type"] == "extra_forbidden"]
        for detail in unknown:
            _remove(given, detail["loc"])
        details = [*unknown, *_without_misspelt(_errors_of(given, root), unknown, root, given)]
        findings += [_finding(detail, root, origins, source, given) for detail in details]
        settings = None
    if findings or settings is None:
        order = {where: number for number, where in enumerate(origins.values())}
        raise SettingsError(sorted(findings, key=lambda finding: order.get(finding.where, -1)))
    return settings


def _errors_of(tree: Mapping[str, Any], root: Kind) -> list[ErrorDetails]:
    """The mistakes in a tree without unknown keys: with one, checks of a section as a whole would not be made."""
    try:
        RunSettings.model_validate(typed(tree, root))
    except ValidationError as error:
        return list(_told_once(error.errors(include_url=False), tree))
    return []


def _without_misspelt(
    details: list[ErrorDetails], unknown: list[ErrorDetails], root: Kind, tree: Mapping[str, Any]
) -> Iterator[ErrorDetails]:
    """Leaves out what is missing only because it was misspelt, which is told already."""
    meant = set()
    for detail in unknown:
        *parent, key = detail["loc"]
        meant |= {(*parent, name) for name in nearest(str(key), keys_of(kind_at(root, parent, tree)), limit=1)}
    for detail in details:
        if detail["type"] != "missing" or detail["loc"] not in meant:
            yield detail


def _misplaced_sections(tree: dict[str, Any], root: Kind, origins: dict[Path, str], source: str) -> Iterator[Finding]:
    """Tells what stands among the behaviors but is a key of each: it lacks an indentation.

    Moves it to where it was probably meant, so that mistakes within it are told too.
    """
    behaviors = tree.get("behaviors")
    if not isinstance(behaviors, dict):
        return
    for name in [name for name in behaviors if name in keys_of(kind_at(root, ("behaviors", name)))]:
        section = behaviors.pop(name)
        where = origins.get(("behaviors", name), source)
        home = _behavior_above(name, behaviors, origins)
        yield Finding(
            f"{name!r} is no behavior", where, cure=f"did you mean to indent it under {home}?" if home else ""
        )
        if home and isinstance(behaviors[home], dict):
            behaviors[home][name] = section
            moved = {path[1:]: where for path, where in origins.items() if path[:2] == ("behaviors", name)}
            origins.update({("behaviors", home, *path): where for path, where in moved.items()})


def _behavior_above(name: str, behaviors: Mapping[str, Any], origins: Mapping[Path, str]) -> str | None:
    """The behavior that stands before `name` in the same file."""
    above = None
    file = _file_of(origins.get(("behaviors", name), ""))
    for path, where in origins.items():
        if path == ("behaviors", name):
            break
        if path[:1] == ("behaviors",) and len(path) == 2 and path[1] in behaviors and _file_of(where) == file:
            above = str(path[1])
    return above


def _file_of(origin: str) -> str:
    return re.sub(r":\d+:\d+$", "", origin)


def _remove(tree: dict[str, Any], path: Path) -> None:
    node: Any = tree
    for key in path[:-1]:
        node = node[key]
    node.pop(path[-1], None)


def _lay_over(
    below: dict[str, Any],
    above: Mapping[str, Any],
    path: Path,
    origins: dict[Path, str],
    new_origins: Mapping[Path, str],
) -> None:
    """Lays `above` over `below` in place; nothing of `above` is shared with the result."""
    if "trainer_type" in above and above["trainer_type"] != below.get("trainer_type", "ppo"):
        # The hyperparameters of one algorithm say nothing about another, even where they have the same names.
        below.pop("hyperparameters", None)
        _forget(origins, (*path, "hyperparameters"))
    for key, value in above.items():
        place = (*path, key)
        earlier = below.get(key)
        if value is None and isinstance(earlier, dict) and not _may_be_null(place):
            continue
        if not (isinstance(value, Mapping) and isinstance(earlier, dict)):
            _forget(origins, place)
            origins.update({known: where for known, where in new_origins.items() if known[: len(place)] == place})
            below[key] = _copied(value)
            continue
        if place in new_origins:
            origins[place] = new_origins[place]
        _lay_over(earlier, value, place, origins, new_origins)


def _forget(origins: dict[Path, str], place: Path) -> None:
    """Forgets where the values at and below a place came from."""
    for stale in [known for known in origins if known[: len(place)] == place]:
        del origins[stale]


def _lay_over_defaults(tree: dict[str, Any], origins: dict[Path, str]) -> None:
    """Lays each behavior over `default_settings`, in place: what it does not say is said there."""
    defaults, behaviors = tree.get("default_settings"), tree.get("behaviors")
    if not isinstance(defaults, dict) or not isinstance(behaviors, dict):
        return
    inherited = {path[1:]: where for path, where in origins.items() if path[:1] == ("default_settings",)}
    for name, section in behaviors.items():
        if isinstance(section, dict):
            merged = SettingsTree()
            _lay_over(merged, defaults, (), merged.origins, inherited)
            _lay_over(merged, section, (), {}, {})
            behaviors[name] = dict(merged)
            for path, where in inherited.items():
                origins.setdefault(("behaviors", name, *path), where)


def _copied(value: Any) -> Any:  # noqa: ANN401 - a settings value is anything
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, (list, tuple)) else value


def _may_be_null(path: Path) -> bool:
    kind = kind_at(kind_of_model(RunSettings), path)
    return kind is not None and kind.nullable


def _told_once(details: list[ErrorDetails], tree: Mapping[str, Any]) -> Iterator[ErrorDetails]:
    """Leaves out errors of keys that nobody set, where they only repeat a wrong value another key was given."""
    given = [detail for detail in details if _is_given(tree, detail["loc"])]
    for detail in details:
        is_echo = detail not in given and any(
            detail["loc"][:-1] == other["loc"][:-1] and detail["input"] is other["input"] for other in given
        )
        if not is_echo:
            yield detail


def _is_given(node: object, path: Path) -> bool:
    if not path:
        return True
    key, *below = path
    if isinstance(node, Mapping):
        return key in node and _is_given(node[key], tuple(below))
    if isinstance(node, (list, tuple)):
        return isinstance(key, int) and key < len(node) and _is_given(node[key], tuple(below))
    return False


def _finding(
    detail: ErrorDetails, root: Kind, origins: Mapping[Path, str], source: str, tree: Mapping[str, Any]
) -> Finding:
    path = tuple(key for key in detail["loc"] if key != "[key]")
    where = next((origins[path[:end]] for end in range(len(path), 0, -1) if path[:end] in origins), source)
    name = _dotted(path)
    if detail["type"] == "extra_forbidden":
        return _unknown_key(path, root, where, tree)
    if detail["type"] == "value_error":  # a check of ours: its words say what was found and what is allowed
        return Finding(f"{name}: {detail['ctx']['error']}" if name else str(detail["ctx"]["error"]), where)
    if detail["type"] == "missing":
        return Finding(f"{name} is missing", where)
    value = detail["input"].value if isinstance(detail["input"], Unreadable) else detail["input"]
    kind = kind_at(root, path, tree)
    cure = ""
    if detail["type"] == "choice":
        choices = detail["ctx"]["choices"]
        like = nearest(str(value), choices.split(", "))
        cure = f"did you mean {like[0]!r}?" if like else ""
        return Finding(f"{name} has a wrong value", where, _shown(value), f"one of {choices}", cure)
    if detail["type"] == "literal_error" and isinstance(value, str):
        like = nearest(value, (choice.strip("'") for choice in re.findall(r"'[^']*'", detail["ctx"]["expected"])))
        cure = f"did you mean {like[0]!r}?" if like else ""
    expected = str(kind) if kind is not None else detail["msg"]
    return Finding(f"{name or 'the whole'} has a wrong value", where, _shown(value), expected, cure)


def _unknown_key(path: Path, root: Kind, where: str, tree: Mapping[str, Any]) -> Finding:
    parent, key = path[:-1], str(path[-1])
    kind = kind_at(root, parent, tree)
    known = keys_of(kind)
    section: object = tree
    for step in parent:
        section = value_at(section, step)
    homes = list(sections_with_key(kind, key, section)) if kind is not None else []
    like = nearest(key, known)
    told = kind.section.cure_for_unknown(key) if kind is not None and kind.section is not None else ""
    if told:
        cure = told
    elif homes:
        cure = f"it belongs in {_dotted((*parent, homes[0]))}"
    elif like:
        cure = f"did you mean {like[0]!r}?"
    else:
        cure = f"known there: {', '.join(known)}"
    return Finding(f"unknown key {key!r} in {_dotted(parent) or 'the settings'}", where, cure=cure)


def _dotted(path: Path) -> str:
    return ".".join(f'"{key}"' if "." in str(key) and index < 2 else str(key) for index, key in enumerate(path))


def _shown(value: object) -> str:
    """A value short enough for a message."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = "null" if value is None else value if isinstance(value, str) else repr(value)
    text = repr(text) if not text.isprintable() or not text.strip() else text
    return text if len(text) <= 60 else f"{text[:57]}..."
