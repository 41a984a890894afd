"""One run composed from the parts: collecting, learning, reporting, saving, evaluating."""

from sparring.training.evaluation import EvaluationRow, Tally, duel, play_matches
from sparring.training.progress import BehaviorProgress, Observer, RunProgress, SilentObserver
from sparring.training.session import RunReport, evaluate_run, export_run, run_training

__all__ = [
    "BehaviorProgress",
    "EvaluationRow",
    "Observer",
    "RunProgress",
    "RunReport",
    "SilentObserver",
    "Tally",
    "duel",
    "evaluate_run",
    "export_run",
    "play_matches",
    "run_training",
]
