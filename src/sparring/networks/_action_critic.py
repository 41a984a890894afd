"""Critics of actions: from observations and a continuous action to the values of choices."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._body import Body
from ._layers import Dense, kaiming_normal, xavier_uniform
from ._normalizer import Normalizer

__all__ = ["ActionCritic"]


class ActionCritic(nn.Module):
    """Q: for each reward signal one number for each choice of every branch, or one alone without branches.

    The continuous action joins before the last of `num_layers`, behind the memory: what an agent remembers depends on
    what it saw, so values of another action in the same place need that layer only.

    Args:
        spec: what the agents see and do.
        settings: as the actor's.
        signals: names of the reward signals.
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
        actions = spec.action_spec
        self.outputs = max(1, actions.total_choices)
        if actions.continuous_size:
            settings = settings.model_copy(update={"num_layers": max(1, settings.num_layers - 1)})
        self.body = Body(spec, settings, generator=generator, normalizer=normalizer)
        width = self.body.features
        self.join: Dense | None = None
        if actions.continuous_size:
            hidden = settings.hidden_units
            self.join = Dense(kaiming_normal(hidden, width + actions.continuous_size, generator=generator))
            width = hidden
        rows = len(self.signals) * self.outputs
        self.values = Dense(xavier_uniform(rows, width, outputs=self.outputs, generator=generator))

    def forward(self, features: Tensor, continuous: Tensor) -> Tensor:
        """Values `[rows, signals, outputs]`.

        Args:
            features: `[rows, …]` of the body.
            continuous: `[rows, continuous size]` as the game is sent it; gradients reach it.
        """
        if self.join is not None:
            features = F.silu(self.join.forward(torch.cat((features, continuous), dim=1)))
        return self.values.forward(features).view(len(features), len(self.signals), self.outputs)
