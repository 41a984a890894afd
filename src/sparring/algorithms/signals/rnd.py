"""Random network distillation: what was seldom seen is worth seeing (Burda et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from sparring.algorithms.signals.signal import LearnedSignal, Transitions, generator_of, without_memory
from sparring.networks import Body, Normalizer
from sparring.settings import RNDSettings
from sparring.specs import BehaviorSpec

__all__ = ["RNDNetwork", "RNDSignal"]


class RNDNetwork(nn.Module):
    """A random body that never changes, and one that learns to give the same features."""

    def __init__(self, spec: BehaviorSpec, settings: RNDSettings, *, generator: torch.Generator) -> None:
        super().__init__()
        network = without_memory(settings.network_settings)
        normalizer = Normalizer.of(spec, network)
        self.target = Body(spec, network, generator=generator, normalizer=normalizer).requires_grad_(False)
        self.predictor = Body(spec, network, generator=generator, normalizer=normalizer)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """‖predicted − target‖² by row."""
        with torch.no_grad():
            target, _ = self.target.forward(inputs)
        predicted, _ = self.predictor.forward(inputs)
        return (predicted - target).square().sum(1)


class RNDSignal(LearnedSignal):
    """Pays for what the predictor does not know yet, in the observation of the decision."""

    ignores_ends = True

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: RNDSettings,
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        self.behavior = behavior
        self.generator = generator_of(seed)
        self.network: RNDNetwork = RNDNetwork(spec, settings, generator=self.generator).to(device)
        self.optimizer = torch.optim.Adam(self.network.predictor.parameters(), lr=settings.learning_rate)

    def reward(self, transitions: Transitions) -> Tensor:
        """As `RewardSignal.reward`."""
        return self.network.forward(transitions.inputs)

    def update(self, transitions: Transitions) -> dict[str, float]:
        """As `RewardSignal.update`; the normalizer of both bodies takes the observations in afterwards."""
        loss = self.network.forward(transitions.inputs).mean()
        self._descend(loss)
        if self.network.predictor.normalizer is not None:
            self.network.predictor.normalizer.update(transitions.inputs[0])
        return {"Losses/RND Loss": loss.item()}
