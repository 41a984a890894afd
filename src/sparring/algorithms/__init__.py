"""Update rules: how a learner turns experience into better weights."""

from sparring.algorithms.advantages import gae
from sparring.algorithms.learner import Learner, UpdateReport
from sparring.algorithms.ppo import PPOLearner
from sparring.algorithms.registry import ALGORITHM_GROUP, available_algorithms, check_algorithms, find_algorithm
from sparring.algorithms.schedules import scheduled

__all__ = [
    "ALGORITHM_GROUP",
    "Learner",
    "PPOLearner",
    "UpdateReport",
    "available_algorithms",
    "check_algorithms",
    "find_algorithm",
    "gae",
    "scheduled",
]
