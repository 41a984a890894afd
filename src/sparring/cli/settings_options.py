"""From command line options to settings: preset < file < command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sparring.errors import SettingsError
from sparring.runs import RunFolder
from sparring.settings import RunSettings
from sparring.settings.reading import (
    SettingsTree,
    assignment,
    layered,
    preset,
    read_settings_file,
    read_settings_text,
    validate_settings,
)
from sparring.worlds.registry import find_world

__all__ = ["Origins", "new_run_settings", "stored_settings"]

Origins: TypeAlias = Mapping[tuple[str | int, ...], str]
"""Where each setting came from, by its path."""


def new_run_settings(
    world: str | None, *, config: Path | None, overrides: dict[str, Any], sets: Sequence[str], max_steps: str | None
) -> tuple[RunSettings, Origins]:
    """The settings of a run of a world, and where each came from.

    Args:
        world: its name; None for a game over the wire.
        config: a settings file, laid over the world's preset.
        overrides: what options said, as a tree.
        sets: `a.b=c` of `--set`, in order.
        max_steps: for every behavior.

    Raises:
        SettingsError: the world or a key is not known, or a value is not valid; all mistakes at once.
    """
    given = read_settings_file(config) if config is not None else SettingsTree()
    if world is None:
        return _finished(given, {}, overrides, sets, max_steps)
    find_world(world)
    base = layered({"checkpoint_settings": {"run_id": world}}, preset(world), given)
    return _finished(base, {"env_settings": {"world": world}}, overrides, sets, max_steps)


def stored_settings(
    results_dir: str, run_id: str, *, overrides: dict[str, Any], sets: Sequence[str], max_steps: str | None
) -> tuple[RunSettings, Origins]:
    """The settings a run was last started with, what is changed now, and where each came from.

    Raises:
        RunError: there is no such run.
        SettingsError: its settings file is missing or a value is not valid.
    """
    folder = RunFolder.existing(results_dir, run_id)
    text = folder.configuration()
    if text is None:
        raise SettingsError(
            "the run has no settings file", where=str(folder.path), cure="it ended while starting; use --force"
        )
    base = read_settings_text(text, source=str(folder.path / "configuration.yaml"))
    return _finished(base, {}, overrides, sets, max_steps)


def _finished(
    base: SettingsTree, world: dict[str, Any], overrides: dict[str, Any], sets: Sequence[str], max_steps: str | None
) -> tuple[RunSettings, Origins]:
    tree = layered(base, world, overrides, *(assignment(text) for text in sets))
    if max_steps is not None:
        sections = {name: {"max_steps": max_steps} for name in tree.get("behaviors", {})}
        tree = layered(tree, {"behaviors": sections})
        if tree.get("default_settings") is not None:
            tree = layered(tree, {"default_settings": {"max_steps": max_steps}})
    return validate_settings(tree, source="the command line"), tree.origins
