"""The behaviors a game announces, held against those the settings list."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from sparring.errors import Finding, SettingsError, nearest
from sparring.settings import BehaviorSettings, RunSettings

__all__ = ["check_announced", "settings_of"]

_log = logging.getLogger(__name__)


def check_announced(names: Collection[str], settings: RunSettings) -> None:
    """Whether the settings cover every behavior of a game, and a game uses what they say of self-play.

    A behavior that is listed and not announced may come later, so it is no mistake by itself; it is one where a name
    that is not listed is there in its place.

    Args:
        names: of the behaviors announced so far, without their teams.
        settings: of the run.

    Raises:
        SettingsError: a behavior is neither listed nor covered by default_settings, or a self_play section would not
            be used; everything at once.
    """
    unlisted = sorted(set(names) - set(settings.behaviors))
    if not unlisted:
        return
    findings = list(_unused_self_play(names, unlisted, settings))
    if settings.default_settings is None:
        findings = [*(_not_listed(name, settings) for name in unlisted), *findings]
    if findings:
        raise SettingsError(findings)


def settings_of(name: str, settings: RunSettings) -> BehaviorSettings:
    """The settings of a behavior that `check_announced` let pass; says where they are the default ones."""
    if name in settings.behaviors:
        return settings.behaviors[name]
    assert settings.default_settings is not None, f"{name} was checked"
    if settings.behaviors:  # where none is listed, all are meant
        _log.warning("%s is not listed in the settings: it learns with default_settings", name)
    return settings.default_settings


def _not_listed(name: str, settings: RunSettings) -> Finding:
    near = nearest(name, settings.behaviors)
    return Finding(
        f"the game has a behavior {name!r} that the settings do not list",
        where="behaviors",
        found=", ".join(settings.behaviors) or "none",
        cure=(f"did you mean {near[0]!r}? Else " if near else "")
        + f"add a section behaviors.{name}, or default_settings for all that are not listed",
    )


def _unused_self_play(names: Collection[str], unlisted: Collection[str], settings: RunSettings) -> Iterator[Finding]:
    for name, plan in settings.behaviors.items():
        if plan.self_play is None or name in names:
            continue
        near = nearest(name, unlisted)
        if near:
            yield Finding(
                f"the self_play section of {name!r} would not be used: the game has no such behavior",
                where=f"behaviors.{name}.self_play",
                found=", ".join(sorted(names)),
                cure=f"did you mean {near[0]!r}?",
            )
