"""A process that trains a small game and tells each environment step; run by test_kill, which kills it."""

from __future__ import annotations

import sys
from pathlib import Path

from sparring.settings import RunSettings
from tests import games
from tests.training.runs_in_process import small_settings, train_small

__all__ = ["settings_to_be_killed"]


def settings_to_be_killed(folder: Path) -> RunSettings:
    """Saves so often that many of the kills fall into saving."""
    return small_settings(folder, checkpoint_interval=12, keep_checkpoints=3)


def main() -> None:
    """Trains in the folder named first; resumes if the second argument says so."""
    folder, resume = Path(sys.argv[1]), sys.argv[2] == "resume"
    steps = 0

    def tell() -> bool:
        nonlocal steps
        steps += 1
        print(f"step {steps}", flush=True)  # noqa: T201 - the parent reads it
        return False

    train_small(settings_to_be_killed(folder), games.duel, resume=resume, should_stop=tell)


if __name__ == "__main__":
    main()
