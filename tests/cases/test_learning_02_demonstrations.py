"""Case learning-02: demonstrations that do not fit are told before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.errors import SparringError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch
from tests.algorithms.signals.builders import record
from tests.builders import ScriptedGame
from tests.training.runs_in_process import Watcher, small_settings, train_small


def spec(size: int, times: int, branches: int) -> BehaviorSpec:
    sensor = ObservationSpec.vector(size * times, name=f"StackingSensor_size{times}_Rays")
    return BehaviorSpec((sensor,), ActionSpec.create_discrete((branches,)))


ALWAYS_TWO = ActionBatch(np.zeros((1, 0), np.float32), np.array([[2]], np.int32))
RIGHT = spec(18, 5, 3)


def refusal(tmp_path: Path, demo: Path, game: BehaviorSpec, *, section: str) -> str:
    """What a run says that is to learn from a demonstration; it must leave nothing behind."""
    plan: dict[str, Any] = {"demo_path": str(demo)}
    changes: dict[str, Any] = {"self_play": None, "behavioral_cloning": plan}
    if section == "gail":
        changes = {"self_play": None, "reward_signals": {"extrinsic": {}, "gail": plan}}
    with pytest.raises(SparringError) as caught:
        train_small(
            small_settings(tmp_path / "results", **changes),
            lambda **_: ScriptedGame({"Agent?team=0": [""]}, spec=game),
            observer=Watcher(),
        )
    assert not (tmp_path / "results").exists()
    return str(caught.value)


@pytest.mark.parametrize("section", ["cloning", "gail"])
def test_a_and_b_what_differs_is_told_side_by_side(section: str, tmp_path: Path) -> None:
    demo = record(tmp_path / "right.demo", RIGHT, episodes=3, steps=5, action=ALWAYS_TWO)
    text = refusal(tmp_path, demo, spec(21, 2, 3), section=section)
    assert all(part in text for part in ("Rays", "90 (5 x 18)", "42 (2 x 21)"))
    text = refusal(tmp_path, demo, spec(18, 5, 4), section=section)
    assert all(part in text for part in ("branches (3)", "branches (4)"))


def test_e_f_and_g_wrong_paths_and_files_are_named_with_what_was_found(tmp_path: Path) -> None:
    folder = tmp_path / "my demos"
    folder.mkdir()
    record(folder / "right.demo", RIGHT)
    record(folder / "wrong.demo", spec(21, 2, 3))
    text = refusal(tmp_path, folder, RIGHT, section="cloning")
    assert "wrong.demo" in text
    assert "right.demo" not in text
    assert "nothing at" in refusal(tmp_path, tmp_path / "none.demo", RIGHT, section="cloning")
    (tmp_path / "empty.demo").write_bytes(b"")
    assert "empty.demo" in refusal(tmp_path, tmp_path / "empty.demo", RIGHT, section="cloning")
