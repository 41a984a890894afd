"""What a user may set, as frozen and checked sections; one model a section of the settings file."""

from sparring.settings.behavior import (
    BehaviorSettings,
    ExtrinsicSettings,
    PPOHyperparameters,
    RewardSignals,
    ScheduleKind,
)
from sparring.settings.network import MemorySettings, NetworkSettings, VisualEncoder
from sparring.settings.run import (
    CheckpointSettings,
    EngineSettings,
    EnvironmentSettings,
    EvaluationSettings,
    ExportSettings,
    NonFiniteRule,
    RunSettings,
    TorchSettings,
)
from sparring.settings.self_play import OutcomeRule, SelfPlaySettings

__all__ = [
    "BehaviorSettings",
    "CheckpointSettings",
    "EngineSettings",
    "EnvironmentSettings",
    "EvaluationSettings",
    "ExportSettings",
    "ExtrinsicSettings",
    "MemorySettings",
    "NetworkSettings",
    "NonFiniteRule",
    "OutcomeRule",
    "PPOHyperparameters",
    "RewardSignals",
    "RunSettings",
    "ScheduleKind",
    "SelfPlaySettings",
    "TorchSettings",
    "VisualEncoder",
]
