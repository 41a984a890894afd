"""`sparring demo info` tells what is in a recording, through the real command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparring.cli.main import main
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch
from tests.algorithms.signals.builders import record

SPEC = BehaviorSpec((ObservationSpec.vector(3, name="Rays"),), ActionSpec.create_hybrid(1, (3,)))


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["demo", "info", *arguments])
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out + captured.err


def test_episodes_steps_returns_actions_and_ends_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    action = ActionBatch(np.array([[0.9]], np.float32), np.array([[2]], np.int32))
    path = record(tmp_path / "d.demo", SPEC, episodes=3, steps=5, action=action)
    code, text = shown(capsys, str(path))
    assert code == 0
    for line in (
        "sensors   Rays 3",
        "actions   1 continuous, branches (3)",
        "steps     15 decisions in 18 records",
        "episodes  3: 3 ended by the rules, 0 interrupted, 0 unfinished",
        "returns   3.5, 3.5, 3.5",
    ):
        assert line in text
    counts = {line.split()[1]: line.split()[2] for line in text.splitlines() if line.strip().startswith("choice")}
    assert counts == {"0": "0", "1": "0", "2": "15"}
    assert [line.split()[3] for line in text.splitlines() if "+0.75 to +1.00" in line] == ["15"]


def test_a_recording_without_ends_is_told_to_be_unfinished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "d.demo", SPEC, ends=False)
    _, text = shown(capsys, str(path))
    assert "0 interrupted, 1 unfinished" in text
    assert "no end of an episode was recorded" in text


def test_what_is_no_demonstration_is_a_mistake_and_not_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.demo").write_bytes(b"")
    for path, words in (("empty.demo", "empty.demo"), ("none.demo", "nothing at")):
        code, text = shown(capsys, str(tmp_path / path))
        assert code == 2
        assert words in text
        assert "Traceback" not in text
