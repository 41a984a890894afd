"""Configurations in `configs/` of games that are built in train in them, at a size that takes a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparring.settings.reading import layered, read_settings_file, validate_settings
from sparring.training.session import run_training
from tests.statistics.builders import points
from tests.training.runs_in_process import Watcher

CONFIGS = Path(__file__).parents[2] / "configs"
BUFFER = 64


@pytest.mark.parametrize("algorithm", ["ppo", "poca"])
@pytest.mark.parametrize(("name", "world"), [("SoccerTwos", "soccer_twos"), ("StrikersVsGoalie", "strikers_vs_goalie")])
def test_a_configuration_learns_twice_in_its_world(tmp_path: Path, algorithm: str, name: str, world: str) -> None:
    file = read_settings_file(CONFIGS / algorithm / f"{name}.yaml")
    smaller = {
        "hyperparameters": {"batch_size": 32, "buffer_size": BUFFER, "num_epoch": 1},
        "network_settings": {"hidden_units": 16, "num_layers": 1},
        "time_horizon": 16,
        "max_steps": 4 * BUFFER,
        "summary_freq": BUFFER,
        "self_play": {"team_change": BUFFER, "save_steps": BUFFER, "swap_steps": BUFFER // 4},
    }
    run = {
        "behaviors": dict.fromkeys(file["behaviors"], smaller),
        "env_settings": {"world": world, "num_areas": 2, "seed": 1},
        "checkpoint_settings": {"results_dir": str(tmp_path), "run_id": "run"},
        "torch_settings": {"device": "cpu", "threads": 1},
        "evaluation": {"matches": 0},
        "export_settings": {"each_checkpoint": False},
    }
    report = run_training(validate_settings(layered(file, run)), observer=Watcher())
    for behavior in file["behaviors"]:
        assert len(points(tmp_path / "run", behavior)["Losses/Policy Loss"]) >= 2, behavior
    assert {path.stem for path in report.models} == set(file["behaviors"])
