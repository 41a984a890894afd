"""Settings of one behavior: its algorithm, network, reward signals, self-play and pace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import (
    Field,
    PositiveInt,
    SerializeAsAny,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from sparring.settings._section import Section, not_among, validated_as
from sparring.settings.hyperparameters import (
    Hyperparameters,
    POCAHyperparameters,
    PPOHyperparameters,
    hyperparameters_of,
    trainer_types,
)
from sparring.settings.network import NetworkSettings
from sparring.settings.reward_signals import BehavioralCloningSettings, RewardSignals
from sparring.settings.self_play import SelfPlaySettings

__all__ = ["BehaviorSettings"]

_POCA_HEADS = 4


class BehaviorSettings(Section):
    """Everything about how one behavior learns."""

    trainer_type: str = "ppo"
    """The algorithm: ppo, sac, poca, or one of an installed package."""
    hyperparameters: SerializeAsAny[Hyperparameters] = PPOHyperparameters()
    """The algorithm's own numbers; which keys there are depends on trainer_type."""
    network_settings: NetworkSettings = NetworkSettings()
    """Sizes of the networks."""
    reward_signals: RewardSignals = RewardSignals()
    """Where reward comes from."""
    self_play: SelfPlaySettings | None = None
    """Self-play; without it every team learns at once."""
    behavioral_cloning: BehavioralCloningSettings | None = None
    """Learning from demonstrations beside the reward; none unless given."""
    init_path: str | None = None
    """A checkpoint to start from, for this behavior only."""
    keep_checkpoints: int = Field(default=5, ge=0)
    """Checkpoints kept beside the best one; 0 keeps all."""
    checkpoint_interval: PositiveInt = 500_000
    """Learner steps between two checkpoints."""
    even_checkpoints: bool = False
    """Spreads keep_checkpoints evenly over max_steps instead of saving every checkpoint_interval."""
    max_steps: PositiveInt = 500_000
    """Learner steps after which training ends; also the horizon of linear schedules."""
    time_horizon: PositiveInt = 64
    """Steps after which a trajectory is cut and its rest estimated by the critic."""
    summary_freq: PositiveInt = 50_000
    """Learner steps between two summaries."""
    threaded: bool = False
    """Read for the sake of files that have it; without effect."""

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

    @field_validator("trainer_type")
    @classmethod
    def _is_known(cls, name: str) -> str:
        known = trainer_types()
        if name not in known:
            raise not_among(name, known)
        return name

    @field_validator("hyperparameters", mode="wrap")
    @classmethod
    def _of_the_algorithm(
        cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Hyperparameters:
        section: Hyperparameters = validated_as(
            hyperparameters_of(info.data.get("trainer_type", "ppo")), value, handler
        )
        return section

    @model_validator(mode="after")
    def _sequence_fits_batch(self) -> BehaviorSettings:
        memory = self.network_settings.memory
        if memory is not None and memory.sequence_length > self.hyperparameters.batch_size:
            raise ValueError(
                f"memory.sequence_length {memory.sequence_length} is larger than "
                f"batch_size {self.hyperparameters.batch_size}"
            )
        return self

    @model_validator(mode="after")
    def _heads_share_units(self) -> BehaviorSettings:
        units = self.network_settings.hidden_units
        if isinstance(self.hyperparameters, POCAHyperparameters) and units % _POCA_HEADS:
            raise ValueError(
                f"poca needs hidden_units that its {_POCA_HEADS} attention heads can share evenly; "
                f"{units} is not a multiple of {_POCA_HEADS}"
            )
        return self
