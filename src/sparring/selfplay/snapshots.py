"""Snapshots of a learner and the pool of those that may be met."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sparring.networks.policy import Policy

__all__ = ["LIVE", "Snapshot", "SnapshotPool"]

LIVE = -1
"""Player number of the learner itself, whose weights change while it plays."""

Origin = Literal["initial", "saved", "latest"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An immutable copy of a learner's policy.

    Attributes:
        number: counts the behavior's copies from 0.
        behavior: whose policy it is.
        step: learner steps when it was taken.
        weights_hash: of all its weights and normalization statistics.
        origin: `initial` the untrained policy, `saved` taken every save_steps, `latest` taken when a draw gave
            the latest policy.
        policy: what acts.
    """

    number: int
    behavior: str
    step: int
    weights_hash: str
    origin: Origin
    policy: Policy

    @property
    def player(self) -> str:
        """The name under which the snapshot is rated."""
        return f"{self.behavior}@{self.step}#{self.number}"


class SnapshotPool:
    """The copies of one behavior: a window of saved ones, the initial one, and those still seated.

    The window starts with the initial policy; a new snapshot pushes the oldest out. A copy outside the window
    stays only as long as somebody refers to it.
    """

    def __init__(self, behavior: str, *, window: int) -> None:
        self.behavior = behavior
        self._window_size = window
        self._window: list[int] = []
        self._snapshots: dict[int, Snapshot] = {}
        self._next_number = 0

    def __getitem__(self, number: int) -> Snapshot:
        return self._snapshots[number]

    def __len__(self) -> int:
        return len(self._window)

    @property
    def window(self) -> list[Snapshot]:
        """The snapshots that may be met, oldest first."""
        return [self._snapshots[number] for number in self._window]

    @property
    def all(self) -> list[Snapshot]:
        """Every copy held, the window's and those still referred to, oldest first."""
        return list(self._snapshots.values())

    def met_as(self, player: str) -> Snapshot | None:
        """The snapshot that is rated under this name and was saved to be met; None if it is none of those."""
        return next((held for held in self.all if held.player == player and held.origin != "latest"), None)

    def take(self, policy: Policy, *, step: int, origin: Origin) -> Snapshot:
        """Copies the policy; `saved` and `initial` ones enter the window."""
        frozen = policy.frozen_copy()
        snapshot = Snapshot(self._next_number, self.behavior, step, frozen.weights_hash(), origin, frozen)
        self._next_number += 1
        self._snapshots[snapshot.number] = snapshot
        if origin != "latest":
            self._window = [*self._window, snapshot.number][-self._window_size :]
        return snapshot

    def release(self, in_use: Iterable[int]) -> list[Snapshot]:
        """Lets go of the copies that are neither in the window nor in use; returns them."""
        kept = {*self._window, *in_use}
        gone = [snapshot for number, snapshot in self._snapshots.items() if number not in kept]
        for snapshot in gone:
            del self._snapshots[snapshot.number]
        return gone

    def state(self) -> dict[str, Any]:
        """Everything the pool holds, weights included."""
        return {
            "window": list(self._window),
            "next_number": self._next_number,
            "snapshots": {
                str(snapshot.number): {
                    "step": snapshot.step,
                    "weights_hash": snapshot.weights_hash,
                    "origin": snapshot.origin,
                    "weights": snapshot.policy.state(),
                }
                for snapshot in self._snapshots.values()
            },
        }

    def restore(self, state: dict[str, Any], build: Callable[[dict[str, Any]], Policy]) -> None:
        """Puts back what `state` gave; `build` makes a policy from its weights."""
        self._window = [int(number) for number in state["window"]]
        self._next_number = int(state["next_number"])
        self._snapshots = {
            int(number): Snapshot(
                int(number),
                self.behavior,
                int(entry["step"]),
                entry["weights_hash"],
                entry["origin"],
                build(entry["weights"]),
            )
            for number, entry in sorted(state["snapshots"].items(), key=lambda item: int(item[0]))
        }
