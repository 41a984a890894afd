"""Case settings-03: a game announces names that look like those of the settings, and others."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sparring.errors import SettingsError
from sparring.settings.reading import layered, read_settings_text, validate_settings
from sparring.training.progress import SilentObserver
from sparring.training.session import run_training
from tests.cases.settings_base import BASE
from tests.cases.wire_script import WireScript

EXCHANGES = 80
DEFAULTS = "default_settings: {trainer_type: ppo, max_steps: 20, network_settings: {hidden_units: 16, num_layers: 1}}\n"


def train(folder: Path, port: int, text: str, *names: str) -> None:
    """Trains a game that announces the names."""
    scripts = {name: [f"D[{agent}]"] + [f"D[{agent} r=0.1]"] * EXCHANGES for agent, name in enumerate(names, start=1)}
    WireScript(scripts, port).start()
    place = {
        "env_settings": {"base_port": port, "timeout_wait": 20, "seed": 1},
        "checkpoint_settings": {"results_dir": str(folder / "results"), "run_id": "run"},
        "evaluation": {"matches": 0},
        "torch_settings": {"threads": 1},
    }
    settings = validate_settings(layered(read_settings_text(text, source="duel.yaml"), place))
    run_training(settings, observer=SilentObserver())


def refusal(folder: Path, port: int, text: str, *names: str) -> str:
    with pytest.raises(SettingsError) as caught:
        train(folder, port, text, *names)
    assert not (folder / "results").exists()
    return "\n".join(str(finding) for finding in caught.value.findings)


@pytest.mark.parametrize("name", ["DueI", "duel"])
def test_a_name_that_looks_alike_is_refused_with_the_nearest_and_with_what_would_not_be_used(
    tmp_path: Path, free_port: int, name: str
) -> None:
    told = refusal(tmp_path, free_port, BASE, f"{name}?team=0", f"{name}?team=1")
    assert f"a behavior {name!r} that the settings do not list" in told
    assert "did you mean 'Duel'?" in told
    assert "the self_play section of 'Duel' would not be used" in told
    assert f"did you mean {name!r}?" in told


def test_default_settings_do_not_hide_a_look_alike(tmp_path: Path, free_port: int) -> None:
    told = refusal(tmp_path, free_port, BASE + DEFAULTS, "DueI?team=0", "DueI?team=1")
    assert "the self_play section of 'Duel' would not be used" in told


def test_a_behavior_that_is_not_listed_is_refused_with_both_cures(tmp_path: Path, free_port: int) -> None:
    told = refusal(tmp_path, free_port, BASE, "Duel?team=0", "Duel?team=1", "Referee?team=0")
    assert "'Referee'" in told
    assert "add a section behaviors.Referee, or default_settings" in told


def test_default_settings_cover_it_with_a_notice(
    tmp_path: Path, free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    text = BASE.replace("max_steps: 400", "max_steps: 20") + DEFAULTS
    with caplog.at_level(logging.WARNING):
        train(tmp_path, free_port, text, "Duel?team=0", "Duel?team=1", "Referee?team=0")
    assert "Referee is not listed in the settings: it learns with default_settings" in caplog.messages
    models = sorted(path.name for path in (tmp_path / "results" / "run").glob("*.onnx"))
    assert models == ["Duel.onnx", "Referee.onnx"]
