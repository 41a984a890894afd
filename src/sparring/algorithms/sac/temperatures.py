"""How much entropy is worth: one temperature for all continuous actions, one for each branch."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sparring.specs import ActionSpec

__all__ = ["Temperatures"]


class Temperatures(nn.Module):
    """α = exp(log α), learned; part of the networks and so of every checkpoint.

    Args:
        spec: the actions.
        start: α at the beginning, above 0.
    """

    def __init__(self, spec: ActionSpec, *, start: float) -> None:
        super().__init__()
        self.log_continuous = _logarithms(start, 1) if spec.continuous_size else None
        self.log_discrete = _logarithms(start, spec.discrete_size) if spec.discrete_size else None

    @property
    def continuous(self) -> Tensor | None:
        """`[1]`; None without continuous actions."""
        return None if self.log_continuous is None else self.log_continuous.exp()

    @property
    def discrete(self) -> Tensor | None:
        """`[branches]`; None without branches."""
        return None if self.log_discrete is None else self.log_discrete.exp()


def _logarithms(start: float, count: int) -> nn.Parameter:
    return nn.Parameter(torch.full((count,), math.log(start), dtype=torch.float32, device="cpu"))
