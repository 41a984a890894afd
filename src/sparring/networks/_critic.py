"""Critics: from observations to one value a reward signal."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._actor import Actor
from ._body import Body
from ._heads import ActionParameters
from ._layers import Dense, xavier_uniform
from ._normalizer import Normalizer

__all__ = ["Critic", "SharedActorCritic"]


def _value_heads(signals: Sequence[str], features: int, generator: torch.Generator) -> Dense:
    """One Xavier-uniform head a signal, kept as the rows of one layer."""
    return Dense(xavier_uniform(len(signals), features, outputs=1, generator=generator))


class Critic(nn.Module):
    """A body of its own and a value head for each reward signal.

    Args:
        spec: what the agents see.
        settings: as the actor's.
        signals: names of the reward signals, in the order of the columns of the values.
        generator: CPU generator all weights are drawn from.
        normalizer: the actor's, to share it; None makes an own one if `settings` asks.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        settings: NetworkSettings,
        *,
        signals: Sequence[str],
        generator: torch.Generator,
        normalizer: Normalizer | None = None,
    ) -> None:
        super().__init__()
        self.signals = tuple(signals)
        self.body = Body(spec, settings, generator=generator, normalizer=normalizer)
        self.values = _value_heads(self.signals, self.body.features, generator)
        self.memory_size = self.body.memory_size

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer of the vector observations."""
        return self.body.normalizer

    def forward(
        self, inputs: Sequence[Tensor], memory: Tensor | None = None, sequence_length: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        """Values `[B * L, signals]` and memories; arguments as in `Body.forward`."""
        features, memory = self.body.forward(inputs, memory, sequence_length)
        return self.values.forward(features), memory


class SharedActorCritic(nn.Module):
    """An actor whose features also feed the value heads: one body for both.

    Attributes:
        actor: the actor; acting, snapshots and export need nothing else.
        values: the value heads.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        settings: NetworkSettings,
        *,
        signals: Sequence[str],
        generator: torch.Generator,
        squash: bool = False,
        normalizer: Normalizer | None = None,
    ) -> None:
        super().__init__()
        self.signals = tuple(signals)
        self.actor = Actor(spec, settings, generator=generator, squash=squash, normalizer=normalizer)
        self.values = _value_heads(self.signals, self.actor.body.features, generator)
        self.memory_size = self.actor.memory_size

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer of the vector observations."""
        return self.actor.normalizer

    def forward(
        self, inputs: Sequence[Tensor], memory: Tensor | None = None, sequence_length: int = 1
    ) -> tuple[ActionParameters, Tensor, Tensor | None]:
        """Action parameters, values `[B * L, signals]` and memories; arguments as in `Body.forward`."""
        features, memory = self.actor.body.forward(inputs, memory, sequence_length)
        return self.actor.heads.forward(features), self.values.forward(features), memory
