"""Announced behaviors against listed ones."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings import RunSettings
from sparring.training.matching import check_announced, settings_of

BOTH: dict[str, Any] = {"Striker": {"self_play": {}}, "Goalie": {}}


def run(behaviors: dict[str, Any], *, has_default: bool = False) -> RunSettings:
    return RunSettings.model_validate({"behaviors": behaviors} | ({"default_settings": {}} if has_default else {}))


def told(names: set[str], settings: RunSettings) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        check_announced(names, settings)
    return [str(finding) for finding in caught.value.findings]


def test_listed_behaviors_pass_and_those_not_announced_yet_may_come_later(caplog: pytest.LogCaptureFixture) -> None:
    settings = run(BOTH)
    with caplog.at_level(logging.WARNING):
        check_announced({"Goalie"}, settings)
        assert settings_of("Goalie", settings) is settings.behaviors["Goalie"]
    assert caplog.messages == []


def test_a_typo_is_told_with_the_nearest_name_and_the_section_it_leaves_unused() -> None:
    first, second = told({"Strikers", "Goalie"}, run(BOTH))
    assert "a behavior 'Strikers' that the settings do not list" in first
    assert "did you mean 'Striker'?" in first
    assert "the self_play section of 'Striker' would not be used" in second
    assert "did you mean 'Strikers'?" in second


def test_default_settings_do_not_swallow_a_typo() -> None:
    (only,) = told({"Strikers", "Goalie"}, run(BOTH, has_default=True))
    assert "the self_play section of 'Striker' would not be used" in only


def test_another_behavior_learns_with_the_default_settings_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    settings = run(BOTH, has_default=True)
    with caplog.at_level(logging.WARNING):
        check_announced({"Striker", "Goalie", "Referee"}, settings)
        assert settings_of("Referee", settings) is settings.default_settings
    assert caplog.messages == ["Referee is not listed in the settings: it learns with default_settings"]
