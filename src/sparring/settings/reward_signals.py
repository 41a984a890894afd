"""Where reward comes from: the game, and what agents can be paid besides; and learning from demonstrations."""

from __future__ import annotations

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from sparring.settings._section import Section
from sparring.settings.network import NetworkSettings

__all__ = [
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
    demo_path: str = Field(min_length=1)
    """A demonstration, or a folder of them."""
    use_actions: bool = False
    """Whether the discriminator sees actions and ends too."""
    use_vail: bool = False
    """Whether only a noisy code reaches the discriminator (Peng et al. 2019)."""


class RewardSignals(Section):
    """Where reward comes from; a section that lists signals has those and no others."""

    extrinsic: ExtrinsicSettings | None = ExtrinsicSettings()
    """The game's own reward, with the group's reward added to the member's."""
    curiosity: CuriositySettings | None = None
    """Reward for what could not be foreseen."""
    gail: GAILSettings | None = None
    """Reward for what looks like demonstrations."""
    rnd: RNDSettings | None = None
    """Reward for what was seldom seen."""

    @model_validator(mode="before")
    @classmethod
    def _listed_ones_are_all(cls, values: object) -> object:
        if isinstance(values, dict) and values and "extrinsic" not in values:
            return {"extrinsic": None, **values}
        return values

    @model_validator(mode="after")
    def _pays_for_something(self) -> RewardSignals:
        if not any((self.extrinsic, self.curiosity, self.gail, self.rnd)):
            raise ValueError("every reward signal is null: there would be nothing to learn from")
        return self


class BehavioralCloningSettings(Section):
    """Learning to do as demonstrations do, before and beside the reward."""

    demo_path: str = Field(min_length=1)
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
