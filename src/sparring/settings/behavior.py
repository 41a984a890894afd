"""Settings of one behavior: its algorithm, network, reward signals, self-play and pace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    SerializeAsAny,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from sparring.settings._section import Section, validated_as
from sparring.settings.hyperparameters import Hyperparameters, PPOHyperparameters, hyperparameters_of
from sparring.settings.network import NetworkSettings
from sparring.settings.self_play import SelfPlaySettings

__all__ = [
    "BehaviorSettings",
    "BehavioralCloningSettings",
    "CuriositySettings",
    "ExtrinsicSettings",
    "GAILSettings",
    "RNDSettings",
    "RewardSignals",
]


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
    """The algorithm."""
    hyperparameters: SerializeAsAny[Hyperparameters] = PPOHyperparameters()
    """The algorithm's own numbers; which keys there are depends on trainer_type."""
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

    @classmethod
    def kind_of(cls, key: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a type annotation is anything
        """The hyperparameters depend on the algorithm."""
        return hyperparameters_of(str(given.get("trainer_type", "ppo"))) if key == "hyperparameters" else None

    @model_validator(mode="before")
    @classmethod
    def _numbers_of_the_algorithm(cls, values: object) -> object:
        """Without hyperparameters of its own a behavior has those of its algorithm, not those of PPO."""
        return {"hyperparameters": {}, **values} if isinstance(values, dict) else values

    @field_validator("hyperparameters", mode="wrap")
    @classmethod
    def _of_the_algorithm(
        cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Hyperparameters:
        section: Hyperparameters = validated_as(
            hyperparameters_of(info.data.get("trainer_type", "ppo")), value, handler
        )
        return section

    @field_validator("init_path")
    @classmethod
    def _is_unset(cls, value: object) -> object:
        if value is not None:
            raise ValueError("files of other toolkits are not read; name a run in checkpoint_settings.initialize_from")
        return value

    @model_validator(mode="after")
    def _sequence_fits_batch(self) -> BehaviorSettings:
        memory = self.network_settings.memory
        if memory is not None and memory.sequence_length > self.hyperparameters.batch_size:
            raise ValueError(
                f"memory.sequence_length {memory.sequence_length} is larger than "
                f"batch_size {self.hyperparameters.batch_size}"
            )
        return self
