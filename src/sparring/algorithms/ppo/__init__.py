"""Proximal policy optimization: `loss` holds the formulas, `learner` the update."""

from sparring.algorithms.ppo.learner import PPOLearner
from sparring.algorithms.ppo.loss import policy_loss, value_loss

__all__ = ["PPOLearner", "policy_loss", "value_loss"]
