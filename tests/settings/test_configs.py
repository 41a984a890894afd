"""The configurations in `configs/` load without a finding, and what they say arrives."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sparring.settings.reading import read_settings_file, validate_settings
from sparring.training.refusals import check_can_run

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.rglob("*.yaml"))


def test_all_are_there() -> None:
    assert len(FILES) == 35


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(CONFIGS).as_posix() for path in FILES])
def test_a_configuration_loads_and_could_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = validate_settings(read_settings_file(path))
    check_can_run(settings)
    assert settings.behaviors
    assert not caplog.messages
    if path.parent.name in {"ppo", "poca", "sac"}:
        assert {plan.trainer_type for plan in settings.behaviors.values()} == {path.parent.name}
