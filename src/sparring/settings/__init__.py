"""What a user may set, as frozen and checked sections; one model a section of the settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparring._exports import exports as _exports

if TYPE_CHECKING:
    from sparring.settings.behavior import BehaviorSettings
    from sparring.settings.environment_parameters import (
        CompletionCriteria,
        ConstantParameters,
        Curriculum,
        EnvironmentParameter,
        GaussianParameters,
        Lesson,
        LessonValue,
        MultiRangeParameters,
        Sampler,
        SamplerParameters,
        UniformParameters,
    )
    from sparring.settings.hyperparameters import (
        Hyperparameters,
        OnPolicyHyperparameters,
        POCAHyperparameters,
        PPOHyperparameters,
        SACHyperparameters,
        ScheduleKind,
    )
    from sparring.settings.network import MemorySettings, NetworkSettings, visual_encoders
    from sparring.settings.reward_signals import (
        BehavioralCloningSettings,
        CuriositySettings,
        ExtrinsicSettings,
        GAILSettings,
        RewardSignals,
        RNDSettings,
    )
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
    "CompletionCriteria",
    "ConstantParameters",
    "CuriositySettings",
    "Curriculum",
    "EngineSettings",
    "EnvironmentParameter",
    "EnvironmentSettings",
    "EvaluationSettings",
    "ExportSettings",
    "ExtrinsicSettings",
    "GAILSettings",
    "GaussianParameters",
    "Hyperparameters",
    "Lesson",
    "LessonValue",
    "MemorySettings",
    "MultiRangeParameters",
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
    "Sampler",
    "SamplerParameters",
    "ScheduleKind",
    "SelfPlaySettings",
    "TorchSettings",
    "UniformParameters",
    "visual_encoders",
]

__getattr__ = _exports(
    __name__,
    {
        "behavior": ("BehaviorSettings",),
        "environment_parameters": (
            "CompletionCriteria",
            "ConstantParameters",
            "Curriculum",
            "EnvironmentParameter",
            "GaussianParameters",
            "Lesson",
            "LessonValue",
            "MultiRangeParameters",
            "Sampler",
            "SamplerParameters",
            "UniformParameters",
            "visual_encoders",
        ),
        "hyperparameters": (
            "Hyperparameters",
            "OnPolicyHyperparameters",
            "POCAHyperparameters",
            "PPOHyperparameters",
            "SACHyperparameters",
            "ScheduleKind",
        ),
        "network": ("MemorySettings", "NetworkSettings", "visual_encoders"),
        "reward_signals": (
            "BehavioralCloningSettings",
            "CuriositySettings",
            "ExtrinsicSettings",
            "GAILSettings",
            "RewardSignals",
            "RNDSettings",
        ),
        "run": (
            "CheckpointSettings",
            "EngineSettings",
            "EnvironmentSettings",
            "EvaluationSettings",
            "ExportSettings",
            "NonFiniteRule",
            "RunSettings",
            "TorchSettings",
        ),
        "self_play": ("OutcomeRule", "SelfPlaySettings"),
    },
)
