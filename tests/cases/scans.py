"""Looks through everything a run wrote for numbers that are not finite."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

__all__ = ["non_finite_in"]


def non_finite_in(folder: Path) -> list[str]:
    """The places in checkpoints, models, event files and JSON of a run's folder that hold a NaN or an infinity.

    Raises:
        AssertionError: a kind of file is missing, so that a scan of it would say nothing.
    """
    scans = {
        "*.safetensors": _in_checkpoint,
        "*.onnx": _in_model,
        "events*": _in_events,
        "*.json*": _in_json,
    }
    found = []
    for pattern, scan in scans.items():
        paths = [path for path in sorted(folder.rglob(pattern)) if path.is_file()]
        assert paths, f"nothing like {pattern} in {folder}"
        found += [f"{path.relative_to(folder)}: {place}" for path in paths for place in scan(path)]
    return found


def _in_checkpoint(path: Path) -> Iterator[str]:
    constants: list[str] = []
    with safe_open(path, framework="np") as file:
        for text in (file.metadata() or {}).values():
            for line in text.splitlines():
                json.loads(line, parse_constant=constants.append)
        yield from constants
        for name in file.keys():  # noqa: SIM118 - the file is no dictionary
            if not np.isfinite(np.asarray(file.get_tensor(name), np.float64)).all():
                yield name


def _in_model(path: Path) -> Iterator[str]:
    for tensor in onnx.load(path).graph.initializer:
        if not np.isfinite(np.asarray(numpy_helper.to_array(tensor), np.float64)).all():
            yield tensor.name


def _in_events(path: Path) -> Iterator[str]:
    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    tags: dict[str, Any] = events.Tags()
    for tag in tags["scalars"]:
        yield from (f"{tag} at {point.step}" for point in events.Scalars(tag) if not math.isfinite(point.value))
    for tag in tags["histograms"]:
        for point in events.Histograms(tag):
            numbers = point.histogram_value
            if not all(map(math.isfinite, (numbers.min, numbers.max, numbers.sum, numbers.sum_squares))):
                yield f"{tag} at {point.step}"


def _in_json(path: Path) -> Iterator[str]:
    lines = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text("utf-8")]
    constants: list[str] = []
    for number, line in enumerate(lines, 1):
        constants.clear()
        json.loads(line, parse_constant=constants.append)
        yield from (f"line {number}: {constant}" for constant in constants)
