"""How often something learns, counted in decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Cadence"]


@dataclass(slots=True)
class Cadence:
    """One update at the decision it starts with, and one for every `steps_per_update` decisions after.

    Attributes:
        steps_per_update: decisions an update; below 1 for several updates a decision.
        start: the step it started at; -1 before.
        done: updates since then.
    """

    steps_per_update: float
    start: int = -1
    done: int = 0

    def start_at(self, step: int) -> None:
        """Starts, unless it has."""
        if self.start < 0:
            self.start, self.done = step, 0

    def due(self, step: int) -> int:
        """How many updates are owed at a step; none before it started."""
        if self.start < 0:
            return 0
        return max(0, 1 + int((step - self.start) / self.steps_per_update) - self.done)

    def state(self) -> dict[str, Any]:
        """Where it stands."""
        return {"start": self.start, "done": self.done}

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        self.start, self.done = int(state["start"]), int(state["done"])
