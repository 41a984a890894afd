"""Which files in a folder are checkpoints, by their names alone."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["best_checkpoint", "has_checkpoint", "rolling_checkpoint", "rolling_checkpoints"]

_ROLLING = re.compile(r"checkpoint-(\d{12,})\.safetensors", re.ASCII)


def best_checkpoint(folder: Path) -> Path:
    """Where the best checkpoint is, once there is one."""
    return folder / "best.safetensors"


def rolling_checkpoint(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step is, if it is there."""
    return folder / f"checkpoint-{step:012d}.safetensors"


def rolling_checkpoints(folder: Path) -> dict[int, Path]:
    """The checkpoints of steps of their own, by step."""
    if not folder.is_dir():
        return {}
    matches = ((path, _ROLLING.fullmatch(path.name)) for path in folder.iterdir())
    return {int(match[1]): path for path, match in matches if match and path.is_file()}


def has_checkpoint(folder: Path) -> bool:
    """Whether there is something to resume from."""
    return bool(rolling_checkpoints(folder)) or best_checkpoint(folder).is_file()
