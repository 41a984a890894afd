"""What every algorithm's learner is: weights, optimizer and schedules that a rollout makes better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from sparring.networks.policy import Policy
from sparring.rollouts import Rollout

__all__ = ["Learner", "UpdateReport"]

UpdateReport: TypeAlias = Mapping[str, float]
"""Statistics of one update by the tag users know, for example `Losses/Policy Loss`."""


class Learner(Protocol):
    """One algorithm's state for one behavior."""

    @property
    def policy(self) -> Policy:
        """The policy being learned; its weights change with every update."""

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """Learns from the complete rows of a rollout, which is left as it is.

        Args:
            rollout: the experience.
            step: the learner's step counter, which schedules follow.

        Raises:
            NonFiniteError: a loss or weight became NaN or infinite; the weights are those before the update.
        """

    def state(self) -> dict[str, Any]:
        """Everything the learner's future depends on."""

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave.

        Raises:
            CheckpointError: a weight is missing or has another shape.
        """

    def close(self) -> None:
        """Ends the learner's threads."""
