"""Case settings-03: a behavior whose name only looks like the one in the file stops the run at the handshake."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings.reading import read_settings_text, validate_settings
from sparring.training.session import run_training
from tests.cases.base_settings import BASE
from tests.cases.wire_script import WireScript
from tests.training.runs_in_process import Watcher

DEFAULTS = "default_settings:\n  trainer_type: ppo\n"


class Leaves(Watcher):
    """Stops the run once it has begun to learn."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = itertools.count()

    def stops(self) -> bool:
        return any("device" in message for message in self.messages) and next(self._steps) > 3


def trained(folder: Path, port: int, text: str, *announced: str) -> tuple[Leaves, Any]:
    game = WireScript({name: ["D[1]"] * 20 for name in announced}, port)
    game.start()
    run = f"""
env_settings: {{base_port: {port}, timeout_wait: 20}}
checkpoint_settings: {{results_dir: '{folder.as_posix()}/results', run_id: run}}
torch_settings: {{device: cpu, threads: 1}}
evaluation: {{matches: 0}}
export_settings: {{each_checkpoint: false}}
"""
    watcher = Leaves()
    settings = validate_settings(read_settings_text(text + run, source="base.yaml"))
    return watcher, run_training(settings, observer=watcher, should_stop=watcher.stops)


@pytest.mark.parametrize("name", ["DueI", "duel"])
def test_a_look_alike_stops_the_run_with_the_name_that_was_meant(tmp_path: Path, free_port: int, name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        trained(tmp_path, free_port, BASE, f"{name}?team=0", f"{name}?team=1")
    (finding,) = refused.value.findings
    assert finding.what == f"the game has a behavior {name!r} that the settings do not list"
    assert "did you mean 'Duel'? The self_play section of 'Duel' would be unused." in finding.cure
    assert not (tmp_path / "results").exists()


def test_a_look_alike_does_not_hide_behind_default_settings(tmp_path: Path, free_port: int) -> None:
    with pytest.raises(SettingsError, match=r"nothing uses the self_play section of 'Duel', .* a behavior 'DueI'"):
        trained(tmp_path, free_port, DEFAULTS + BASE, "DueI?team=0", "DueI?team=1")
    assert not (tmp_path / "results").exists()


def test_another_behavior_stops_the_run_with_both_cures(tmp_path: Path, free_port: int) -> None:
    with pytest.raises(SettingsError) as refused:
        trained(tmp_path, free_port, BASE, "Duel?team=0", "Duel?team=1", "Referee?team=0")
    (finding,) = refused.value.findings
    assert "'Referee'" in finding.what
    assert finding.cure == "add a section behaviors.Referee, or default_settings for all not listed"
    assert not (tmp_path / "results").exists()


def test_default_settings_cover_it_and_say_so(tmp_path: Path, free_port: int) -> None:
    watcher, report = trained(tmp_path, free_port, DEFAULTS + BASE, "Duel?team=0", "Duel?team=1", "Referee?team=0")
    assert watcher.messages.count("Referee is not listed and learns with default_settings") == 1
    assert {path.stem for path in report.models} == {"Duel", "Referee"}
    stored = (tmp_path / "results" / "run" / "configuration.yaml").read_text(encoding="utf-8")
    assert stored.count("save_steps") == 1  # Duel's
