"""Files of the known toolkit's current format: every key is read, and what is not built in yet says so."""

from pathlib import Path

import pytest

from sparring.errors import SettingsError
from sparring.settings import RunSettings
from sparring.settings.reading import read_settings_file, read_settings_text, validate_settings

WRITTEN_BACK = Path(__file__).parent / "files" / "written_back_by_the_known_toolkit.yaml"


def read(text: str) -> RunSettings:
    return validate_settings(read_settings_text(text, source="soccer.yaml"), source="soccer.yaml")


def test_a_file_with_every_key_loads_with_its_values() -> None:
    settings = validate_settings(read_settings_file(WRITTEN_BACK))
    behavior = settings.behaviors["SoccerTwos"]
    assert behavior.hyperparameters.buffer_size == 10240
    assert behavior.checkpoint_every == 500_000
    assert behavior.self_play is None
    assert settings.env_settings.base_port == 5005
    assert settings.engine_settings.time_scale == 20.0
    assert settings.environment_parameters == {}


def test_behaviors_inherit_what_they_do_not_say() -> None:
    settings = read(
        "default_settings:\n"
        "  max_steps: 100\n"
        "  hyperparameters: {batch_size: 64, buffer_size: 256}\n"
        "behaviors:\n"
        "  A:\n"
        "    hyperparameters: {batch_size: 32}\n"
        "  B: {}\n"
    )
    one, other = settings.behaviors["A"], settings.behaviors["B"]
    assert (one.max_steps, one.hyperparameters.batch_size, one.hyperparameters.buffer_size) == (100, 32, 256)
    assert (other.max_steps, other.hyperparameters.batch_size) == (100, 64)


def test_a_mistake_in_what_is_inherited_is_told_where_it_stands() -> None:
    with pytest.raises(SettingsError) as caught:
        read("default_settings:\n  max_steps: never\nbehaviors:\n  A: {}\n")
    assert "soccer.yaml:2" in str(caught.value)


def test_checkpoints_are_spread_evenly_if_so_set() -> None:
    settings = read("behaviors:\n  A: {even_checkpoints: true, keep_checkpoints: 4, max_steps: 1000}\n")
    assert settings.behaviors["A"].checkpoint_every == 250
