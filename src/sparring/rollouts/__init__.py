"""Experience as columns: which agents are there, and what they saw, did and earned."""

from sparring.rollouts.agents import NO_ROW, AgentTable
from sparring.rollouts.groups import Company, company_of, shared_reward
from sparring.rollouts.rollout import Rollout, RowStatus
from sparring.rollouts.sequences import PADDING, cut_sequences, steps_in_order

__all__ = [
    "NO_ROW",
    "PADDING",
    "AgentTable",
    "Company",
    "Rollout",
    "RowStatus",
    "company_of",
    "cut_sequences",
    "shared_reward",
    "steps_in_order",
]
