"""Sparring trains game agents by playing them against themselves.

The names below are the nouns of the house; they import without torch.
"""

from sparring._version import __version__
from sparring.environments import Environment
from sparring.errors import SparringError
from sparring.specs import ActionSpec, BehaviorId, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = [
    "ActionBatch",
    "ActionSpec",
    "BehaviorId",
    "BehaviorSpec",
    "DecisionSteps",
    "Environment",
    "ObservationSpec",
    "SparringError",
    "TerminalSteps",
    "__version__",
]
