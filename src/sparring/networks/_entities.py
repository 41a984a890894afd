"""Lists of entities: embedded, attended to by each other, averaged into one row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.errors import Finding
from sparring.specs import BehaviorSpec

from ._layers import Dense, normal
from ._layout import ObservationLayout

__all__ = ["ABSENT_BELOW", "ABSENT_SCORE", "EMBEDDING_SIZE", "HEADS", "NORM_EPSILON", "EntityEncoder", "entity_gaps"]

ABSENT_BELOW = 0.01
"""An entity whose squared norm is below this is absent."""
EMBEDDING_SIZE = 128
HEADS = 4
NORM_EPSILON = 1e-5
ABSENT_SCORE = -1e6
"""Added to the attention scores of absent entities; finite, so a list without any entity gives no NaN."""


def _embedding(rows: int, columns: int, *, size: int, generator: torch.Generator) -> Tensor:
    return normal((rows, columns), deviation=math.sqrt(0.125 / size), generator=generator)


class EntityEncoder(nn.Module):
    """Encodes all lists of entities of a behavior into one row of `size` numbers.

    Each entity is embedded together with what the agent sees besides (`[self, entity]`, linear, SiLU); one residual
    self-attention layer of 4 heads runs over the entities of all lists; the present ones are averaged. The scores are
    divided by the square root of the whole embedding size, as in the models users have, not of a head's part of it.

    A row of (nearly) zeros is an absent entity. When all are absent the result is zeros.
    """

    def __init__(
        self,
        entity_sizes: Sequence[int],
        self_size: int,
        *,
        size: int = EMBEDDING_SIZE,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.size = size
        self.self_embedding: Dense | None = None
        if self_size:
            self.self_embedding = Dense(_embedding(size, self_size, size=size, generator=generator))
        own = size if self_size else 0
        # Columns of an embedding: first the agent's own embedding, then the entity.
        self.embeddings = nn.ModuleList(
            Dense(_embedding(size, own + entity, size=size, generator=generator)) for entity in entity_sizes
        )
        self.query = Dense(_embedding(size, size, size=size, generator=generator))
        self.key = Dense(_embedding(size, size, size=size, generator=generator))
        self.value = Dense(_embedding(size, size, size=size, generator=generator))
        self.output = Dense(_embedding(size, size, size=size, generator=generator))

    def forward(self, lists: Sequence[Tensor], seen: Tensor | None, present: Sequence[Tensor] | None = None) -> Tensor:
        """One row an agent.

        Args:
            lists: `[B, most, entity size]` each.
            seen: `[B, self size]`, the encodings of all other observations; None without any.
            present: `[B, most]` each, 1 for an entity that is there, else 0; None to tell it by its numbers.

        Returns:
            `[B, size]`.
        """
        own = None if self.self_embedding is None or seen is None else F.silu(self.self_embedding.forward(seen))
        embedded = [self._embed(layer, entities, own) for layer, entities in zip(self.embeddings, lists, strict=True)]
        if present is None:
            present = [(entities.square().sum(2) >= ABSENT_BELOW).to(entities.dtype) for entities in lists]
        entities = embedded[0] if len(embedded) == 1 else torch.cat(embedded, dim=1)
        is_present = present[0] if len(present) == 1 else torch.cat(list(present), dim=1)
        return self._attend(entities, is_present)

    def _embed(self, layer: nn.Module, entities: Tensor, own: Tensor | None) -> Tensor:
        assert isinstance(layer, Dense), layer
        if own is None:
            return F.silu(layer.forward(entities))
        # The agent's part of `[self, entity]` is the same for all its entities: computed once, then added.
        shared = F.linear(own, layer.weight[:, : self.size], layer.bias)
        return F.silu(shared.unsqueeze(1) + F.linear(entities, layer.weight[:, self.size :]))

    def _attend(self, entities: Tensor, present: Tensor) -> Tensor:
        batch, most, size = entities.shape
        x = F.layer_norm(entities, (size,), eps=NORM_EPSILON)
        query, key, value = (
            layer.forward(x).view(batch, most, HEADS, size // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(size)
        scores = scores + ((1.0 - present) * ABSENT_SCORE).view(batch, 1, 1, most)
        attended = (scores.softmax(3) @ value).transpose(1, 2).reshape(batch, most, size)
        x = F.layer_norm(self.output.forward(attended) + x, (size,), eps=NORM_EPSILON)
        weights = present / (present.sum(1, keepdim=True) + 1e-7)
        return (weights.unsqueeze(1) @ x).squeeze(1)


def entity_gaps(spec: BehaviorSpec, obs: Sequence[NDArray[np.float32]]) -> Finding | None:
    """Says once that a list holds a row of zeros with a present entity behind it.

    Such a row is taken for an absent entity, in training and in the exported file alike, though the game may have
    meant it.

    Args:
        spec: the behavior.
        obs: one array a sensor, `[agents, *sensor shape]`.

    Returns:
        One finding that names all sensors concerned; None when there is no such row.
    """
    layout = ObservationLayout(spec)
    places: list[str] = []
    for position in layout.entity_inputs:
        index = layout.sensor_of_input(position)
        present = np.square(obs[index]).sum(axis=-1) >= ABSENT_BELOW
        later = np.flip(np.logical_or.accumulate(np.flip(present, axis=-1), axis=-1), axis=-1)
        gaps = np.argwhere(later & ~present)
        if len(gaps):
            places.append(f"{layout.title(index)}, entity {gaps[0][-1]} of agent row {gaps[0][0]}")
    if not places:
        return None
    return Finding(
        "a row of zeros stands before a present entity and is treated as absent",
        where="; ".join(places),
        cure="if zeros are a real observation, add a column that is 1 for every present entity",
    )
