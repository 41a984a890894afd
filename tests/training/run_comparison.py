"""What two runs have in common: their final states and their curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sparring.runs import read_checkpoint

__all__ = ["curves", "differences", "final_state"]

_TIME = {"wall_time_s", "timers"}


def final_state(folder: Path) -> dict[str, Any]:
    """The state in the newest checkpoint of the run in `folder`."""
    newest = max((folder / "run" / "checkpoints").glob("checkpoint-*.safetensors"))
    _, state = read_checkpoint(newest)
    return state


def differences(first: Any, second: Any, path: str = "") -> list[str]:
    """Paths at which two states differ; clocks and places on disk are left out."""
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return [f"{path}: {sorted(first)} != {sorted(second)}"]
        return [
            line
            for key in first
            if key not in _TIME and not path.endswith("statistics/writers")
            for line in differences(first[key], second[key], f"{path}/{key}")
        ]
    if isinstance(first, np.ndarray):
        same = first.dtype == second.dtype and np.array_equal(first, second)
        return [] if same else [path]
    return [] if first == second else [f"{path}: {first} != {second}"]


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every scalar of every event file of the run, read back."""
    found = {}
    for behavior in sorted(entry for entry in (folder / "run").iterdir() if list(entry.glob("events*"))):
        events = EventAccumulator(str(behavior))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found[f"{behavior.name}/{tag}"] = [(point.step, point.value) for point in events.Scalars(tag)]
    return found
