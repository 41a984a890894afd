"""One run composed from the parts: collecting, learning, reporting, saving, evaluating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparring._exports import exports as _exports

if TYPE_CHECKING:
    from sparring.training.evaluation import EvaluationRow, Tally, duel, play_matches
    from sparring.training.policy_models import PolicyModel, load_model
    from sparring.training.progress import BehaviorProgress, Observer, RunProgress, SilentObserver
    from sparring.training.session import RunReport, evaluate_run, export_run, run_training

__all__ = [
    "BehaviorProgress",
    "EvaluationRow",
    "Observer",
    "PolicyModel",
    "RunProgress",
    "RunReport",
    "SilentObserver",
    "Tally",
    "duel",
    "evaluate_run",
    "export_run",
    "load_model",
    "play_matches",
    "run_training",
]

__getattr__ = _exports(
    __name__,
    {
        "evaluation": ("EvaluationRow", "Tally", "duel", "play_matches"),
        "policy_models": ("PolicyModel", "load_model"),
        "progress": ("BehaviorProgress", "Observer", "RunProgress", "SilentObserver"),
        "session": ("RunReport", "evaluate_run", "export_run", "run_training"),
    },
)
