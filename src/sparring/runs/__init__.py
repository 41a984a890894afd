"""The files of a run: its folder, its checkpoints, its settings as they were in force."""

from sparring.runs.checkpoint_file import CheckpointLabel, read_checkpoint, read_label, write_checkpoint
from sparring.runs.checkpoint_store import CheckpointChoice, CheckpointStore, LoadedCheckpoint
from sparring.runs.configuration import configuration_text
from sparring.runs.installation import installation
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
    "installation",
    "read_checkpoint",
    "read_label",
    "run_ids",
    "write_checkpoint",
]
