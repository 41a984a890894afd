"""A writer that can not stop a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Summary
from sparring.statistics.progress import Progress
from sparring.statistics.writer import Writer

__all__ = ["GuardedWriter"]

logger = logging.getLogger(__name__)


class GuardedWriter:
    """Passes every call on to a writer; what it raises is reported once and its summary is lost.

    The writer is tried again at the next call, because a full disk or a lost network drive comes back. When it does,
    one line says how many summaries were lost.
    """

    def __init__(self, name: str, writer: Writer) -> None:
        self.name = name
        self._writer = writer
        self._is_failing = False
        self._lost = 0
        self._last_state: StateTree = {}

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """As `Writer.write`."""
        if not self._succeeds(lambda: self._writer.write(category, summaries, progress)):
            self._lost += 1
        elif self._is_failing:
            logger.warning("The statistics writer %r works again; summaries lost: %d.", self.name, self._lost)
            self._is_failing, self._lost = False, 0

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """As `Writer.announce`."""
        self._succeeds(lambda: self._writer.announce(category, hyperparameters))

    def flush(self) -> None:
        """As `Writer.flush`."""
        self._succeeds(self._writer.flush)

    def close(self) -> None:
        """As `Writer.close`."""
        self._succeeds(self._writer.close)

    def state(self) -> StateTree:
        """As `Writer.state`; the last one known where the writer can not tell."""

        def remember() -> None:
            self._last_state = self._writer.state()

        self._succeeds(remember)
        return self._last_state

    def restore(self, state: StateTree) -> None:
        """As `Writer.restore`."""
        self._last_state = state
        self._succeeds(lambda: self._writer.restore(state))

    def _succeeds(self, call: Callable[[], None]) -> bool:
        """Makes the call; whether it did not raise. The first failure since a summary got through is reported."""
        try:
            call()
        except Exception as error:  # a plug-in may raise anything, and training matters more than a curve
            if not self._is_failing:
                logger.warning(
                    "The statistics writer %r failed; training goes on, and it is tried again at every summary: %s: %s",
                    self.name,
                    type(error).__name__,
                    error,
                )
            self._is_failing = True
            return False
        return True
