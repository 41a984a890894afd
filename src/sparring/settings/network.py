"""Settings of the networks: sizes, image encoders, memory."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from sparring.settings._section import Section

__all__ = ["MemorySettings", "NetworkSettings", "VisualEncoder"]

VisualEncoder = Literal["fully_connected", "match3", "simple", "nature_cnn", "resnet"]


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
    vis_encode_type: VisualEncoder = "simple"
    """Which encoder image observations go through."""
    memory: MemorySettings | None = None
    """Recurrent memory; none unless given."""
    goal_conditioning_type: Literal["hyper", "none"] = "hyper"
    """How goal observations act on the body; matters only where an observation is marked as a goal."""
    deterministic: bool = False
    """Whether the most likely action is taken while collecting, instead of a sampled one."""
