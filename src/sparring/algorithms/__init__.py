"""Update rules: how a learner turns a rollout into better weights."""

from sparring.algorithms.advantages import gae
from sparring.algorithms.learner import Learner, UpdateReport
from sparring.algorithms.ppo import PPOLearner
from sparring.algorithms.schedules import scheduled

__all__ = ["Learner", "PPOLearner", "UpdateReport", "gae", "scheduled"]
