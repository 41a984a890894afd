"""Case settings-02: six mistakes are told at once, and each that is mended is one less."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparring.errors import Finding, SettingsError
from sparring.settings.reading import read_settings_file, validate_settings

SIX = """\
behaviors:
  Duel:
    trainer_type: poppo
    hyperparameters:
      batch_size: 256
      buffer_size: 128
      lambda: 0.95
    network_settings:
      hidden_units: 16
      vis_encoder_type: simple
  self_play:
    window: 3
    play_against_latest_model_ratio: 1.4
"""
MENDED = [
    ("trainer_type: poppo", "trainer_type: ppo"),
    ("batch_size: 256", "batch_size: 32"),
    ("lambda:", "lambd:"),
    ("vis_encoder_type", "vis_encode_type"),
    ("  self_play:\n    window: 3\n    play_", "    self_play:\n      window: 3\n      play_"),
    ("ratio: 1.4", "ratio: 0.4"),
]


def findings(folder: Path, text: str) -> list[Finding]:
    path = folder / "duel.yaml"
    path.write_text(text)
    try:
        validate_settings(read_settings_file(path))
    except SettingsError as error:
        return list(error.findings)
    return []


def test_six_findings_each_with_its_line_and_its_cure(tmp_path: Path) -> None:
    told = {
        str(finding).replace(f"{tmp_path}/", "").replace(f"{tmp_path}\\", "") for finding in findings(tmp_path, SIX)
    }
    assert len(told) == 6

    def one(*words: str) -> None:
        assert [text for text in told if all(word in text for word in words)], words

    one("duel.yaml:3", "poppo", "one of ppo, sac, poca")
    one("duel.yaml:4", "batch_size 256", "buffer_size 128")
    one("duel.yaml:7", "'lambda'", "did you mean 'lambd'?")
    one("duel.yaml:10", "'vis_encoder_type'", "did you mean 'vis_encode_type'?")
    one("duel.yaml:11", "'self_play'", "did you mean to indent it under Duel?")
    one("duel.yaml:13", "play_against_latest_model_ratio", "1.4", "at most 1.0")


def test_every_mistake_that_is_mended_is_one_less(tmp_path: Path) -> None:
    text = SIX
    for count, (wrong, right) in enumerate(MENDED, start=1):
        assert wrong in text
        text = text.replace(wrong, right)
        assert len(findings(tmp_path, text)) == 6 - count


@pytest.mark.parametrize("number", range(len(MENDED)))
def test_each_mistake_alone_is_found(tmp_path: Path, number: int) -> None:
    text = SIX
    for other, (wrong, right) in enumerate(MENDED):
        text = text if other == number else text.replace(wrong, right)
    assert len(findings(tmp_path, text)) == 1
