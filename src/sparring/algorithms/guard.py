"""The guard against non-finite numbers: an update is whole and finite, or it never was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sparring.errors import NonFiniteError

__all__ = ["Memory", "WeightGuard"]


@dataclass(frozen=True, slots=True)
class Memory:
    """What everything was before an update.

    Attributes:
        weights: of all modules, buffers included.
        moments: by optimizer and parameter, those of parameters that had learned before.
    """

    weights: list[Tensor]
    moments: list[dict[Tensor, dict[str, Tensor]]]


class WeightGuard:
    """Remembers weights and moments before an update, and puts them back when something became non-finite.

    Args:
        name: the behavior, for messages.
        modules: everything the update changes, each module once.
        optimizers: theirs.
    """

    def __init__(
        self, name: str, modules: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer]
    ) -> None:
        self._name = name
        self._modules = list(modules)
        self._optimizers = list(optimizers)

    def remember(self) -> Memory:
        """Copies of everything, for `put_back`."""
        return Memory(
            [tensor.detach().clone() for tensor in self._weights()],
            [
                {
                    parameter: {name: value.detach().clone() for name, value in moments.items()}
                    for parameter, moments in optimizer.state.items()
                }
                for optimizer in self._optimizers
            ],
        )

    @torch.no_grad()
    def put_back(self, before: Memory) -> None:
        """Undoes everything since `before` was remembered."""
        for tensor, old in zip(self._weights(), before.weights, strict=True):
            tensor.copy_(old)
        for optimizer, remembered in zip(self._optimizers, before.moments, strict=True):
            for parameter in list(optimizer.state):
                if parameter not in remembered:  # the update was the first of this parameter
                    del optimizer.state[parameter]
                    continue
                for name, old in remembered[parameter].items():
                    optimizer.state[parameter][name].copy_(old)

    def check_weights(self) -> None:
        """Looks at every weight.

        Raises:
            NonFiniteError: one is not finite.
        """
        for module in self._modules:
            for name, tensor in module.named_parameters():
                self.check(f"weight {name}", tensor)

    def check(self, what: str, values: Tensor | None) -> None:
        """Looks at some numbers.

        Raises:
            NonFiniteError: one is not finite.
        """
        if values is not None and not bool(torch.isfinite(values).all()):
            raise self.refusal(what, float(values[~torch.isfinite(values)][0]))

    def refusal(self, what: str, found: float) -> NonFiniteError:
        """The error to raise; whoever raises it puts the weights back."""
        return NonFiniteError(
            f"the update made the {what} non-finite; the weights before it were put back",
            where=self._name,
            found=str(found),
            cure="lower learning_rate, or set max_grad_norm (0.5 is usual); look at the size of the rewards",
        )

    def _weights(self) -> Iterator[Tensor]:
        for module in self._modules:
            yield from module.parameters()
            yield from module.buffers()
