"""Recurrent memory: one LSTM after the body."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ._layers import xavier_uniform

__all__ = ["Memory"]


class Memory(nn.Module):
    """An LSTM whose state is one row an agent: hidden ∥ cell, `memory_size / 2` numbers each.

    Weights are Xavier-uniform gate by gate, biases zero but for the forget gate's, which is 1 in total (torch keeps two
    bias rows and adds them; only one of them gets the 1).
    """

    def __init__(self, inputs: int, memory_size: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.memory_size = memory_size
        self.hidden_size = hidden = memory_size // 2
        # Made without memory first, so that torch does not draw its own weights from the global generator.
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, dtype=torch.float32, device="meta").to_empty(device="cpu")
        with torch.no_grad():
            for name, weight in self.lstm.named_parameters():
                if name.startswith("bias"):
                    weight.zero_()
                    continue
                for gate in weight.chunk(4):
                    gate.copy_(xavier_uniform(hidden, gate.shape[1], outputs=hidden, generator=generator))
            bias = self.lstm.get_parameter("bias_ih_l0")
            bias[hidden : 2 * hidden] = 1.0  # gates are ordered input, forget, cell, output

    def forward(self, x: Tensor, memory: Tensor | None, sequence_length: int) -> tuple[Tensor, Tensor]:
        """Runs over sequences of equal length.

        Args:
            x: `[B * L, inputs]`; the rows of a sequence follow each other.
            memory: `[B, memory_size]` before the first step of each sequence; None is zeros.
            sequence_length: L.

        Returns:
            Features `[B * L, memory_size / 2]` and the memories `[B, memory_size]` after the last steps.
        """
        sequences = len(x) // sequence_length
        if memory is None:
            memory = x.new_zeros(sequences, self.memory_size)
        hidden, cell = memory.chunk(2, dim=1)
        state = (hidden.unsqueeze(0).contiguous(), cell.unsqueeze(0).contiguous())
        features, (hidden, cell) = self.lstm.forward(x.view(sequences, sequence_length, x.shape[1]), state)
        return features.reshape(len(x), self.hidden_size), torch.cat((hidden[0], cell[0]), dim=1)
