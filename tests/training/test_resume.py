"""A run that was stopped, however often and however rudely, ends as if it had never been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sparring.runs import read_checkpoint
from tests import games
from tests.training.runs_in_process import small_settings, train_small

_TIME = {"wall_time_s", "timers"}
MOMENTS = [round(float(moment), 3) for moment in np.sort(np.random.default_rng(7).uniform(0.0, 1.0, 20))]
"""Twenty moments to stop at, as parts of the whole run."""


def _final_state(folder: Path) -> dict[str, Any]:
    newest = max((folder / "run" / "checkpoints").glob("checkpoint-*.safetensors"))
    _, state = read_checkpoint(newest)
    return state


def _differences(first: Any, second: Any, path: str = "") -> list[str]:
    """Paths at which two states differ; clocks and places on disk are left out."""
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return [f"{path}: {sorted(first)} != {sorted(second)}"]
        return [
            line
            for key in first
            if key not in _TIME and not path.endswith("statistics/writers")
            for line in _differences(first[key], second[key], f"{path}/{key}")
        ]
    if isinstance(first, np.ndarray):
        same = first.dtype == second.dtype and np.array_equal(first, second)
        return [] if same else [path]
    return [] if first == second else [f"{path}: {first} != {second}"]


def _curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    curves = {}
    for behavior in sorted(entry for entry in (folder / "run").iterdir() if list(entry.glob("events*"))):
        events = EventAccumulator(str(behavior))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            curves[f"{behavior.name}/{tag}"] = [(point.step, point.value) for point in events.Scalars(tag)]
    return curves


@pytest.fixture(scope="module", params=["two_roles", "duel"])
def straight(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("straight")
    train_small(small_settings(folder), getattr(games, request.param))
    return request.param, folder


@pytest.mark.parametrize("moment", MOMENTS)
def test_stopping_and_resuming_changes_no_bit(straight: tuple[str, Path], moment: float, tmp_path: Path) -> None:
    game, folder = straight
    settings = small_settings(tmp_path)
    length = _final_state(folder)["collector"]["environment_steps"]
    stopped = train_small(settings, getattr(games, game), stop_after=int(moment * length))
    train_small(settings, getattr(games, game), resume=True)
    assert stopped.was_interrupted
    assert _differences(_final_state(folder), _final_state(tmp_path)) == []
    curves = _curves(folder)
    assert curves == _curves(tmp_path)
    assert all(len({step for step, _ in points}) == len(points) for points in curves.values())
    assert any(tag.endswith("Self-play/ELO") for tag in curves)


def test_stopping_after_every_few_steps_changes_no_bit(straight: tuple[str, Path], tmp_path: Path) -> None:
    game, folder = straight
    settings = small_settings(tmp_path)
    report = train_small(settings, getattr(games, game), stop_after=23)
    while report.was_interrupted:
        report = train_small(settings, getattr(games, game), resume=True, stop_after=23)
    assert _differences(_final_state(folder), _final_state(tmp_path)) == []
    assert _curves(folder) == _curves(tmp_path)
