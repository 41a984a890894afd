"""Runs small games through the real `run_training`, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparring.settings import RunSettings
from sparring.training.progress import SilentObserver
from sparring.training.session import RunReport, run_training
from sparring.worlds.registry import CreateWorld

__all__ = ["Watcher", "small_settings", "train_small"]

SMALL: dict[str, Any] = {
    "hyperparameters": {
        "batch_size": 32,
        "buffer_size": 128,
        "learning_rate": 0.001,
        "learning_rate_schedule": "constant",
        "num_epoch": 2,
    },
    "network_settings": {"hidden_units": 16, "num_layers": 1, "normalize": True},
    "time_horizon": 5,
    "max_steps": 400,
    "summary_freq": 100,
    "checkpoint_interval": 80,
    "keep_checkpoints": 0,
    "self_play": {
        "window": 3,
        "save_steps": 50,
        "swap_steps": 40,
        "team_change": 100,
        "play_against_latest_model_ratio": 0.5,
    },
}


class Watcher(SilentObserver):
    """Remembers what a run said."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.events: list[tuple[str, str]] = []

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def on_event(self, event: Any) -> None:
        self.events.append((event.kind, event.text))


def small_settings(folder: Path, **changes: Any) -> RunSettings:
    """The base settings of the cases, for any behavior; `changes` are laid over the behavior's."""
    start = changes.pop("checkpoint_settings", {})
    more = changes.pop("run", {})
    plan = {**SMALL, **changes}
    return RunSettings.model_validate(
        {
            "default_settings": plan,
            "env_settings": {"seed": 3, "num_areas": 2},
            "checkpoint_settings": {"results_dir": str(folder), "run_id": "run", **start},
            "torch_settings": {"device": "cpu", "threads": 2},
            "evaluation": {"matches": 0},
            "export_settings": {"each_checkpoint": False},
            **more,
        }
    )


def train_small(
    settings: RunSettings,
    game: CreateWorld,
    *,
    resume: bool = False,
    stop_after: int | None = None,
    observer: Watcher | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RunReport:
    """Trains, or goes on with, a run; `stop_after` asks it to stop after so many environment steps."""
    steps = 0

    def enough() -> bool:
        nonlocal steps
        steps += 1
        return stop_after is not None and steps > stop_after

    if resume:
        start = settings.checkpoint_settings.model_copy(update={"resume": True})
        settings = settings.model_copy(update={"checkpoint_settings": start})
    return run_training(settings, observer=observer or Watcher(), should_stop=should_stop or enough, make_game=game)
