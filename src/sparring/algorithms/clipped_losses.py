"""The clipped losses of PPO and of POCA as functions from columns to numbers."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["policy_loss", "value_loss"]


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, *, epsilon: float) -> Tensor:
    """Clipped surrogate (Schulman et al. 2017, eq. 7), negated; the ratio is that of the joint action.

    Args:
        log_prob: float32 `[batch]`, joint log-probability of the action under the policy being learned.
        old_log_prob: float32 `[batch]`, the same under the policy that acted.
        advantage: float32 `[batch]`.
        epsilon: clip range of the ratio.
    """
    ratio = (log_prob - old_log_prob).exp()
    clipped = ratio.clamp(1.0 - epsilon, 1.0 + epsilon)
    return -torch.min(ratio * advantage, clipped * advantage).mean()


def value_loss(value: Tensor, old_value: Tensor, returns: Tensor, *, epsilon: float) -> Tensor:
    """Squared error of the values, clipped around the old ones; mean over batch and signals (spec: algorithms §2.3).

    Args:
        value: float32 `[batch, signals]`, of the critic being learned.
        old_value: float32 `[batch, signals]`, of the critic before the update.
        returns: float32 `[batch, signals]`.
        epsilon: how far a value may move within the update and still count as the better fit.
    """
    near = old_value + (value - old_value).clamp(-epsilon, epsilon)
    return torch.max((value - returns).square(), (near - returns).square()).mean()
