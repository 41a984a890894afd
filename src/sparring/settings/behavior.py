"""Settings of one behavior: its algorithm, network, reward signals, self-play and pace."""

from __future__ import annotations

from typing import Literal

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


class CuriositySettings(Section):
    """Reward for what could not be foreseen (Pathak et al. 2017)."""

    strength: float = Field(default=1.0, ge=0.0)
    """What the reward is multiplied with."""
    gamma: float = Field(default=0.99, ge=0.0, le=1.0)
    """Discount a step."""
    network_settings: NetworkSettings = NetworkSettings()
    """The signal's own network; memory is left out."""
    learning_rate: PositiveFloat = 3e-4
    """Step size of Adam."""


class RNDSettings(Section):
    """Reward for what was seldom seen (Burda et al. 2018)."""

    strength: float = Field(default=1.0, ge=0.0)
    """What the reward is multiplied with."""
    gamma: float = Field(default=0.99, ge=0.0, le=1.0)
    """Discount a step."""
    network_settings: NetworkSettings = NetworkSettings()
    """The signal's own network; memory is left out."""
    learning_rate: PositiveFloat = 1e-4
    """Step size of Adam."""


class GAILSettings(Section):
    """Reward for what looks like demonstrations (Ho and Ermon 2016)."""

    strength: float = Field(default=1.0, ge=0.0)
    """What the reward is multiplied with."""
    gamma: float = Field(default=0.99, ge=0.0, le=1.0)
    """Discount a step."""
    network_settings: NetworkSettings = NetworkSettings()
    """The signal's own network; memory is left out."""
    learning_rate: PositiveFloat = 3e-4
    """Step size of Adam."""
    demo_path: str
    """A demonstration, or a folder of them."""
    use_actions: bool = False
    """Whether the discriminator sees actions and ends too."""
    use_vail: bool = False
    """Whether only a noisy code reaches the discriminator (Peng et al. 2019)."""


class BehavioralCloningSettings(Section):
    """Learning to do as demonstrations do, before and beside the reward."""

    demo_path: str
    """A demonstration, or a folder of them."""
    steps: int = Field(default=0, ge=0)
    """Learner steps after which it ends, falling linearly; 0 goes on for ever."""
    strength: float = Field(default=1.0, ge=0.0)
    """Learning rate as a part of the algorithm's."""
    samples_per_update: int = Field(default=0, ge=0)
    """Most demonstrated decisions in a pass; 0 takes all."""
    num_epoch: PositiveInt | None = None
    """Passes over the demonstrations in an update; 3 unless given."""
    batch_size: PositiveInt | None = None
    """Decisions in a minibatch; the algorithm's unless given."""


class RewardSignals(Section):
    """Where reward comes from."""

    extrinsic: ExtrinsicSettings = ExtrinsicSettings()
    """The game's own reward, with the group's reward added to the member's."""
    curiosity: CuriositySettings | None = None
    gail: GAILSettings | None = None
    rnd: RNDSettings | None = None


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
    behavioral_cloning: BehavioralCloningSettings | None = None

    @property
    def checkpoint_every(self) -> int:
        """Learner steps between two checkpoints."""
        if self.even_checkpoints and self.keep_checkpoints:
            return max(1, self.max_steps // self.keep_checkpoints)
        return self.checkpoint_interval

    @field_validator("trainer_type")
    @classmethod
    def _is_built(cls, kind: str) -> str:
        if kind not in ("ppo", "poca"):
            raise ValueError(f"{kind} is not built in yet; with trainer_type: ppo the rest of this section works")
        return kind

    @field_validator("init_path")
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
