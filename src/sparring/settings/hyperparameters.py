"""How each algorithm learns: the section `hyperparameters`, whose keys depend on `trainer_type`.

An installed package that adds an algorithm may add its keys as well: an entry point of the group
`sparring.hyperparameters`, of the same name as the algorithm, names a subclass of `Hyperparameters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from sparring.plug_ins import plug_in_names
from sparring.settings._section import OWN, Section

__all__ = [
    "Hyperparameters",
    "OnPolicyHyperparameters",
    "POCAHyperparameters",
    "PPOHyperparameters",
    "SACHyperparameters",
    "ScheduleKind",
    "hyperparameters_of",
    "trainer_types",
]

ScheduleKind = Literal["linear", "constant"]

_ALGORITHMS = "sparring.algorithms"
_HYPERPARAMETERS = "sparring.hyperparameters"


class Hyperparameters(Section):
    """What every algorithm has."""

    batch_size: PositiveInt = 1024
    """Experiences in a minibatch."""
    buffer_size: PositiveInt = 10_240
    """Experiences collected before an update."""
    learning_rate: PositiveFloat = 3e-4
    """Step size of Adam."""
    learning_rate_schedule: ScheduleKind = "linear"
    """Whether the learning rate falls to nothing over max_steps."""
    max_grad_norm: PositiveFloat | None = Field(default=None, json_schema_extra=OWN)
    """Largest norm of a network's gradient; longer ones are scaled down. Not clipped unless given."""

    @classmethod
    def cure_for_unknown(cls, key: str) -> str:
        """Names the algorithms that have the key."""
        owners = [name for name, section in _BUILT_IN.items() if key in section.model_fields]
        have = "has" if len(owners) == 1 else "have"
        return f"only {' and '.join(owners)} {have} it; leave it away" if owners else ""

    @model_validator(mode="after")
    def _batch_fits_buffer(self) -> Hyperparameters:
        if self.batch_size > self.buffer_size:
            raise ValueError(
                f"batch_size {self.batch_size} is larger than buffer_size {self.buffer_size}: nothing would be learned"
            )
        return self


class OnPolicyHyperparameters(Hyperparameters):
    """What PPO and POCA have in common."""

    beta: float = Field(default=5e-3, ge=0.0)
    """Weight of the entropy bonus."""
    beta_schedule: ScheduleKind = "linear"
    """As learning_rate_schedule, for beta; follows it unless given."""
    epsilon: float = Field(default=0.2, gt=0.0, lt=1.0)
    """Clip range of the probability ratio and of the value."""
    epsilon_schedule: ScheduleKind = "linear"
    """As learning_rate_schedule, for epsilon; follows it unless given."""
    lambd: float = Field(default=0.95, ge=0.0, le=1.0)
    """Lambda of the generalized advantage estimate (POCA: of the returns)."""
    num_epoch: PositiveInt = 3
    """Passes over the collected experiences in an update."""

    @model_validator(mode="before")
    @classmethod
    def _schedules_follow_learning_rate(cls, values: object) -> object:
        if isinstance(values, dict) and "learning_rate_schedule" in values:
            kind = values["learning_rate_schedule"]
            return {"beta_schedule": kind, "epsilon_schedule": kind, **values}
        return values


class PPOHyperparameters(OnPolicyHyperparameters):
    """Proximal policy optimization (Schulman et al. 2017)."""

    shared_critic: bool = False
    """Whether actor and critic share their body."""


class POCAHyperparameters(OnPolicyHyperparameters):
    """Posthumous credit assignment for groups (Cohen et al. 2022)."""


class SACHyperparameters(Hyperparameters):
    """Soft actor-critic (Haarnoja et al. 2018)."""

    batch_size: PositiveInt = 128
    """Experiences in a minibatch."""
    buffer_size: PositiveInt = 50_000
    """Experiences the replay holds."""
    learning_rate_schedule: ScheduleKind = "constant"
    """Whether the learning rate falls to nothing over max_steps."""
    buffer_init_steps: NonNegativeInt = 0
    """Steps before the first update; more of them than the replay holds leave the newest."""
    tau: float = Field(default=0.005, gt=0.0, le=1.0)
    """How far the target network follows the critic at each update."""
    steps_per_update: PositiveFloat = 1.0
    """Agent steps for each update."""
    save_replay_buffer: bool = False
    """Whether the replay is saved with the checkpoint, so that a resumed run need not fill it anew."""
    init_entcoef: PositiveFloat = 1.0
    """Entropy coefficient at the beginning; it is learned from there."""
    reward_signal_steps_per_update: PositiveFloat = 1.0
    """Agent steps for each update of the reward signals; as steps_per_update unless given."""

    @model_validator(mode="before")
    @classmethod
    def _signals_follow_policy(cls, values: object) -> object:
        if isinstance(values, dict) and "steps_per_update" in values:
            return {"reward_signal_steps_per_update": values["steps_per_update"], **values}
        return values


_BUILT_IN: Mapping[str, type[Hyperparameters]] = MappingProxyType(
    {"ppo": PPOHyperparameters, "sac": SACHyperparameters, "poca": POCAHyperparameters}
)


def trainer_types() -> list[str]:
    """The algorithms whose settings are known: those of Sparring, and those of installed packages by name."""
    return plug_in_names(_ALGORITHMS, _BUILT_IN)


def hyperparameters_of(trainer_type: str) -> type[Hyperparameters]:
    """The section of an algorithm; that of PPO for one that brings none of its own, and for an unknown one."""
    built_in = _BUILT_IN.get(trainer_type)
    if built_in is not None:
        return built_in
    for point in entry_points(group=_HYPERPARAMETERS, name=trainer_type):
        section = point.load()
        if isinstance(section, type) and issubclass(section, Hyperparameters):
            return section
    return PPOHyperparameters
