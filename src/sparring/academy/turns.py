"""The hand-over between a game that steps itself, on one thread, and its trainer on another."""

from __future__ import annotations

import logging
import threading
from typing import Literal

__all__ = ["Turns"]

_log = logging.getLogger(__name__)

_NOTICE_S = 10.0

Command = Literal["step", "reset", "close"]


class Turns:
    """Lets one of two threads run at a time: the game's or the trainer's. The game's begins."""

    def __init__(self) -> None:
        self._game = threading.Semaphore(0)
        self._trainer = threading.Semaphore(0)
        self._command: Command = "step"
        self.is_over = False
        self.error: BaseException | None = None

    def wait_for_trainer(self) -> Command:
        """On the game's thread: lets the trainer run until it says what to do."""
        self._trainer.release()
        self._game.acquire()
        return self._command

    def wait_for_game(self, command: Command, *, timeout: float | None = None) -> bool:
        """On the trainer's thread: lets the game run until it has something to tell, or is over.

        Args:
            command: what the game is to do.
            timeout: seconds; False is returned if the game takes longer.
        """
        self._command = command
        self._game.release()
        return self._trainer.acquire(timeout=timeout) if timeout is not None else self.wait_for_start()

    def wait_for_start(self) -> bool:
        """On the trainer's thread: until the game has something to tell."""
        while not self._trainer.acquire(timeout=_NOTICE_S):
            _log.warning("waiting for the game's loop, which should call academy.environment_step()")
        return True

    def end(self, error: BaseException | None = None) -> None:
        """On the game's thread: the game is over."""
        self.is_over, self.error = True, error
        self._trainer.release()
