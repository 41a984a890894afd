"""What every algorithm's learner is: weights, optimizer and schedules that experience makes better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch

from sparring.networks.policy import Policy
from sparring.rollouts import Rollout
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorSpec

__all__ = ["Learner", "UpdateReport"]

UpdateReport: TypeAlias = Mapping[str, float]
"""Statistics of one update by the tag users know, for example `Losses/Policy Loss`."""


class Learner(ABC):
    """One algorithm's state for one behavior; an entry point of `sparring.algorithms` names a class like this.

    A run makes it with the arguments below, lets `policy` act, records what agents experience in the rollout that
    `make_rollout` made, and after every step of the game asks `wants_update`. After an `update` the rows that are
    complete are gone from the rollout; decisions whose outcome is still out stay. All of its future depends on `state`
    alone: a learner that is restored goes on bit for bit as if it had never been away.

    Args:
        name: the behavior, for messages.
        spec: what its agents see and do.
        settings: of the behavior.
        device: where the networks live.
        seed: of everything the learner draws.
        parallel: whether it may use a second thread.

    Attributes:
        policy: what is being learned; its weights change with every update.
    """

    policy: Policy

    @abstractmethod
    def __init__(
        self,
        name: str,
        spec: BehaviorSpec,
        settings: BehaviorSettings,
        *,
        device: torch.device,
        seed: int,
        parallel: bool,
    ) -> None: ...

    @classmethod
    def check_settings(cls, name: str, settings: BehaviorSettings) -> None:
        """Refuses settings this algorithm can't learn with; asked before a game is started.

        Raises:
            SettingsError: a combination that is not built; lists what is.
        """
        del name, settings

    @abstractmethod
    def make_rollout(self) -> Rollout:
        """A rollout with the columns the learner reads, for the run to record into."""

    @abstractmethod
    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        """Whether there is enough to learn from now.

        Args:
            rollout: what was recorded since the last update.
            step: decisions of the behavior whose outcome was recorded, over the whole run.
        """

    @abstractmethod
    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """Learns. The rows that are complete are the learner's to read until it returns.

        Args:
            rollout: the experience.
            step: as for `wants_update`; schedules follow it.

        Raises:
            NonFiniteError: a loss or weight became NaN or infinite; the weights are those before the update.
        """

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything the learner's future depends on.

        The entry `networks` holds the weights by network and name; `take_over` of another learner reads it.
        """

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave.

        Raises:
            CheckpointError: a weight is missing or has another shape.
        """

    @abstractmethod
    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        """Takes the weights of another learner's networks where name and shape fit; says in words what it did.

        Args:
            networks: the entry `networks` of another learner's `state`; empty if it has none for this behavior.

        Raises:
            CheckpointError: there are networks, but nothing in them fits.
        """

    def close(self) -> None:  # noqa: B027 - most learners hold nothing
        """Ends the learner's threads."""
