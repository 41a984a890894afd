"""Experience as columns: which agents are there, and what they saw, did and earned."""

from sparring.rollouts.agents import NO_ROW, AgentTable
from sparring.rollouts.rollout import Rollout, RowStatus

__all__ = ["NO_ROW", "AgentTable", "Rollout", "RowStatus"]
