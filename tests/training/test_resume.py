"""A run that was stopped, however often and however rudely, ends as if it had never been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import games
from tests.training.run_comparison import curves, differences, final_state
from tests.training.runs_in_process import small_settings, train_small

MOMENTS = [round(float(moment), 3) for moment in np.sort(np.random.default_rng(7).uniform(0.0, 1.0, 20))]
"""Twenty moments to stop at, as parts of the whole run."""


@pytest.fixture(scope="module", params=["two_roles", "duel"])
def straight(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("straight")
    train_small(small_settings(folder), getattr(games, request.param))
    return request.param, folder


@pytest.mark.parametrize("moment", MOMENTS)
def test_stopping_and_resuming_changes_no_bit(straight: tuple[str, Path], moment: float, tmp_path: Path) -> None:
    game, folder = straight
    settings = small_settings(tmp_path)
    length = final_state(folder)["collector"]["environment_steps"]
    stopped = train_small(settings, getattr(games, game), stop_after=int(moment * length))
    train_small(settings, getattr(games, game), resume=True)
    assert stopped.was_interrupted
    assert differences(final_state(folder), final_state(tmp_path)) == []
    expected = curves(folder)
    assert expected == curves(tmp_path)
    assert all(len({step for step, _ in points}) == len(points) for points in expected.values())
    assert any(tag.endswith("Self-play/ELO") for tag in expected)


def test_stopping_after_every_few_steps_changes_no_bit(straight: tuple[str, Path], tmp_path: Path) -> None:
    game, folder = straight
    settings = small_settings(tmp_path)
    report = train_small(settings, getattr(games, game), stop_after=23)
    while report.was_interrupted:
        report = train_small(settings, getattr(games, game), resume=True, stop_after=23)
    assert differences(final_state(folder), final_state(tmp_path)) == []
    assert curves(folder) == curves(tmp_path)
