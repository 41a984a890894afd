"""Rollouts as tensors on the learner's device, and minibatches of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.rollouts import PADDING, Rollout

__all__ = ["Experience", "Minibatch", "features_of"]


@dataclass(frozen=True, slots=True)
class Experience:
    """The complete rows of a rollout, leading axis `[rows]`.

    Attributes:
        inputs: of the networks.
        blocked: True where a choice was not available; None if everything was.
        continuous, discrete, log_prob: what was done, and how likely that was.
        memory, critic_memory: before the decision; None without memory.
        advantage: float32 `[rows]`, standardized.
        old_value, returns: float32 `[rows, signals]`.
        old_baseline: float32 `[rows, signals]`; None for algorithms without baselines.
    """

    inputs: list[Tensor]
    blocked: Tensor | None
    continuous: Tensor
    discrete: Tensor
    log_prob: Tensor
    memory: Tensor | None
    critic_memory: Tensor | None
    advantage: Tensor
    old_value: Tensor
    returns: Tensor
    old_baseline: Tensor | None = None

    @classmethod
    def of(
        cls,
        rollout: Rollout,
        rows: NDArray[np.int64],
        *,
        advantage: NDArray[np.float32],
        old_value: NDArray[np.float32],
        returns: NDArray[np.float32],
        old_baseline: NDArray[np.float32] | None = None,
        device: torch.device,
    ) -> Experience:
        """The given rows, with what was made of them."""
        size = rollout.size
        # Without dropped, pending or tail rows the columns serve as they are; nothing is copied.
        whole = slice(None) if len(rows) == size else rows

        def column(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array[:size][whole])).to(device)

        return cls(
            inputs=[column(array) for array in rollout.inputs],
            blocked=None if rollout.blocked is None else column(rollout.blocked),
            continuous=column(rollout.continuous),
            discrete=column(rollout.discrete),
            log_prob=column(rollout.log_prob),
            memory=None if rollout.memory is None else column(rollout.memory),
            critic_memory=None if rollout.critic_memory is None else column(rollout.critic_memory),
            advantage=torch.from_numpy(advantage).to(device),
            old_value=torch.from_numpy(old_value).to(device),
            returns=torch.from_numpy(returns).to(device),
            old_baseline=None if old_baseline is None else torch.from_numpy(old_baseline).to(device),
        )

    def __len__(self) -> int:
        return len(self.log_prob)

    def batch(self, rows: Tensor) -> Minibatch:
        """Some rows.

        Args:
            rows: int64, either `[batch]`, every row standing alone with the memory that was stored for it, or
                `[sequences, length]` of rows that follow each other, `PADDING` behind the end of shorter sequences.
        """
        length, places = 1, None
        seen = first = rows
        if rows.ndim == 2:
            length = rows.shape[1]
            flat = rows.flatten()
            places = torch.nonzero(flat != PADDING).flatten()
            # What stands in for padding is never looked at: its features are left out of everything that follows.
            seen, first, rows = flat.clamp_min(0), rows[:, 0], flat[places]

        def part(column: Tensor | None, which: Tensor = rows) -> Any:  # noqa: ANN401 - None only where given None
            return None if column is None else column.index_select(0, which)

        return Minibatch(
            inputs=[part(column, seen) for column in self.inputs],
            length=length,
            places=places,
            rows=rows,
            memory=part(self.memory, first),
            critic_memory=part(self.critic_memory, first),
            blocked=part(self.blocked),
            continuous=part(self.continuous),
            discrete=part(self.discrete),
            log_prob=part(self.log_prob),
            advantage=part(self.advantage),
            old_value=part(self.old_value),
            returns=part(self.returns),
            old_baseline=part(self.old_baseline),
        )


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Some rows of an experience; everything but `inputs` and the memories is without padding.

    Attributes:
        inputs: of the networks, `[sequences * length, …]`.
        length: of the sequences; 1 where every row stands alone.
        places: int64, which of the steps of `inputs` are real; None if all are.
        rows: int64, the rows of the experience.
        memory, critic_memory: `[sequences, …]` before the first step.
    """

    inputs: list[Tensor]
    length: int
    places: Tensor | None
    rows: Tensor
    memory: Tensor | None
    critic_memory: Tensor | None
    blocked: Tensor | None
    continuous: Tensor
    discrete: Tensor
    log_prob: Tensor
    advantage: Tensor
    old_value: Tensor
    returns: Tensor
    old_baseline: Tensor | None


def features_of(body: nn.Module, batch: Minibatch, memory: Tensor | None) -> Tensor:
    """Features `[rows, features]` of the real steps of a minibatch, by a body with its memory before them."""
    features, _ = body.forward(batch.inputs, memory, batch.length)
    real: Tensor = features if batch.places is None else features.index_select(0, batch.places)
    return real
