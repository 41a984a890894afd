"""The reward the game gives."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms.signals.signal import RewardSignal, Transitions
from sparring.settings import ExtrinsicSettings
from sparring.specs import BehaviorSpec

__all__ = ["ExtrinsicSignal"]


class ExtrinsicSignal(RewardSignal):
    """The game's own reward, the group's included."""

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: ExtrinsicSettings,
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        del behavior, spec, settings, device, seed

    def reward(self, transitions: Transitions) -> Tensor:
        """As `RewardSignal.reward`."""
        return transitions.reward
