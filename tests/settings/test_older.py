"""Older generations of settings: read as they were meant, converted once, and told what is left away."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings import (
    Curriculum,
    OnPolicyHyperparameters,
    RunSettings,
    SACHyperparameters,
    Sampler,
    UniformParameters,
)
from sparring.settings.converting import converted
from sparring.settings.reading import read_settings_file, validate_settings

FLAT = """\
# what everybody has
default:
  trainer: ppo
  batch_size: 1024
  beta: 5.0e-3
  buffer_size: 10240
  epsilon: 0.2
  hidden_units: 128
  lambd: 0.95
  learning_rate: 3.0e-4
  learning_rate_schedule: linear
  max_steps: 5.0e5
  memory_size: 128
  normalize: false
  num_epoch: 3
  num_layers: 2
  time_horizon: 64
  sequence_length: 64
  summary_freq: 10000
  use_recurrent: false
  vis_encode_type: simple
  reward_signals:
    extrinsic:
      strength: 1.0
      gamma: 0.99

Goalie:  # keeps the ball out
  max_steps: 5.0e7
  batch_size: 2048   # large
  buffer_size: 20480
  hidden_units: 512
  learning_rate_schedule: constant
  summary_path: somewhere
  reward_signals:
    curiosity:
      strength: 0.02
      gamma: 0.9
      encoding_size: 256
  self_play:
    window: 100
    play_against_current_self_ratio: 0.2
    save_steps: 50000
Striker: Goalie
Hallway:
  use_recurrent: true
  sequence_length: 32
  memory_size: 64
"""
CURRENT = """\
behaviors:
  Goalie: &field
    trainer_type: ppo
    hyperparameters: {batch_size: 2048, buffer_size: 20480, beta: 0.005, epsilon: 0.2, lambd: 0.95, num_epoch: 3,
      learning_rate: 0.0003, learning_rate_schedule: constant, beta_schedule: linear, epsilon_schedule: linear}
    network_settings: {normalize: false, hidden_units: 512, num_layers: 2, vis_encode_type: simple}
    reward_signals: {curiosity: {strength: 0.02, gamma: 0.9, network_settings: {hidden_units: 256}}}
    max_steps: 50_000_000
    time_horizon: 64
    summary_freq: 10000
    self_play: {window: 100, play_against_latest_model_ratio: 0.2, save_steps: 50000}
  Striker: *field
  Hallway:
    trainer_type: ppo
    hyperparameters: {batch_size: 1024, buffer_size: 10240, beta: 0.005, epsilon: 0.2, lambd: 0.95, num_epoch: 3,
      learning_rate: 0.0003, learning_rate_schedule: linear}
    network_settings: {normalize: false, hidden_units: 128, num_layers: 2, vis_encode_type: simple,
      memory: {sequence_length: 32, memory_size: 64}}
    reward_signals: {extrinsic: {strength: 1.0, gamma: 0.99}}
    max_steps: 500000
    time_horizon: 64
    summary_freq: 10000
"""
CURRICULUM = """\
Hallway:
  measure: progress
  thresholds: [0.1, 0.3]
  min_lesson_length: 100
  signal_smoothing: true
  parameters:
    wall_height: [1.5, 2.0, 4.0]
"""
SAMPLER = """\
resampling-interval: 5000
mass:
  sampler-type: uniform
  min_value: 0.5
  max_value: 10
gravity:
  sampler-type: multirange_uniform
  intervals: [[7, 10], [15, 20]]
"""


def write(folder: Path, **texts: str) -> dict[str, Path]:
    files = {name: folder / f"{name}.yaml" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    return files


def loaded(path: Path, **beside: Path) -> RunSettings:
    return validate_settings(read_settings_file(path, **beside))


def test_both_generations_of_a_file_load_to_equal_settings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write(tmp_path, flat=FLAT, current=CURRENT)
    with caplog.at_level(logging.WARNING):
        older = loaded(files["flat"])
    assert older == loaded(files["current"])
    (notice,) = caplog.messages
    assert "is of an older generation" in notice
    assert "flat.yaml:33:3: summary_path is left away" in notice


def test_a_converted_file_loads_to_the_same_and_a_second_conversion_changes_nothing(tmp_path: Path) -> None:
    files = write(tmp_path, flat=FLAT)
    content, notes = converted(files["flat"])
    assert [note.rpartition("/")[2] for note in notes] == [
        "flat.yaml:33:3: summary_path is left away: there is no such key any more"
    ] * 2  # of both behaviors that share the section
    new = tmp_path / "new.yaml"
    new.write_bytes(content)
    assert loaded(new) == loaded(files["flat"])
    assert converted(new) == (content, [])


def test_comments_stay_with_their_keys(tmp_path: Path) -> None:
    content, _ = converted(write(tmp_path, flat=FLAT)["flat"])
    lines = content.decode().splitlines()
    assert lines[0] == "# what everybody has"
    assert "  Goalie: # keeps the ball out" in lines
    assert "      batch_size: 2048 # large" in lines
    assert "    max_steps: 5.0e7" in lines


def test_lessons_and_samplers_of_files_beside_become_environment_parameters(tmp_path: Path) -> None:
    files = write(tmp_path, flat=FLAT, curriculum=CURRICULUM, sampler=SAMPLER)
    beside = {"curriculum": files["curriculum"], "sampler": files["sampler"]}
    settings = loaded(files["flat"], **beside)
    lessons = settings.environment_parameters["wall_height"]
    assert isinstance(lessons, Curriculum)
    assert [lesson.value for lesson in lessons.curriculum] == [1.5, 2.0, 4.0]
    criteria = [lesson.completion_criteria for lesson in lessons.curriculum]
    assert criteria[2] is None
    assert [one.threshold for one in criteria[:2] if one is not None] == [0.1, 0.3]
    assert criteria[0] is not None
    assert (criteria[0].behavior, criteria[0].measure) == ("Hallway", "progress")
    assert (criteria[0].min_lesson_length, criteria[0].signal_smoothing, criteria[0].require_reset) == (100, True, True)
    mass, gravity = settings.environment_parameters["mass"], settings.environment_parameters["gravity"]
    assert isinstance(mass, Sampler)
    assert mass.sampler_parameters == UniformParameters(min_value=0.5, max_value=10)
    assert isinstance(gravity, Sampler)
    assert gravity.sampler_type == "multirangeuniform"
    content, notes = converted(files["flat"], **beside)
    assert any("resampling-interval is left away" in note for note in notes)
    new = tmp_path / "new.yaml"
    new.write_bytes(content)
    assert loaded(new) == settings


def test_the_form_between_the_generations_is_read(tmp_path: Path) -> None:
    between = CURRENT + "curriculum:\n" + "".join(f"  {line}\n" for line in CURRICULUM.splitlines())
    between += "parameter_randomization:\n" + "".join(f"  {line}\n" for line in SAMPLER.splitlines())
    files = write(tmp_path, between=between, flat=FLAT, curriculum=CURRICULUM, sampler=SAMPLER)
    apart = loaded(files["flat"], curriculum=files["curriculum"], sampler=files["sampler"])
    assert loaded(files["between"]) == apart


@pytest.mark.parametrize("name", ["play_against_current_self_ratio", "play_against_current_best_ratio"])
def test_older_names_of_the_ratio_count(tmp_path: Path, name: str) -> None:
    text = f"behaviors:\n  A:\n    self_play:\n      {name}: 0.25\n"
    settings = loaded(write(tmp_path, file=text)["file"])
    plan = settings.behaviors["A"].self_play
    assert plan is not None
    assert plan.play_against_latest_model_ratio == 0.25


def test_single_older_keys_are_renamed_or_left_away_with_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = """\
behaviors:
  A:
    framework: pytorch
    reward_signals:
      curiosity: {encoding_size: 64}
      rnd: {encoding_size: 64, network_settings: {hidden_units: 32}}
"""
    files = write(tmp_path, old=text)
    signals = loaded(files["old"]).behaviors["A"].reward_signals
    assert signals.curiosity is not None
    assert signals.curiosity.network_settings.hidden_units == 64
    assert signals.rnd is not None
    assert signals.rnd.network_settings.hidden_units == 32
    content, notes = converted(files["old"])
    told = [note.partition("old.yaml:")[2] for note in notes]
    assert told == [
        "3:5: framework is left away: there is torch only",
        "6:13: encoding_size is left away, for network_settings is there",
    ]
    (again := tmp_path / "again.yaml").write_bytes(content)
    assert converted(again) == (content, [])
    assert len(caplog.messages) <= 1


def test_sac_of_the_older_generation_is_read(tmp_path: Path) -> None:
    text = """\
default: {trainer: sac, batch_size: 128, buffer_size: 50000, init_entcoef: 0.5, tau: 0.01, num_update: 2,
  train_interval: 5, reward_signals: {extrinsic: {strength: 1.0, gamma: 0.9}, reward_signal_steps_per_update: 3}}
"""
    settings = loaded(write(tmp_path, file=text)["file"])
    assert settings.behaviors == {}
    assert settings.default_settings is not None
    plan = settings.default_settings.hyperparameters
    assert isinstance(plan, SACHyperparameters)
    assert (plan.steps_per_update, plan.reward_signal_steps_per_update, plan.init_entcoef) == (2.5, 3.0, 0.5)


def test_mistakes_are_told_where_they_stand_in_the_older_file(tmp_path: Path) -> None:
    text = "default:\n  trainer: ppo\n  beta: minus\nA:\n  lambd: 2\nB: C\nD: D\n"
    files = write(tmp_path, file=text, curriculum="A:\n  thresholds: [0.1]\n  parameters:\n    x: [1]\n")
    with pytest.raises(SettingsError) as caught:
        loaded(files["file"], curriculum=files["curriculum"])
    told = {finding.where.rpartition("/")[2]: finding.what for finding in caught.value.findings}
    assert told["file.yaml:6:1"] == "B names a section that is not there"
    assert told["file.yaml:7:1"] == "the sections of D name each other"
    assert told["curriculum.yaml:4:5"] == "x needs one value more than there are thresholds (1)"
    with pytest.raises(SettingsError) as caught:
        loaded(write(tmp_path, file="\n".join(text.splitlines()[:5]))["file"])
    places = [finding.where.rpartition("/")[2] for finding in caught.value.findings]
    assert places == ["file.yaml:3:3", "file.yaml:5:3"]


def test_schedules_that_always_fell_go_on_falling(tmp_path: Path) -> None:
    settings = loaded(write(tmp_path, flat=FLAT)["flat"])
    plan: Any = settings.behaviors["Goalie"].hyperparameters
    assert isinstance(plan, OnPolicyHyperparameters)
    assert (plan.learning_rate_schedule, plan.beta_schedule, plan.epsilon_schedule) == ("constant", "linear", "linear")
