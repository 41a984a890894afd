"""Who is met next: the draw of opponents."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparring.selfplay.snapshots import Snapshot, SnapshotPool

__all__ = ["LatestOrWindow", "Matchmaker"]


class Matchmaker(Protocol):
    """Chooses an opponent from a pool."""

    def choose(self, pool: SnapshotPool, rng: np.random.Generator) -> Snapshot | None:
        """A snapshot of the pool, or None for the latest policy."""


class LatestOrWindow:
    """The latest policy with a probability, else a snapshot of the window, each as likely (spec: self-play §6)."""

    def __init__(self, *, latest_ratio: float) -> None:
        self._latest_ratio = latest_ratio

    def choose(self, pool: SnapshotPool, rng: np.random.Generator) -> Snapshot | None:
        """As `Matchmaker.choose`; always draws two numbers, so that streams stay aligned."""
        wants_latest = rng.random() < self._latest_ratio
        index = int(rng.random() * len(pool))
        return None if wants_latest or len(pool) == 0 else pool.window[index]
