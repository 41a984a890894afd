"""What a run tells those who watch it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sparring.selfplay import LineupEvent
from sparring.training.evaluation import EvaluationRow

__all__ = ["BehaviorProgress", "Observer", "RunProgress", "SilentObserver", "SpeedMeter"]


@dataclass(frozen=True, slots=True)
class BehaviorProgress:
    """Where one behavior stands.

    Attributes:
        steps, max_steps: learner steps, and how many there are to be.
        mean_return: of its latest episodes while learning, None before the first.
        rating, uncertainty: None without self-play.
        is_learning: it is its turn.
        opponents: whom it meets, in words.
        entropy: of its latest decisions, in nats.
    """

    name: str
    steps: int
    max_steps: int
    mean_return: float | None
    rating: float | None
    uncertainty: float | None
    is_learning: bool
    opponents: str
    entropy: float | None
    episodes: int
    updates: int


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Where a run stands.

    Attributes:
        steps_per_s: learner steps a second, lately.
        time_left_s: at that speed; None before it is known.
        shares: part of the time by phase, lately.
        waits: what the lessons of environment parameters still wait for, a line each.
    """

    behaviors: Sequence[BehaviorProgress]
    environment_steps: int
    wall_time_s: float
    steps_per_s: float | None
    time_left_s: float | None
    shares: Mapping[str, float]
    waits: Sequence[str] = ()


class Observer(Protocol):
    """Somebody who watches a run."""

    def on_message(self, text: str) -> None:
        """A line that matters: the schedule, what was resumed, what could not be written."""

    def on_event(self, event: LineupEvent) -> None:
        """Self-play did something."""

    def on_progress(self, progress: RunProgress) -> None:
        """Several times a second."""

    def on_evaluation(self, row: EvaluationRow) -> None:
        """A row of the table of results is there."""


class SilentObserver:
    """Watches and says nothing."""

    def on_message(self, text: str) -> None:
        """As `Observer.on_message`."""

    def on_event(self, event: LineupEvent) -> None:
        """As `Observer.on_event`."""

    def on_progress(self, progress: RunProgress) -> None:
        """As `Observer.on_progress`."""

    def on_evaluation(self, row: EvaluationRow) -> None:
        """As `Observer.on_evaluation`."""


class SpeedMeter:
    """Steps a second over the latest stretch, long enough to hold several updates."""

    def __init__(self, *, window_s: float = 30.0) -> None:
        self._window_s = window_s
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, steps: int) -> float | None:
        """Notes the steps done by `now`, in seconds; gives the speed, None before there is one."""
        self._marks.append((now, steps))
        while len(self._marks) > 2 and now - self._marks[0][0] > self._window_s:
            self._marks.popleft()
        then, before = self._marks[0]
        return (steps - before) / (now - then) if now > then and steps > before else None
