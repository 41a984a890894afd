"""Sparring trains game agents by playing them against themselves.

The names below are the nouns of the house; they import without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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

_HOMES = {
    "ActionBatch": "steps",
    "ActionSpec": "specs",
    "BehaviorId": "specs",
    "BehaviorSpec": "specs",
    "DecisionSteps": "steps",
    "Environment": "environments",
    "ObservationSpec": "specs",
    "SparringError": "errors",
    "TerminalSteps": "steps",
}


def __getattr__(name: str) -> object:
    """Imports a noun when it is asked for: `sparring --help` must not wait for NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sparring' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sparring.{_HOMES[name]}"), name)
