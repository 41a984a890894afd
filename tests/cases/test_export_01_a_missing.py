"""Case export-01, part a: the packages that write models are missing, and no run is lost by it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sparring.runs import CheckpointStore

BASE = """
behaviors:
  Duel:
    trainer_type: ppo
    hyperparameters: {batch_size: 32, buffer_size: 128, learning_rate: 0.001, num_epoch: 2}
    network_settings: {hidden_units: 16, num_layers: 1}
    time_horizon: 16
    max_steps: 400
    summary_freq: 100
    checkpoint_interval: 200
    self_play: {window: 3, save_steps: 50, swap_steps: 40, team_change: 100, play_against_latest_model_ratio: 0.5}
"""
WARNING = "models will not be exported"


def command(folder: Path, *words: str, missing: str = "-") -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cases.without_packages", missing, *words, "--results-dir", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


@dataclass
class Story:
    """What happened: both runs, what was on disk after the one without packages, and the export afterwards."""

    folder: Path
    code: dict[str, int]
    said: dict[str, str]
    models_before: list[str]

    def model(self, run: str) -> bytes:
        return (self.folder / run / "Duel.onnx").read_bytes()

    def networks(self, run: str) -> dict[str, dict[str, NDArray[Any]]]:
        state = CheckpointStore(self.folder / run / "checkpoints").newest().state
        networks: dict[str, dict[str, NDArray[Any]]] = state["collector"]["behaviors"]["Duel"]["learner"]["networks"]
        return networks


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("results")
    config = folder / "duel.yaml"
    config.write_text(BASE)
    train = ["train", "walk", "--config", str(config), "--seed", "5", "--num-areas", "2", "--matches", "0"]
    runs = {
        "ordinary": command(folder, *train, "--run-id", "ordinary"),
        "lacking": command(folder, *train, "--run-id", "lacking", missing="onnx,onnxruntime"),
    }
    said = {run: process.communicate(timeout=200)[0] for run, process in runs.items()}
    models = [path.name for path in (folder / "lacking").rglob("*.onnx*")]
    runs["export"] = command(folder, "export", "lacking")
    said["export"] = runs["export"].communicate(timeout=200)[0]
    return Story(folder, {run: process.returncode for run, process in runs.items()}, said, models)


def test_the_run_ends_well(story: Story) -> None:
    assert story.code["lacking"] == 0, story.said["lacking"]
    steps = re.search(r"\((\d+) steps\)", story.said["lacking"])
    assert steps is not None
    assert int(steps[1]) >= 400
    assert "Traceback" not in story.said["lacking"]


def test_the_warning_comes_before_anything_is_learned_and_names_the_package_and_the_cure(story: Story) -> None:
    said = " ".join(story.said["lacking"].split())  # lines are wrapped to the terminal
    assert said.count(WARNING) == 1
    before, after = said.split(WARNING)
    assert "Step:" not in before
    assert "Step: 100" in after
    assert "pip install" in after
    assert "sparring export" in after
    assert WARNING not in story.said["ordinary"]


def test_no_model_and_no_piece_of_one_is_left(story: Story) -> None:
    assert story.models_before == []


def test_the_checkpoints_load_and_hold_what_an_ordinary_run_learned(story: Story) -> None:
    steps = CheckpointStore(story.folder / "lacking" / "checkpoints").steps()
    assert steps == CheckpointStore(story.folder / "ordinary" / "checkpoints").steps() != []
    np.testing.assert_equal(story.networks("lacking"), story.networks("ordinary"))


def test_a_later_export_gives_the_bytes_of_an_ordinary_run(story: Story) -> None:
    assert story.code["export"] == 0, story.said["export"]
    assert "Duel.onnx" in story.said["export"]
    assert story.model("lacking") == story.model("ordinary")


def test_the_status_names_the_model_once_there_is_one(story: Story) -> None:
    status = json.loads((story.folder / "lacking" / "run_logs" / "training_status.json").read_text())
    assert "Duel.onnx" in status["Duel"]["final_checkpoint"]["file_path"]
