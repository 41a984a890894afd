"""Sparring trains game agents by playing them against themselves.

The names below are the nouns of the house; they import without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparring._exports import exports as _exports
from sparring._version import __version__

if TYPE_CHECKING:
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

__getattr__ = _exports(
    __name__,
    {
        "environments": ("Environment",),
        "errors": ("SparringError",),
        "specs": ("ActionSpec", "BehaviorId", "BehaviorSpec", "ObservationSpec"),
        "steps": ("ActionBatch", "DecisionSteps", "TerminalSteps"),
    },
)
