"""What a user may set, as frozen and checked sections; one model a section of the settings file."""

from sparring.settings.behavior import (
    BehavioralCloningSettings,
    BehaviorSettings,
    CuriositySettings,
    ExtrinsicSettings,
    GAILSettings,
    RewardSignals,
    RNDSettings,
)
from sparring.settings.hyperparameters import (
    Hyperparameters,
    OnPolicyHyperparameters,
    POCAHyperparameters,
    PPOHyperparameters,
    SACHyperparameters,
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
    "BehavioralCloningSettings",
    "CheckpointSettings",
    "CuriositySettings",
    "EngineSettings",
    "EnvironmentSettings",
    "EvaluationSettings",
    "ExportSettings",
    "ExtrinsicSettings",
    "GAILSettings",
    "Hyperparameters",
    "MemorySettings",
    "NetworkSettings",
    "NonFiniteRule",
    "OnPolicyHyperparameters",
    "OutcomeRule",
    "POCAHyperparameters",
    "PPOHyperparameters",
    "RNDSettings",
    "RewardSignals",
    "RunSettings",
    "SACHyperparameters",
    "ScheduleKind",
    "SelfPlaySettings",
    "TorchSettings",
    "VisualEncoder",
]
