"""Layers whose weights are drawn from a given generator, and the distributions they are drawn from.

Torch's own layers draw from the global generator when they are made and follow the global default dtype and device;
these do neither, so equal seeds give equal weights whatever else runs in the process. All weights are float32 and
begin on the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

__all__ = ["Convolution", "Dense", "kaiming_normal", "normal", "uniform", "xavier_uniform"]


def normal(shape: Sequence[int], *, deviation: float, generator: torch.Generator) -> Tensor:
    """Float32 numbers from a normal distribution around 0."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu").normal_(0.0, deviation, generator=generator)


def uniform(shape: Sequence[int], *, bound: float, generator: torch.Generator) -> Tensor:
    """Float32 numbers between `-bound` and `bound`, equally likely."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu").uniform_(-bound, bound, generator=generator)


def kaiming_normal(outputs: int, inputs: int, *, scale: float = 1.0, generator: torch.Generator) -> Tensor:
    """Weights `[outputs, inputs]` of deviation `scale / sqrt(inputs)` (He et al. 2015, fan-in, gain 1)."""
    return normal((outputs, inputs), deviation=scale / math.sqrt(inputs), generator=generator)


def xavier_uniform(rows: int, inputs: int, *, outputs: int, generator: torch.Generator) -> Tensor:
    """Weights `[rows, inputs]` within `sqrt(6 / (inputs + outputs))` (Glorot and Bengio 2010).

    `outputs` is the fan-out of the formula; it differs from `rows` where several layers share one matrix.
    """
    return uniform((rows, inputs), bound=math.sqrt(6.0 / (inputs + outputs)), generator=generator)


class Dense(nn.Module):
    """Linear layer with the given weights `[outputs, inputs]` and a bias of zeros.

    The weights lie in memory column by column: products of the few rows of an environment step are about 1.5 times
    as fast that way (512 x 512, 4 to 32 rows, one thread), and those of a minibatch no slower.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.t().contiguous().t())
        self.bias = nn.Parameter(torch.zeros(len(weight), dtype=torch.float32, device="cpu"))

    def forward(self, x: Tensor) -> Tensor:
        """`[..., inputs]` to `[..., outputs]`."""
        return F.linear(x, self.weight, self.bias)


class Convolution(nn.Module):
    """Square two-dimensional convolution, drawn as torch draws its own: uniform within `1 / sqrt(fan-in)`."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int, padding: int = 0, generator: torch.Generator
    ) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(inputs * kernel * kernel)
        self.weight = nn.Parameter(uniform((outputs, inputs, kernel, kernel), bound=bound, generator=generator))
        self.bias = nn.Parameter(uniform((outputs,), bound=bound, generator=generator))
        self.kernel = kernel
        self.stride = stride
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        """`[B, inputs, height, width]` to `[B, outputs, height', width']`."""
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding)
