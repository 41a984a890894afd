"""Settings of the networks: sizes, image encoders, memory."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from sparring.plug_ins import plug_in_names
from sparring.settings._section import Section, not_among

__all__ = ["ENCODER_GROUP", "MemorySettings", "NetworkSettings", "visual_encoders"]

ENCODER_GROUP = "sparring.encoders"
"""Entry points of image encoders that packages offer."""

_BUILT_IN = ("fully_connected", "match3", "simple", "nature_cnn", "resnet")


def visual_encoders() -> list[str]:
    """The image encoders there are: Sparring's, and those of installed packages by name."""
    return plug_in_names(ENCODER_GROUP, _BUILT_IN)


class MemorySettings(Section):
    """A recurrent memory after the body of the network."""

    sequence_length: PositiveInt = 64
    """How many consecutive steps are learned from together."""
    memory_size: PositiveInt = 128
    """Numbers remembered: hidden and cell state of the LSTM together, so it must be even."""

    @field_validator("memory_size")
    @classmethod
    def _even(cls, size: int) -> int:
        if size % 2:
            raise ValueError(f"memory_size must be even (hidden and cell state share it); {size} is odd")
        return size


class NetworkSettings(Section):
    """Sizes of the actor, and of the critic beside it."""

    normalize: bool = False
    """Whether vector observations are normalized by their running mean and deviation."""
    hidden_units: PositiveInt = 128
    """Units of each layer of the body."""
    num_layers: int = Field(default=2, ge=1)
    """Layers of the body."""
    vis_encode_type: str = "simple"
    """Which encoder images go through: fully_connected, match3, simple, nature_cnn, resnet, or one of a package."""
    memory: MemorySettings | None = None
    """Recurrent memory; none unless given."""
    goal_conditioning_type: Literal["hyper", "none"] = "hyper"
    """How goal observations act on the body; matters only where an observation is marked as a goal."""
    deterministic: bool = False
    """Whether the most likely action is taken while collecting, instead of a sampled one."""

    @field_validator("vis_encode_type")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in _BUILT_IN and name not in (known := visual_encoders()):
            raise not_among(name, known)
        return name
