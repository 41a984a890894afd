"""Proximal policy optimization: `learner` holds its critics; the clipped losses it shares with POCA are beside it."""

from sparring.algorithms.clipped_losses import policy_loss, value_loss
from sparring.algorithms.ppo.learner import PPOLearner

__all__ = ["PPOLearner", "policy_loss", "value_loss"]
