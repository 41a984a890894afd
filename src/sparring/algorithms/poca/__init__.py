"""Posthumous credit assignment for groups: `learner` holds its critic and the update."""

from sparring.algorithms.poca.learner import POCALearner

__all__ = ["POCALearner"]
