"""The body of a network: encoders, joint layers, memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

from sparring.errors import SpecError
from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._entities import EMBEDDING_SIZE, EntityEncoder
from ._goals import GoalLayer
from ._images import make_image_encoder, too_small
from ._layers import Dense, kaiming_normal
from ._layout import ObservationLayout
from ._memory import Memory
from ._normalizer import Normalizer

__all__ = ["Body"]


class Body(nn.Module):
    """Everything between the observations and the heads.

    Encodings are joined in this order: vector block, images, entities. Layers call each other's `forward` without
    torch's hooks in between: a step of acting is shorter than the hooks of a few modules are worth.

    With `only_encodes` there are no joint layers, goals or memory: the joined encodings come out.

    Attributes:
        layout: how sensors become inputs.
        normalizer: that of the vector block, possibly shared with another body; None when it is taken as it is.
        features: how many numbers come out.
        memory_size: 0 without memory.

    Raises:
        SpecError: a sensor no encoder fits, or an image smaller than its encoder needs.
    """

    goal_columns: Tensor

    def __init__(
        self,
        spec: BehaviorSpec,
        settings: NetworkSettings,
        *,
        generator: torch.Generator,
        normalizer: Normalizer | None = None,
        only_encodes: bool = False,
    ) -> None:
        super().__init__()
        self.layout = layout = ObservationLayout(spec)
        self.normalizer = normalizer if normalizer is not None else Normalizer.of(spec, settings)
        if self.normalizer is not None and self.normalizer.size != layout.vector_size:
            raise AssertionError(f"normalizer of {self.normalizer.size} columns for {layout.vector_size}")
        hidden = settings.hidden_units
        self._build_encoders(settings, generator)
        is_hyper = settings.goal_conditioning_type == "hyper" and not only_encodes
        goal_columns = self._goal_columns(hidden) if is_hyper else []
        is_conditioned = bool(goal_columns)
        width = self.encoding_size
        layers: list[Dense] = []
        for _ in range(0 if only_encodes else settings.num_layers - is_conditioned):
            layers.append(Dense(kaiming_normal(hidden, width, generator=generator)))
            width = hidden
        self.layers = nn.ModuleList(layers)
        self.goal: GoalLayer | None = None
        if is_conditioned:
            self.goal = GoalLayer(width, hidden, len(goal_columns), generator=generator)
            columns = torch.tensor(goal_columns, dtype=torch.int64, device="cpu")
            self.register_buffer("goal_columns", columns, persistent=False)
        self.memory: Memory | None = None
        if settings.memory is not None and not only_encodes:
            self.memory = Memory(hidden, settings.memory.memory_size, generator=generator)
        self.memory_size = 0 if self.memory is None else self.memory.memory_size
        # Without joint layers the encodings come out as they are.
        plain = self.encoding_size if only_encodes else hidden
        self.features = plain if self.memory is None else self.memory.hidden_size

    def forward(
        self, inputs: Sequence[Tensor], memory: Tensor | None = None, sequence_length: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        """Features of each row.

        Args:
            inputs: float32 `[B * L, *input shape]` for each of `layout.input_shapes`.
            memory: `[B, memory_size]` before the first step of each sequence; None is zeros. Ignored without memory.
            sequence_length: L; the rows of a sequence follow each other. 1 when every row stands alone.

        Returns:
            Features `[B * L, features]` and the memories `[B, memory_size]` after the last steps, None without memory.
        """
        if self._is_vector_only:
            x = inputs[0] if self.normalizer is None else self.normalizer.forward(inputs[0])
            seen = x
        else:
            x, seen = self._encode(inputs)
        for layer in self.layers:
            x = F.silu(F.linear(x, layer.weight, layer.bias))  # type: ignore[arg-type]
        if self.goal is not None:
            x = F.silu(self.goal.forward(x, seen.index_select(1, self.goal_columns)))
        if self.memory is None:
            return x, None
        return self.memory.forward(x, memory, sequence_length)

    def _build_encoders(self, settings: NetworkSettings, generator: torch.Generator) -> None:
        layout = self.layout
        kind = settings.vis_encode_type
        shapes = [layout.input_shapes[position] for position in layout.image_inputs]
        titles = [layout.title(layout.sensor_of_input(position)) for position in layout.image_inputs]
        findings = [
            finding
            for shape, title in zip(shapes, titles, strict=True)
            if (finding := too_small(kind, shape, title=title)) is not None
        ]
        if findings:
            raise SpecError(findings)
        self.images = nn.ModuleList(
            make_image_encoder(kind, shape, settings.hidden_units, generator=generator) for shape in shapes
        )
        self.encoding_size = layout.vector_size + settings.hidden_units * len(shapes)
        self.entities: EntityEncoder | None = None
        if layout.entity_inputs:
            sizes = [layout.input_shapes[position][1] for position in layout.entity_inputs]
            self.entities = EntityEncoder(sizes, self.encoding_size, generator=generator)
            self.encoding_size += EMBEDDING_SIZE
        self._is_vector_only = len(layout.input_shapes) == 1 and layout.vector_size > 0

    def _encode(self, inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The joined encodings `[B, encoding_size]`, and those of them a goal can be taken from."""
        parts: list[Tensor] = []
        if self.layout.vector_size:
            parts.append(inputs[0] if self.normalizer is None else self.normalizer.forward(inputs[0]))
        for position, encoder in zip(self.layout.image_inputs, self.images, strict=True):
            parts.append(encoder(inputs[position]))
        seen = torch.cat(parts, dim=1) if len(parts) > 1 else (parts[0] if parts else None)
        if self.entities is None:
            assert seen is not None, self.layout.input_shapes
            return seen, seen
        lists = [inputs[position] for position in self.layout.entity_inputs]
        entities = self.entities.forward(lists, seen)
        if seen is None:
            return entities, entities
        return torch.cat((seen, entities), dim=1), seen

    def _goal_columns(self, hidden: int) -> list[int]:
        """Columns of the joined vector and image encodings that come from goals."""
        columns = list(self.layout.goal_columns)
        for image in self.layout.goal_images:
            start = self.layout.vector_size + image * hidden
            columns.extend(range(start, start + hidden))
        return columns
