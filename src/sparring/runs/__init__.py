"""The files of a run: its folder, its checkpoints, its settings as they were in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparring._exports import exports as _exports

if TYPE_CHECKING:
    from sparring.runs.checkpoint_file import CheckpointLabel, read_checkpoint, read_label, write_checkpoint
    from sparring.runs.checkpoint_store import CheckpointChoice, CheckpointStore, LoadedCheckpoint
    from sparring.runs.configuration import configuration_text
    from sparring.runs.installation import installed
    from sparring.runs.run_folder import RunFolder, StartMode, run_ids
    from sparring.runs.training_status import BehaviorStatus, ExportedModel

__all__ = [
    "BehaviorStatus",
    "CheckpointChoice",
    "CheckpointLabel",
    "CheckpointStore",
    "ExportedModel",
    "LoadedCheckpoint",
    "RunFolder",
    "StartMode",
    "configuration_text",
    "installed",
    "read_checkpoint",
    "read_label",
    "run_ids",
    "write_checkpoint",
]

__getattr__ = _exports(
    __name__,
    {
        "checkpoint_file": ("CheckpointLabel", "read_checkpoint", "read_label", "write_checkpoint"),
        "checkpoint_store": ("CheckpointChoice", "CheckpointStore", "LoadedCheckpoint"),
        "configuration": ("configuration_text",),
        "installation": ("installed",),
        "run_folder": ("RunFolder", "StartMode", "run_ids"),
        "training_status": ("BehaviorStatus", "ExportedModel"),
    },
)
