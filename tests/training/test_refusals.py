"""What a game announces is held against the settings before anything is learned."""

from __future__ import annotations

from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings import RunSettings
from sparring.training.refusals import check_announced


def settings(*names: str, default: bool = False, self_play: bool = True) -> RunSettings:
    plan: dict[str, Any] = {"self_play": {}} if self_play else {}
    tree: dict[str, Any] = {"behaviors": dict.fromkeys(names, plan)}
    return RunSettings.model_validate({**tree, "default_settings": {}} if default else tree)


def test_a_game_as_the_settings_expect_it_needs_no_word() -> None:
    assert check_announced(settings("Striker", "Goalie"), ["Striker", "Goalie", "Striker"]) == []


def test_every_behavior_without_settings_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        check_announced(settings("Striker"), ["Stricker", "Referee"])
    referee, stricker = refused.value.findings
    assert "'Referee'" in referee.what
    assert "did you mean" not in referee.cure
    assert stricker.cure.startswith("did you mean 'Striker'? The self_play section of 'Striker' would be unused.")


def test_a_section_that_is_used_or_has_no_self_play_is_not_called_unused() -> None:
    for used in (settings("Striker"), settings("Striker", self_play=False)):
        announced = ["Stricker", "Striker"] if used.behaviors["Striker"].self_play else ["Stricker"]
        with pytest.raises(SettingsError) as refused:
            check_announced(used, announced)
        assert "did you mean 'Striker'?" in str(refused.value)
        assert "unused" not in str(refused.value)


def test_default_settings_cover_what_is_unlike_any_unused_section() -> None:
    assert check_announced(settings("Striker", default=True), ["Striker", "Stricker"]) == [
        "Stricker is not listed and learns with default_settings"
    ]
    with pytest.raises(SettingsError, match="nothing uses the self_play section of 'Striker'"):
        check_announced(settings("Striker", default=True), ["Stricker"])
    assert check_announced(settings("Striker", default=True, self_play=False), ["Stricker"])


def test_a_section_whose_behavior_may_come_later_is_told() -> None:
    assert check_announced(settings("Sheep", "Wolf"), ["Sheep"]) == [
        "the settings list Wolf, which the game has not announced yet"
    ]
    assert check_announced(settings("Sheep", "Wolf"), []) == []
