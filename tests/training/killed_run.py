"""A run of a small game in a process of its own that tells each environment step; test_kill kills it."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from sparring.settings import RunSettings
from tests import games
from tests.training.runs_in_process import small_settings, train_small

__all__ = ["settings_to_be_killed", "train_and_tell"]


def settings_to_be_killed(folder: Path) -> RunSettings:
    """Saves so often that many of the kills fall into saving."""
    return small_settings(folder, checkpoint_interval=12, keep_checkpoints=3)


def train_and_tell(folder: Path, resume: bool, steps: Connection) -> None:
    """Trains in the folder and sends the number of each environment step."""
    step = 0

    def tell() -> bool:
        nonlocal step
        step += 1
        steps.send(step)
        return False

    train_small(settings_to_be_killed(folder), games.duel, resume=resume, should_stop=tell)
