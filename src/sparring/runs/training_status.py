"""The status file that tools for the known toolkit read: which models were exported, and the ratings."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

__all__ = ["BehaviorStatus", "ExportedModel", "models_of", "training_status"]

_STATS_FORMAT = "0.3.0"
_LAYOUT_OF = "1.1.0"
"""The release of the known toolkit whose layout the file has; readers of it look for the key."""


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """One exported model of a behavior."""

    steps: int
    file_path: str
    reward: float | None
    """Mean return of the episodes before it; None if none ended."""
    creation_time: float
    """Seconds since the epoch."""

    def as_json(self) -> dict[str, Any]:
        """The record with the keys readers know, their spelling included."""
        return {
            "steps": self.steps,
            "file_path": self.file_path,
            "reward": self.reward if self.reward is not None and math.isfinite(self.reward) else None,
            "creation_time": self.creation_time,
            "auxillary_file_paths": [],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ExportedModel:
        """The model that gave `record`; a KeyError, TypeError or ValueError where it is none."""
        reward = record["reward"]
        return cls(
            int(record["steps"]),
            str(record["file_path"]),
            None if reward is None else float(reward),
            float(record["creation_time"]),
        )


@dataclass(frozen=True, slots=True)
class BehaviorStatus:
    """What the status file says about one behavior."""

    checkpoints: Sequence[ExportedModel] = ()
    final_checkpoint: ExportedModel | None = None
    elo: float | None = None
    """Rating of the latest policy; None without self-play."""
    lessons: Mapping[str, int] = field(default_factory=dict)
    """Lesson number by environment parameter."""


def training_status(behaviors: Mapping[str, BehaviorStatus]) -> dict[str, Any]:
    """The status file's content."""
    status: dict[str, Any] = {}
    for name, behavior in behaviors.items():
        section: dict[str, Any] = {"checkpoints": [model.as_json() for model in behavior.checkpoints]}
        if behavior.final_checkpoint is not None:
            section["final_checkpoint"] = behavior.final_checkpoint.as_json()
        if behavior.elo is not None:
            section["elo"] = behavior.elo
        status[name] = section
        for parameter, lesson in behavior.lessons.items():
            status.setdefault(parameter, {})["lesson_num"] = lesson
    # Last, so that a behavior of this name cannot stand where readers look for the versions.
    status["metadata"] = {
        "stats_format_version": _STATS_FORMAT,
        "mlagents_version": _LAYOUT_OF,
        "torch_version": _version("torch"),
        "sparring_version": _version("sparring"),
        "python_version": platform.python_version(),
    }
    return status


def models_of(status: Any, behaviors: Iterable[str]) -> dict[str, list[ExportedModel]]:  # noqa: ANN401 - from a file
    """The models a status file lists, the final ones left out; what is no list of models counts as none."""
    return {name: _models(status, name) for name in behaviors}


def _models(status: Any, name: str) -> list[ExportedModel]:  # noqa: ANN401 - from a file
    try:
        return [ExportedModel.from_json(record) for record in status[name]["checkpoints"]]
    except (KeyError, TypeError, ValueError):
        return []


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
