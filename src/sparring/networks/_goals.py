"""Goal conditioning: the goal chooses the weights of the body's last layer."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

from ._entities import NORM_EPSILON
from ._layers import Dense, kaiming_normal, uniform

__all__ = ["GoalLayer"]


class GoalLayer(nn.Module):
    """A linear layer whose weight matrix a small network makes from the goal, sample by sample.

    Two SiLU layers of `outputs` units, a layer norm without learned scale, and a linear layer that gives all
    `inputs * outputs` weights. The bias is an ordinary parameter.
    """

    def __init__(self, inputs: int, outputs: int, goal_size: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.inputs = inputs
        self.outputs = outputs
        self.first = Dense(kaiming_normal(outputs, goal_size, generator=generator))
        self.second = Dense(kaiming_normal(outputs, outputs, generator=generator))
        bound = math.sqrt(1.0 / (outputs * inputs))
        self.weights = Dense(uniform((inputs * outputs, outputs), bound=bound, generator=generator))
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=torch.float32, device="cpu"))

    def forward(self, x: Tensor, goal: Tensor) -> Tensor:
        """`x` `[B, inputs]` and `goal` `[B, goal size]` to `[B, outputs]`, before the activation."""
        hidden = F.silu(self.second.forward(F.silu(self.first.forward(goal))))
        hidden = F.layer_norm(hidden, (self.outputs,), eps=NORM_EPSILON)
        weights = self.weights.forward(hidden).view(-1, self.inputs, self.outputs)
        return (x.unsqueeze(1) @ weights).squeeze(1) + self.bias
