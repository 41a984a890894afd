"""A process that trains the case's duel and is killed, by a signal nobody can catch, while it saves a checkpoint."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from sparring.runs import _atomic, checkpoint_store
from tests import games
from tests.training.runs_in_process import small_settings, train_small

__all__ = ["MOMENTS"]

MOMENTS = ("half written", "renamed")


def kill_at(moment: str, *, save: int) -> None:
    """Arranges the end of this process: at a moment of the save of that number, counted from 1."""
    patch = pytest.MonkeyPatch()
    sync, sync_folder = os.fsync, _atomic._sync_folder
    saves = 0

    def counting(path: Path, content: bytes) -> None:
        nonlocal saves
        saves += path.name.startswith("checkpoint-")
        _atomic.replace_file(path, content)

    def killing_sync(descriptor: int) -> None:
        sync(descriptor)
        if saves == save and moment == "half written":
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def killing_sync_folder(folder: Path) -> None:
        if saves == save and moment == "renamed":
            os.kill(os.getpid(), signal.SIGKILL)
        sync_folder(folder)

    patch.setattr(checkpoint_store, "replace_file", counting)
    patch.setattr(os, "fsync", killing_sync)
    patch.setattr(_atomic, "_sync_folder", killing_sync_folder)


def main() -> None:
    """Trains in the folder named first and dies at the moment named second, in the third save."""
    kill_at(sys.argv[2], save=3)
    train_small(small_settings(Path(sys.argv[1])), games.duel)


if __name__ == "__main__":
    main()
