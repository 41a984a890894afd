"""Warnings that are said once per subject."""

from __future__ import annotations

import logging
from collections.abc import Hashable

__all__ = ["Notices"]

MAX_SUBJECTS = 1000


class Notices:
    """Logs a warning the first time its subject comes up and stays silent afterwards.

    A game that invents new wrong names all the time would fill the memory and the screen: after `MAX_SUBJECTS`
    subjects one last line says that further ones are not shown.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._said: set[Hashable] = set()

    def warn(self, subject: Hashable, message: str, *parts: object) -> None:
        """Logs `message % parts` unless `subject` had its line already."""
        if subject in self._said or len(self._said) > MAX_SUBJECTS:
            return
        self._said.add(subject)
        if len(self._said) > MAX_SUBJECTS:
            self._logger.warning("More than %d notices; further ones are not shown.", MAX_SUBJECTS)
        else:
            self._logger.warning(message, *parts)
