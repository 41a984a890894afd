"""The critic of a group: values of what all members see, and baselines that leave out what one of them did."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._body import Body
from ._entities import EntityEncoder
from ._layers import Dense, normal, xavier_uniform
from ._memory import Memory
from ._normalizer import Normalizer

__all__ = ["GroupCritic"]


class GroupCritic(nn.Module):
    """Attention over the members of a group, joint layers, memory and two kinds of output from the same heads.

    A value looks at what every member sees. A baseline looks at what one member sees and at what its mates see *and
    do*: what is left of a return after it is what the member's own action made of it (Cohen et al. 2022).

    Each member's encoding is embedded, alone or together with its action; one residual self-attention layer runs over
    all of them, whose mean goes through `num_layers` layers and the memory. The heads also read how many members there
    are, from −1 for a member alone to +1 for the largest group seen so far.

    Args:
        spec: what the members see and do.
        settings: as the actor's; `hidden_units` must be a multiple of 4, the number of attention heads.
        signals: names of the reward signals, in the order of the columns of the values.
        generator: CPU generator all weights are drawn from.
        normalizer: the actor's, to share it; None makes an own one if `settings` asks.

    Attributes:
        largest: int64 scalar, members of the largest group seen so far.
        action_size: numbers an action is given as.
        memory_size: 0 without memory.
    """

    largest: Tensor

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
        hidden = settings.hidden_units
        self.action_size = spec.action_spec.continuous_size + spec.action_spec.total_choices
        self.encoder = Body(spec, settings, generator=generator, normalizer=normalizer, only_encodes=True)
        seen = self.encoder.features
        self.members = EntityEncoder([seen, seen + self.action_size], 0, size=hidden, generator=generator)
        deviation = math.sqrt(0.125 / hidden)
        self.layers = nn.ModuleList(
            Dense(normal((hidden, hidden), deviation=deviation, generator=generator))
            for _ in range(settings.num_layers)
        )
        self.memory: Memory | None = None
        if settings.memory is not None:
            self.memory = Memory(hidden, settings.memory.memory_size, generator=generator)
        self.memory_size = 0 if self.memory is None else self.memory.memory_size
        features = hidden if self.memory is None else self.memory.hidden_size
        self.values = Dense(xavier_uniform(len(self.signals), features + 1, outputs=1, generator=generator))
        self.register_buffer("largest", torch.ones((), dtype=torch.int64, device="cpu"))

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer of the vector observations."""
        return self.encoder.normalizer

    def encode(self, inputs: Sequence[Tensor]) -> Tensor:
        """What single members see, `[rows, encoding size]`."""
        encodings, _ = self.encoder.forward(inputs)
        return encodings

    def see_groups(self, present: Tensor) -> None:
        """Takes in how large groups are.

        Args:
            present: bool `[rows, most mates]`.
        """
        if len(present):
            self.largest.fill_(max(int(self.largest), 1 + int(present.sum(1).max())))

    def value(
        self,
        own: Tensor,
        mates: Tensor,
        present: Tensor,
        memory: Tensor | None = None,
        sequence_length: int = 1,
        *,
        has_own: Tensor | None = None,
        places: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Values `[rows, signals]` of groups, and the memories after.

        Args:
            own: `[rows, encoding size]`, a member's.
            mates: `[rows, most mates, encoding size]`, the other members'.
            present: bool `[rows, most mates]`, False where there is no mate.
            memory, sequence_length: as for `Body.forward`.
            has_own: bool `[rows]`, False where the member itself is no longer there; None if all are.
            places: the rows whose values are asked for; None for all.
        """
        everybody = torch.cat((own.unsqueeze(1), mates), dim=1)
        first = present.new_ones(len(present)) if has_own is None else has_own
        there = torch.cat((first.unsqueeze(1), present), dim=1).to(own.dtype)
        nobody = own.new_zeros((len(own), 0, own.shape[1] + self.action_size))
        features = self.members.forward([everybody, nobody], None, [there, there[:, :0]])
        return self._outputs(features, there.sum(1), memory, sequence_length, places)

    def baseline(
        self,
        own: Tensor,
        mates: Tensor,
        actions: Tensor,
        present: Tensor,
        memory: Tensor | None = None,
        sequence_length: int = 1,
        *,
        places: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Baselines `[rows, signals]` of single members, and the memories after.

        Args:
            own, mates, present, memory, sequence_length, places: as for `value`.
            actions: `[rows, most mates, action_size]`, what the mates do.
        """
        there = present.to(own.dtype)
        alone = torch.ones_like(there[:, :1]) if there.shape[1] else own.new_ones((len(own), 1))
        acting = torch.cat((mates, actions), dim=2)
        features = self.members.forward([own.unsqueeze(1), acting], None, [alone, there])
        return self._outputs(features, 1.0 + there.sum(1), memory, sequence_length, places)

    def _outputs(
        self, x: Tensor, count: Tensor, memory: Tensor | None, sequence_length: int, places: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        for layer in self.layers:
            assert isinstance(layer, Dense), layer
            x = F.silu(layer.forward(x))
        after = None
        if self.memory is not None:
            x, after = self.memory.forward(x, memory, sequence_length)
        others = max(1, int(self.largest) - 1)
        x = torch.cat((x, (2.0 * (count - 1.0) / others - 1.0).unsqueeze(1)), dim=1)
        return self.values.forward(x if places is None else x.index_select(0, places)), after
