"""Experience as columns: which agents are there, and what they saw, did and earned."""

from sparring.rollouts.agents import NO_ROW, AgentTable
from sparring.rollouts.rollout import Rollout, RowStatus
from sparring.rollouts.sequences import PADDING, cut_sequences, steps_in_order

__all__ = ["NO_ROW", "PADDING", "AgentTable", "Rollout", "RowStatus", "cut_sequences", "steps_in_order"]
