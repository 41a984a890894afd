"""Settings of a whole run: the behaviors, the world, the checkpoints and the device."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from sparring.settings._section import Section
from sparring.settings.behavior import BehaviorSettings

__all__ = [
    "CheckpointSettings",
    "EnvironmentSettings",
    "EvaluationSettings",
    "ExportSettings",
    "RunSettings",
    "TorchSettings",
]

BestMeasure = Literal["rating", "reward"]
NonFiniteRule = Literal["stop", "drop"]


class EnvironmentSettings(Section):
    """The game and how many copies of it run."""

    world: str | None = None
    """Name of a built-in world."""
    num_areas: PositiveInt = 8
    """Copies of the game stepped together."""
    num_threads: PositiveInt = 1
    """Threads that step the copies; results do not depend on it."""
    seed: int = Field(default=-1, ge=-1)
    """Seed of every random stream of the run; -1 draws one and writes it down."""


class CheckpointSettings(Section):
    """Where a run's files go and how it starts."""

    run_id: str = Field(default="ppo", min_length=1, max_length=300)
    """Name of the run, and of its folder."""
    results_dir: str = "results"
    """Folder of all runs."""
    resume: bool = False
    """Go on from the newest complete checkpoint."""
    force: bool = False
    """Move an existing run of this name aside and start anew."""
    initialize_from: str | None = None
    """Run whose weights are taken over; counters and opponents start anew."""
    best_measure: BestMeasure = "rating"
    """By what the best checkpoint is chosen: the rating, or the mean reward where there is no rating."""


class TorchSettings(Section):
    """Where the networks run."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:N`, `mps` or `xpu`."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of the arithmetic; 0 takes what the machine has, at most 8."""


class EvaluationSettings(Section):
    """The matches played at the end and by `sparring evaluate`."""

    matches: Annotated[int, Field(ge=0)] = 200
    """Matches for each row of the table; 0 plays none."""


class ExportSettings(Section):
    """The ONNX models a run writes."""

    opset: Annotated[int, Field(ge=9, le=20)] = 9
    """Operator set; 9 loads in every Unity version, 15 and 18 in newer ones."""
    each_checkpoint: bool = True
    """Whether every checkpoint has its models, not only the end of the run."""


class RunSettings(Section):
    """The whole of a run."""

    behaviors: dict[str, BehaviorSettings] = Field(default_factory=dict)
    """Settings by behavior name."""
    default_settings: BehaviorSettings | None = None
    """Settings of behaviors that are not listed."""
    env_settings: EnvironmentSettings = EnvironmentSettings()
    environment_parameters: dict[str, float] = Field(default_factory=dict)
    """Values handed to the game."""
    checkpoint_settings: CheckpointSettings = CheckpointSettings()
    torch_settings: TorchSettings = TorchSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    export_settings: ExportSettings = ExportSettings()
    non_finite: NonFiniteRule = "stop"
    """What happens when the game sends a NaN or an infinity: the run stops, or the episode is dropped."""
    writers: tuple[str, ...] = ("tensorboard", "jsonl", "console")
    """Where statistics go, by plug-in name."""
