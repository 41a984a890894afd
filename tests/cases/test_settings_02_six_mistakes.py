"""Case settings-02: six mistakes are told at once, and each one mended leaves one less."""

from pathlib import Path

import pytest

from tests.cases.base_settings import BASE, sparring

MENDS = (
    ("trainer_type: poppo", "trainer_type: ppo"),
    ("batch_size: 256", "batch_size: 32"),
    ("lambda: 0.95", "lambd: 0.95"),
    ("vis_encoder_type", "vis_encode_type"),
    ("\n  self_play:", "\n    self_play:"),
    ("ratio: 1.4", "ratio: 0.5"),
)


def broken() -> str:
    text = BASE.replace("num_epoch: 2", "num_epoch: 2, lambd: 0.95")
    text = text.replace("num_layers: 1", "num_layers: 1, vis_encode_type: simple")
    text = text.replace("ratio: 0.5", "ratio: 1.4").replace("\n    self_play:", "\n  self_play:")
    for wrong, right in MENDS[:4]:
        assert right in text, right
        text = text.replace(right, wrong)
    return text


def test_six_mistakes_are_told_at_once_and_one_less_with_each_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "base.yaml"
    text = broken()
    file.write_text(text)
    answer = sparring("train", "base.yaml", capsys=capsys)
    assert answer.code == 2
    assert "did you mean 'lambd'?" in answer.err
    assert "did you mean 'vis_encode_type'?" in answer.err
    assert "expected one of ppo, sac, poca" in answer.err
    assert "did you mean to indent it under Duel?" in answer.err
    assert "found 1.4, expected a number of at least 0.0 and of at most 1.0" in answer.err
    assert "batch_size 256 is larger than buffer_size 128" in answer.err
    for left, (wrong, right) in zip(range(6, 0, -1), MENDS, strict=True):
        file.write_text(text)
        answer = sparring("train", "base.yaml", "--dry-run", capsys=capsys)
        assert answer.err.count("base.yaml:") == left, answer.err
        text = text.replace(wrong, right)
    file.write_text(text)
    assert sparring("train", "base.yaml", "--dry-run", capsys=capsys).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["base.yaml"]
