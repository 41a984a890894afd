"""Lessons from a settings file to the curves: in a world, and in a game over the wire."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.statistics.builders import curves

SETTINGS = """
default_settings:
  hyperparameters: {batch_size: 32, buffer_size: 128, num_epoch: 1}
  network_settings: {hidden_units: 8, num_layers: 1}
  max_steps: 480
  summary_freq: 120
environment_parameters:
  gravity: 9.5
  ball_scale:
    curriculum:
    - name: large
      value: 2.0
      completion_criteria: {behavior: SoccerTwos, measure: progress, threshold: 0.4, require_reset: true}
    - name: any
      value:
        sampler_type: uniform
        sampler_parameters: {min_value: 0.5, max_value: 1.5}
"""
COMMAND = [sys.executable, "-m", "sparring.cli.main"]
SERVED = f"{shlex.join(COMMAND)} serve soccer_twos"


def trained(folder: Path, *options: str) -> str:
    """What is said by a run of these settings."""
    (folder / "lessons.yaml").write_text(SETTINGS)
    small = ["--seed", "1", "--num-areas", "2", "--matches", "0", "--threads", "1", "--run-id", "run"]
    done = subprocess.run(
        [*COMMAND, "train", *options, *small],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# A preset lists its world's behavior, and stands above the defaults of the file.
IN_WORLD = (
    "soccer_twos",
    "--config",
    "lessons.yaml",
    "--max-steps",
    "480",
    "--set",
    "behaviors.SoccerTwos.summary_freq=120",
)
OVER_WIRE = ("lessons.yaml", "--env", SERVED)


@pytest.mark.parametrize("options", [IN_WORLD, OVER_WIRE], ids=["world", "wire"])
def test_the_second_lesson_shows_in_the_files_of_tensorboard(tmp_path: Path, options: tuple[str, ...]) -> None:
    said = trained(tmp_path, *options)
    assert "Parameter 'ball_scale' is in lesson 'large' and has value 'Float: value=2.0'." in said
    assert "ball_scale is in lesson 1 of 2 (large) and waits for progress of SoccerTwos above 0.4 (now 0.2" in said
    assert "Parameter 'ball_scale' is in lesson 'any' and has value 'Uniform sampler: min=0.5, max=1.5'." in said
    found = curves(tmp_path / "results" / "run" / "SoccerTwos")
    numbers = dict(found["Environment/Lesson Number/ball_scale"])
    assert numbers[min(numbers)] == 0.0
    assert {number for step, number in numbers.items() if step > 0.4 * 480 + 8} == {1.0}
    values = dict(found["Environment/Parameter/ball_scale"])
    assert values == {step: 2.0 if number == 0.0 else 1.0 for step, number in numbers.items()}
    assert {value for _, value in found["Environment/Parameter/gravity"]} == {9.5}
    drawn = found["Environment/Drawn Parameter/ball_scale"]
    assert all(0.5 < value < 1.5 for _, value in drawn)
    assert all(numbers[step] == 1.0 for step, _ in drawn)
