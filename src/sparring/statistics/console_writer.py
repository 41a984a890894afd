"""Says one line per window to the logger `sparring.statistics.console`; where lines go is for the caller to set."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from sparring.statistics._hyperparameters import hyperparameter_text
from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Summary
from sparring.statistics.progress import Progress

__all__ = ["ConsoleWriter", "console_line"]

logger = logging.getLogger("sparring.statistics.console")


class ConsoleWriter:
    """Logs every window as the line that users of ML-Agents know; keeps nothing."""

    def __init__(self, folder: Path, *, resume_state: StateTree | None = None) -> None:
        """A console writer needs no folder and no state."""
        del folder, resume_state

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """Logs one line."""
        logger.info("%s", console_line(category, summaries, progress))

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Logs the settings, one line per key."""
        logger.info("Hyperparameters for behavior name %s:\n%s", category, hyperparameter_text(hyperparameters))

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def state(self) -> StateTree:
        """Nothing."""
        return {}

    def restore(self, state: StateTree) -> None:
        """Does nothing."""
        del state


def console_line(category: str, summaries: Mapping[str, Summary], progress: Progress) -> str:
    """The line of one window, fields joined by a dot and a space."""
    fields = [category, f"Step: {progress.step}", f"Time Elapsed: {progress.wall_time_s:.3f} s"]
    reward = summaries.get("Environment/Cumulative Reward")
    group_reward = summaries.get("Environment/Group Cumulative Reward")
    if reward is None:
        fields.append("No episode was completed since last summary")
    else:
        fields.append(f"Mean Reward: {reward.mean:.3f}")
        if group_reward is None:
            fields.append(f"Std of Reward: {reward.std:.3f}")
        else:
            fields.append(f"Mean Group Reward: {group_reward.mean:.3f}")
    is_training = summaries.get("Is Training")
    if is_training is not None:
        fields.append("Training" if is_training.mean > 0 else "Not Training")
    rating = summaries.get("Self-play/ELO")
    if rating is not None:
        fields.append(f"ELO: {rating.mean:.3f}")
    return ". ".join(fields) + "."
