"""What a game reports and records: statistics by key, and demonstrations of one agent."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sparring.channels import StatsAggregationMethod, StatsSideChannel
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire.demonstrations import DemonstrationWriter

if TYPE_CHECKING:
    from sparring.academy.agent import Agent

__all__ = ["DemonstrationRecorder", "StatsRecorder"]


class StatsRecorder:
    """Reports numbers to the trainer, which shows them beside its own.

    Args:
        channel: that carries them.
    """

    def __init__(self, channel: StatsSideChannel) -> None:
        self._channel = channel

    def add(self, key: str, value: float, aggregation: StatsAggregationMethod = StatsAggregationMethod.AVERAGE) -> None:
        """Reports a value; a slash in the key, which is ASCII, groups curves."""
        self._channel.add_stat(key, value, aggregation)


class DemonstrationRecorder:
    """Writes down what one agent sees and does, whoever chooses its actions, until it is closed or the game is over.

    A context manager.

    Args:
        agent: whose play is recorded, from its next decision on.
        path: the file, which must not exist.
        name: of the recording; the file's without one.

    Raises:
        SpecError: the file exists.
    """

    def __init__(self, agent: Agent, path: Path | str, *, name: str | None = None) -> None:
        self._seat = agent.seat
        self._writer = DemonstrationWriter(
            path, name=name or Path(path).stem, behavior_name=agent.behavior_name, spec=agent.spec
        )
        self._is_begun = False
        self._seat.recorders.append(self)
        agent.academy.on_close(self.close)

    def write_decision(self, steps: DecisionSteps, row: int, actions: ActionBatch) -> None:
        """Called by the academy when the agent's actions are chosen."""
        self._is_begun = True
        self._writer.add(steps, row, actions)

    def write_end(self, steps: TerminalSteps) -> None:
        """Called by the academy when the agent's episode ends; one whose beginning was missed is left out."""
        if self._is_begun:
            self._writer.add(steps, 0)

    def close(self) -> None:
        """Ends the recording and makes the file whole; twice is allowed."""
        self.__exit__(None, None, None)

    def __enter__(self) -> DemonstrationRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in self._seat.recorders:
            self._seat.recorders.remove(self)
        self._writer.__exit__(kind, error, trace)
