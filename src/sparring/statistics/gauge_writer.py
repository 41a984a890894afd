"""Keeps the latest summaries as gauges of the timers file."""

from __future__ import annotations

from collections.abc import Mapping

from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Summary
from sparring.statistics.progress import Progress
from sparring.statistics.timers import Timers

__all__ = ["GaugeWriter"]


class GaugeWriter:
    """Sets the gauges `<category>.<key>.mean` and `.sum`, slashes as dots and spaces left out.

    Not a plug-in, because it needs the run's timers: who composes the run adds it to the writers.
    """

    def __init__(self, timers: Timers) -> None:
        """Sets gauges of `timers`."""
        self._timers = timers

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """Sets two gauges per key."""
        del progress
        for key, summary in summaries.items():
            name = f"{category}.{key}".replace("/", ".").replace(" ", "")
            self._timers.set_gauge(f"{name}.mean", summary.mean)
            self._timers.set_gauge(f"{name}.sum", summary.sum)

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Does nothing."""
        del category, hyperparameters

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def state(self) -> StateTree:
        """Nothing: the timers' own state has the gauges."""
        return {}

    def restore(self, state: StateTree) -> None:
        """Does nothing."""
        del state
