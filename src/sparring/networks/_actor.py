"""The actor: from observations to the parameters of an action distribution."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._body import Body
from ._heads import ActionHeads, ActionParameters
from ._normalizer import Normalizer

__all__ = ["Actor"]


class Actor(nn.Module):
    """A body and the heads of its actions.

    Args:
        spec: what the agents see and do.
        settings: sizes, encoders, memory.
        generator: CPU generator all weights are drawn from; equal seeds give equal weights.
        squash: continuous actions go through tanh and their deviation depends on the observation (SAC); without, the
            deviation is a free parameter (PPO, POCA).
        normalizer: one to share with a critic (`Normalizer.of` makes it); None makes an own one if `settings` asks.

    Raises:
        SpecError: a sensor no encoder fits, or an image smaller than its encoder needs.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        settings: NetworkSettings,
        *,
        generator: torch.Generator,
        squash: bool = False,
        normalizer: Normalizer | None = None,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.settings = settings
        self.squash = squash
        self.body = Body(spec, settings, generator=generator, normalizer=normalizer)
        self.heads = ActionHeads(self.body.features, spec.action_spec, squash=squash, generator=generator)
        self.memory_size = self.body.memory_size

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer of the vector observations."""
        return self.body.normalizer

    def forward(
        self, inputs: Sequence[Tensor], memory: Tensor | None = None, sequence_length: int = 1
    ) -> tuple[ActionParameters, Tensor | None]:
        """One decision a row; arguments and memories as in `Body.forward`."""
        features, memory = self.body.forward(inputs, memory, sequence_length)
        return self.heads.forward(features), memory
