"""Soft actor-critic: `losses` has the formulas, `replay` the experience, `learner` puts them together."""

from sparring.algorithms.sac.learner import SACLearner
from sparring.algorithms.sac.replay import Replay, ReplayBatch

__all__ = ["Replay", "ReplayBatch", "SACLearner"]
