"""One behavior in training: its learner, its rollout, its agents and its counters."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from sparring.algorithms import Learner
from sparring.networks import ObservationLayout
from sparring.networks.policy import Policy
from sparring.rollouts import NO_ROW, AgentTable
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorId, BehaviorSpec

__all__ = ["BehaviorTraining"]

_RECENT_EPISODES = 100


class BehaviorTraining:
    """Everything about one behavior name while a run goes on.

    Attributes:
        tables: its agents by team.
        rollout: what its learner learns from next.
        steps: learner steps, agent decisions whose outcome was recorded.
        opponent_steps: decisions of its teams that were not learning.
        episodes: finished episodes of learning agents.
        updates: updates of its learner.
        recent_returns: individual plus group reward of the latest finished episodes of learning agents.
        recent_entropy: entropy of its learner's latest decisions, None before the first.
        milestones: weights of the untrained policy and of those at each third of max_steps, by step; later policies
            are measured against them.
    """

    def __init__(self, name: str, spec: BehaviorSpec, settings: BehaviorSettings, learner: Learner) -> None:
        self.name = name
        self.spec = spec
        self.settings = settings
        self.learner = learner
        self.layout = ObservationLayout(spec)
        self.tables: dict[BehaviorId, AgentTable] = {}
        self.rollout = learner.make_rollout()
        self.steps = 0
        self.opponent_steps = 0
        self.episodes = 0
        self.updates = 0
        self.recent_returns: deque[float] = deque(maxlen=_RECENT_EPISODES)
        self.recent_entropy: float | None = None
        self.milestones: dict[int, dict[str, Any]] = {}

    @property
    def policy(self) -> Policy:
        """The policy being learned."""
        return self.learner.policy

    def new_table(self) -> AgentTable:
        """A table for the agents of one of its teams, without agents."""
        return AgentTable(memory_size=self.policy.memory_size)

    @property
    def is_finished(self) -> bool:
        """It has learned max_steps."""
        return self.steps >= self.settings.max_steps

    @property
    def mean_return(self) -> float | None:
        """Mean of the latest returns, None before the first episode ended."""
        return float(np.mean(self.recent_returns)) if self.recent_returns else None

    def wants_update(self) -> bool:
        """There is enough to learn from."""
        return self.learner.wants_update(self.rollout, step=self.steps)

    def update(self) -> dict[str, float]:
        """Learns from the rollout and empties it; pending decisions stay in it."""
        report = dict(self.learner.update(self.rollout, step=self.steps))
        self.updates += 1
        self.empty_rollout()
        return report

    def empty_rollout(self) -> None:
        """Forgets the recorded experience; pending decisions stay."""
        new_row = self.rollout.carry_over()
        for table in self.tables.values():
            table.move_rows(new_row)

    def keep_milestone(self) -> None:
        """Keeps the policy's weights if another third of max_steps is done."""
        thirds = min(3 * self.steps // self.settings.max_steps, 2)
        if len(self.milestones) <= thirds:
            self.milestones[self.steps] = self.policy.state()

    def stop_recording(self, behavior: BehaviorId) -> None:
        """Cuts the trajectories of the agents of one of its teams where they are."""
        table = self.tables[behavior]
        pending = table.row[table.row != NO_ROW]
        self.rollout.abandon(pending)
        table.row[:] = NO_ROW

    def state(self) -> dict[str, Any]:
        """Everything its future depends on."""
        return {
            "learner": self.learner.state(),
            "rollout": self.rollout.state(),
            "milestones": {str(step): weights for step, weights in self.milestones.items()},
            "tables": {str(behavior): table.state() for behavior, table in self.tables.items()},
            "counters": {
                "steps": self.steps,
                "opponent_steps": self.opponent_steps,
                "episodes": self.episodes,
                "updates": self.updates,
                "recent_returns": list(self.recent_returns),
                "recent_entropy": self.recent_entropy,
            },
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        self.learner.restore(state["learner"])
        self.rollout.restore(state["rollout"])
        for behavior, table_state in state["tables"].items():
            self.tables.setdefault(BehaviorId.parse(behavior), self.new_table()).restore(table_state)
        milestones = {int(step): weights for step, weights in state["milestones"].items()}
        self.milestones = dict(sorted(milestones.items()))
        counters = state["counters"]
        self.steps = int(counters["steps"])
        self.opponent_steps = int(counters["opponent_steps"])
        self.episodes = int(counters["episodes"])
        self.updates = int(counters["updates"])
        self.recent_returns = deque((float(value) for value in counters["recent_returns"]), maxlen=_RECENT_EPISODES)
        self.recent_entropy = counters["recent_entropy"]
