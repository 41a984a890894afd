"""From features to the parameters of the action distribution."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sparring.specs import ActionSpec

from ._layers import Dense, kaiming_normal

__all__ = ["LOG_STD_RANGE", "ActionHeads", "ActionParameters"]

LOG_STD_RANGE = (-20.0, 2.0)
"""Bounds of a deviation that depends on the observation."""


class ActionParameters(NamedTuple):
    """What the distribution of a batch of actions is made of.

    Attributes:
        mean: `[B, continuous size]`; None without continuous actions.
        log_std: `[continuous size]` where it is a free parameter, `[B, continuous size]` where it depends on the
            observation; None without continuous actions.
        logits: `[B, sum of branch sizes]`, before masking; None without branches.
    """

    mean: Tensor | None
    log_std: Tensor | None
    logits: Tensor | None


class ActionHeads(nn.Module):
    """One linear head for the means, one for the logits of all branches together.

    With `squash` the deviation is a third head, clamped to `LOG_STD_RANGE`; without, a free parameter that begins at
    log 1.
    """

    def __init__(self, features: int, spec: ActionSpec, *, squash: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.squash = squash
        size = spec.continuous_size
        choices = spec.total_choices
        self.mean: Dense | None = None
        self.log_std: Dense | nn.Parameter | None = None
        self.logits: Dense | None = None
        if size:
            self.mean = Dense(kaiming_normal(size, features, scale=0.2, generator=generator))
        if size and squash:
            self.log_std = Dense(kaiming_normal(size, features, scale=0.2, generator=generator))
        elif size:
            self.log_std = nn.Parameter(torch.zeros(size, dtype=torch.float32, device="cpu"))
        if choices:
            self.logits = Dense(kaiming_normal(choices, features, scale=0.1, generator=generator))

    def forward(self, features: Tensor) -> ActionParameters:
        """`[B, features]` to the parameters of B actions."""
        return ActionParameters(
            None if self.mean is None else self.mean.forward(features),
            self._log_std_of(features),
            None if self.logits is None else self.logits.forward(features),
        )

    def _log_std_of(self, features: Tensor) -> Tensor | None:
        if isinstance(self.log_std, Dense):
            return self.log_std.forward(features).clamp(*LOG_STD_RANGE)
        return self.log_std
