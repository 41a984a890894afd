"""Writes one JSON object per window into `statistics.jsonl`, for any tool that reads lines of JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from sparring.statistics._appended_file import AppendedFile, Mark, set_aside
from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Summary
from sparring.statistics.progress import Progress

__all__ = ["FILE_NAME", "JsonLinesWriter"]

logger = logging.getLogger(__name__)

FILE_NAME = "statistics.jsonl"


class JsonLinesWriter:
    """Appends a line per category and window: the category, the five counters of `Progress`, and every key's numbers.

    A resumed run goes on in the same file; lines behind the checkpoint are cut off first. Settings are not repeated
    here, so that all lines have one form.
    """

    def __init__(self, folder: Path, *, resume_state: StateTree | None = None) -> None:
        """Writes into `folder`, from the first write on."""
        self._path = folder / FILE_NAME
        self._file: AppendedFile | None = None
        if resume_state is not None:
            self.restore(resume_state)

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """Appends one line.

        Raises:
            OSError: the line does not fit; the file holds whole lines only.
        """
        record = {
            "category": category,
            **asdict(progress),
            "keys": {key: _numbers(summary) for key, summary in summaries.items()},
        }
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
        # Half a surrogate pair, from broken text of a game, has no UTF-8; its backslash form is JSON's own escape.
        self._open_file().append(line.encode("utf-8", "backslashreplace"))

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Does nothing: the run's settings file has them."""
        del category, hyperparameters

    def flush(self) -> None:
        """Does nothing: every line is handed to the system at once."""

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def state(self) -> StateTree:
        """The length of the file, which is on the disk."""
        return {} if self._file is None else self._file.mark().state()

    def restore(self, state: StateTree) -> None:
        """Cuts off the lines behind `state`; a file that is not the one of `state` is set aside."""
        self.close()
        self._file = None
        if not state:
            return
        self._file = AppendedFile.cut_back(self._path.parent, Mark.from_state(state))
        if self._file is None:
            logger.warning(
                "%s is missing or not the one this run wrote up to its checkpoint; a new one begins here.", self._path
            )

    def _open_file(self) -> AppendedFile:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists():
                logger.warning("%s was there already; it is now %s.", self._path, set_aside(self._path).name)
            self._file = AppendedFile.create(self._path)
        return self._file


def _numbers(summary: Summary) -> dict[str, object]:
    numbers: dict[str, object] = {
        "value": summary.value,
        "mean": summary.mean,
        "count": summary.count,
        "std": summary.std,
        "min": summary.min,
        "max": summary.max,
        "sum": summary.sum,
        "aggregation": summary.aggregation.name.lower(),
    }
    if summary.per_worker:
        numbers["per_worker"] = {str(worker): value for worker, value in summary.per_worker.items()}
    return numbers
