"""Settings of a whole run: the behaviors, the world, the checkpoints and the device."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator, model_validator

from sparring.settings._section import OWN, Section, not_among
from sparring.settings.behavior import BehaviorSettings
from sparring.settings.environment_parameters import EnvironmentParameter

__all__ = [
    "CheckpointSettings",
    "EngineSettings",
    "EnvironmentSettings",
    "EvaluationSettings",
    "ExportSettings",
    "RunSettings",
    "TorchSettings",
]

_DEVICE = re.compile(r"auto|mps|(cpu|cuda|xpu)(:\d{1,3})?", re.ASCII)

BestMeasure = Literal["rating", "reward"]
NonFiniteRule = Literal["stop", "drop"]


class EnvironmentSettings(Section):
    """The game and how many copies of it run."""

    world: str | None = Field(default=None, json_schema_extra=OWN)
    """Name of a built-in world, played in place of a game over the wire."""
    num_areas: PositiveInt | None = None
    """Copies of the game stepped together; null takes 8 of a world, and 1 in each process of a game."""
    num_threads: PositiveInt = Field(default=1, json_schema_extra=OWN)
    """Threads that step the copies; results do not depend on it."""
    seed: int = Field(default=-1, ge=-1)
    """Seed of every random stream of the run; -1 draws one and writes it down."""
    env_path: str | None = None
    """A game to start: an executable, possibly with arguments, the folder of a build or a macOS bundle."""
    env_args: tuple[str, ...] | None = None
    """Further arguments for the game."""
    base_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Where games connect, plus the number of each; null takes free ports, and 5004 for the editor."""
    num_envs: PositiveInt = 1
    """How many processes of the game run side by side."""
    timeout_wait: PositiveFloat = 60.0
    """Seconds to wait for a game's first contact and for every exchange."""
    max_lifetime_restarts: Annotated[int, Field(ge=-1)] = 10
    """How often a game that broke is started again in a run; -1 is without limit."""
    restarts_rate_limit_n: Annotated[int, Field(ge=-1)] = 1
    """How often within the period below; -1 is without limit."""
    restarts_rate_limit_period_s: PositiveFloat = 60.0
    """Seconds of that period."""

    @model_validator(mode="after")
    def _is_one_game(self) -> EnvironmentSettings:
        if self.world is not None and self.env_path is not None:
            raise ValueError(f"world {self.world} and env_path {self.env_path} contradict each other; keep one of them")
        if self.num_envs > 1 and self.env_path is None:
            raise ValueError(
                f"num_envs {self.num_envs} starts several processes of the game in env_path, which is not given"
                + ("; a world has num_areas" if self.world is not None else "")
            )
        return self


class EngineSettings(Section):
    """How a game over the wire is drawn and how fast it runs."""

    width: PositiveInt = 84
    """Width of its window."""
    height: PositiveInt = 84
    """Height of its window."""
    quality_level: NonNegativeInt = 5
    """Quality of its graphics."""
    time_scale: PositiveFloat = 20.0
    """How many times faster than real time it runs."""
    target_frame_rate: Annotated[int, Field(ge=-1)] = -1
    """Frames a second; -1 is as fast as possible."""
    capture_frame_rate: NonNegativeInt = 60
    """Frames of simulated time a second."""
    no_graphics: bool = False
    """Starts it without a window."""
    no_graphics_monitor: bool = False
    """Starts it without a window, except the first process."""


class CheckpointSettings(Section):
    """Where a run's files go and how it starts."""

    run_id: str = Field(default="ppo", min_length=1, max_length=300)
    """Name of the run, and of its folder."""
    results_dir: str = "results"
    """Folder of all runs."""
    resume: bool = False
    """Go on from the newest complete checkpoint."""
    load_model: bool = False
    """Older name of resume."""
    train_model: bool = False
    """Read for the sake of files that have it; without effect."""
    inference: bool = False
    """Let the policies play without learning."""
    force: bool = False
    """Move an existing run of this name aside and start anew."""
    initialize_from: str | None = None
    """Run whose weights are taken over; counters and opponents start anew."""
    best_measure: BestMeasure = Field(default="rating", json_schema_extra=OWN)
    """By what the best checkpoint is chosen: the rating, or the mean reward where there is no rating."""

    @model_validator(mode="after")
    def _begins_in_one_way(self) -> CheckpointSettings:
        ways = [name for name in ("resume", "force", "initialize_from") if getattr(self, name)]
        if "resume" in ways and len(ways) > 1:
            raise ValueError(f"{' and '.join(ways)} contradict each other; keep one of them")
        return self


class TorchSettings(Section):
    """Where the networks run."""

    device: str | None = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:N`, `mps` or `xpu`; null is auto."""
    threads: int = Field(default=0, ge=0, json_schema_extra=OWN)
    """Threads of the arithmetic; 0 takes what the machine has, at most 8."""

    @field_validator("device")
    @classmethod
    def _is_a_device(cls, name: str | None) -> str | None:
        if name is not None and not _DEVICE.fullmatch(name):
            raise not_among(name, ["auto", "cpu", "cuda", "cuda:N", "mps", "xpu"])
        return name


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
    """The game and how many copies of it run."""
    engine_settings: EngineSettings = EngineSettings()
    """How a game over the wire is drawn and how fast it runs."""
    environment_parameters: dict[str, EnvironmentParameter] = Field(default_factory=dict)
    """What is handed to the game by name: a number, a sampler or a curriculum."""
    checkpoint_settings: CheckpointSettings = CheckpointSettings()
    """Where the files go and how the run starts."""
    torch_settings: TorchSettings = TorchSettings()
    """Where the networks run."""
    evaluation: EvaluationSettings = Field(default=EvaluationSettings(), json_schema_extra=OWN)
    """The matches of the table of results."""
    export_settings: ExportSettings = Field(default=ExportSettings(), json_schema_extra=OWN)
    """The models a run writes."""
    debug: bool = False
    """Also says when snapshots are saved and opponents drawn."""
    non_finite: NonFiniteRule = Field(default="stop", json_schema_extra=OWN)
    """What happens when the game sends a NaN or an infinity: the run stops, or the episode is dropped."""
    writers: tuple[str, ...] = Field(default=("tensorboard", "jsonl", "console"), json_schema_extra=OWN)
    """Where statistics go, by plug-in name."""
