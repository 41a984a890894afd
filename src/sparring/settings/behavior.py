"""Settings of one behavior: its algorithm, network, reward signals, self-play and pace."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, ValidationInfo, field_validator, model_validator

from sparring.settings._section import Section
from sparring.settings.network import NetworkSettings
from sparring.settings.self_play import SelfPlaySettings

__all__ = ["BehaviorSettings", "ExtrinsicSettings", "PPOHyperparameters", "RewardSignals", "ScheduleKind"]

ScheduleKind = Literal["linear", "constant"]


class PPOHyperparameters(Section):
    """Proximal policy optimization (Schulman et al. 2017)."""

    batch_size: PositiveInt = 1024
    """Experiences in a minibatch."""
    buffer_size: PositiveInt = 10_240
    """Experiences collected before an update."""
    learning_rate: PositiveFloat = 3e-4
    """Step size of Adam."""
    learning_rate_schedule: ScheduleKind = "linear"
    """Whether the learning rate falls to nothing over max_steps."""
    beta: float = Field(default=5e-3, ge=0.0)
    """Weight of the entropy bonus."""
    beta_schedule: ScheduleKind = "linear"
    """As learning_rate_schedule, for beta; follows it unless given."""
    epsilon: float = Field(default=0.2, gt=0.0, lt=1.0)
    """Clip range of the probability ratio and of the value."""
    epsilon_schedule: ScheduleKind = "linear"
    """As learning_rate_schedule, for epsilon; follows it unless given."""
    lambd: float = Field(default=0.95, ge=0.0, le=1.0)
    """Lambda of the generalized advantage estimate."""
    num_epoch: PositiveInt = 3
    """Passes over the collected experiences in an update."""
    shared_critic: bool = False
    """Whether actor and critic share their body."""
    max_grad_norm: PositiveFloat | None = None
    """Largest norm of the gradient of actor and of critic; longer ones are scaled down. Not clipped unless given."""

    @model_validator(mode="before")
    @classmethod
    def _schedules_follow_learning_rate(cls, values: object) -> object:
        if isinstance(values, dict) and "learning_rate_schedule" in values:
            kind = values["learning_rate_schedule"]
            return {"beta_schedule": kind, "epsilon_schedule": kind, **values}
        return values

    @model_validator(mode="after")
    def _batch_fits_buffer(self) -> PPOHyperparameters:
        if self.batch_size > self.buffer_size:
            raise ValueError(
                f"batch_size {self.batch_size} is larger than buffer_size {self.buffer_size}: nothing would be learned"
            )
        return self


class ExtrinsicSettings(Section):
    """The reward the game gives."""

    strength: float = 1.0
    """What the reward is multiplied with."""
    gamma: float = Field(default=0.99, ge=0.0, le=1.0)
    """Discount a step."""
    network_settings: NetworkSettings | None = None
    """Read for the sake of files that have it; the game's own reward needs no network."""


class RewardSignals(Section):
    """Where reward comes from."""

    extrinsic: ExtrinsicSettings = ExtrinsicSettings()
    """The game's own reward, with the group's reward added to the member's."""
    curiosity: dict[str, Any] | None = None
    """Not built in yet."""
    gail: dict[str, Any] | None = None
    """Not built in yet."""
    rnd: dict[str, Any] | None = None
    """Not built in yet."""

    @model_validator(mode="after")
    def _is_built(self) -> RewardSignals:
        asked = [name for name in ("curiosity", "gail", "rnd") if getattr(self, name) is not None]
        if asked:
            raise ValueError(f"{' and '.join(asked)} not built in yet; the reward signal there is: extrinsic")
        return self


class BehaviorSettings(Section):
    """Everything about how one behavior learns."""

    trainer_type: Literal["ppo", "sac", "poca"] = "ppo"
    """The algorithm; only ppo is built in yet."""
    hyperparameters: PPOHyperparameters = PPOHyperparameters()
    network_settings: NetworkSettings = NetworkSettings()
    reward_signals: RewardSignals = RewardSignals()
    self_play: SelfPlaySettings | None = None
    """Self-play; without it every team learns at once."""
    keep_checkpoints: int = Field(default=5, ge=0)
    """Checkpoints kept beside the best one; 0 keeps all."""
    checkpoint_interval: PositiveInt = 500_000
    """Learner steps between two checkpoints."""
    max_steps: PositiveInt = 500_000
    """Learner steps after which training ends; also the horizon of linear schedules."""
    time_horizon: PositiveInt = 64
    """Steps after which a trajectory is cut and its rest estimated by the critic."""
    summary_freq: PositiveInt = 50_000
    """Learner steps between two summaries."""
    even_checkpoints: bool = False
    """Spreads keep_checkpoints evenly over max_steps instead of saving every checkpoint_interval."""
    init_path: str | None = None
    """Only null: weights of another run are taken over with checkpoint_settings.initialize_from."""
    threaded: bool = False
    """Read for the sake of files that have it; without effect."""
    behavioral_cloning: dict[str, Any] | None = None
    """Not built in yet."""

    @property
    def checkpoint_every(self) -> int:
        """Learner steps between two checkpoints."""
        if self.even_checkpoints and self.keep_checkpoints:
            return max(1, self.max_steps // self.keep_checkpoints)
        return self.checkpoint_interval

    @field_validator("trainer_type")
    @classmethod
    def _is_built(cls, kind: str) -> str:
        if kind != "ppo":
            raise ValueError(f"{kind} is not built in yet; with trainer_type: ppo the rest of this section works")
        return kind

    @field_validator("init_path", "behavioral_cloning")
    @classmethod
    def _is_unset(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            return value
        if info.field_name == "init_path":
            raise ValueError("files of other toolkits are not read; name a run in checkpoint_settings.initialize_from")
        raise ValueError("imitation is not built in yet; leave the section away")

    @model_validator(mode="after")
    def _sequence_fits_batch(self) -> BehaviorSettings:
        memory = self.network_settings.memory
        if memory is not None and memory.sequence_length > self.hyperparameters.batch_size:
            raise ValueError(
                f"memory.sequence_length {memory.sequence_length} is larger than "
                f"batch_size {self.hyperparameters.batch_size}"
            )
        return self
