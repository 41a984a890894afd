"""From command line options to settings: preset < file < command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sparring.cli.run_options import EVERY_BEHAVIOR, ConfigFiles, Given
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
    tree_with,
    validate_settings,
)
from sparring.user_code import run_name_of

__all__ = ["Origins", "new_run_settings", "stored_settings"]

Origins: TypeAlias = Mapping[tuple[str | int, ...], str]
"""Where each setting came from, by its path."""


def new_run_settings(
    world: str | None, *, config: ConfigFiles, given: Sequence[Given], sets: Sequence[str]
) -> tuple[RunSettings, Origins]:
    """The settings of a run of a world, and where each came from.

    Args:
        world: its name, which there is; None for a game over the wire.
        config: settings files, laid over the world's preset.
        given: what options said.
        sets: `a.b=c` of `--set`, in order.

    Raises:
        SettingsError: a key is not known, or a value is not valid; all mistakes at once.
    """
    read = SettingsTree()
    if config.settings is not None:
        read = read_settings_file(config.settings, curriculum=config.curriculum, sampler=config.sampler)
    if world is None:
        return _finished(read, {}, given, sets)
    proposed = preset(world)
    if not proposed and not {"behaviors", "default_settings"} & set(read):  # a script of one's own, and no file
        proposed = tree_with(("default_settings", "trainer_type"), "ppo", source="preset of worlds without one")
    base = layered({"checkpoint_settings": {"run_id": run_name_of(world)}}, proposed, read)
    return _finished(base, {"env_settings": {"world": world}}, given, sets)


def stored_settings(
    results_dir: str, run_id: str, *, given: Sequence[Given] = (), sets: Sequence[str] = ()
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
    place = {"checkpoint_settings": {"run_id": run_id, "results_dir": results_dir}}
    return _finished(base, place, given, sets)


def _finished(
    base: SettingsTree, world: dict[str, Any], given: Sequence[Given], sets: Sequence[str]
) -> tuple[RunSettings, Origins]:
    own = [tree_with(option.place, option.value, source=option.flag) for option in given if not _is_for_all(option)]
    tree = layered(base, world, *own, *(assignment(text) for text in sets))
    homes: list[tuple[str, ...]] = [("behaviors", name) for name in tree.get("behaviors") or {}]
    if tree.get("default_settings") is not None:
        homes.append(("default_settings",))
    for option in given:
        if _is_for_all(option):
            places = [(*home, *option.place[1:]) for home in homes]
            tree = layered(tree, *(tree_with(place, option.value, source=option.flag) for place in places))
    return validate_settings(tree, source="the command line"), tree.origins


def _is_for_all(option: Given) -> bool:
    return option.place[0] == EVERY_BEHAVIOR
