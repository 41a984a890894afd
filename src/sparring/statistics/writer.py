"""What a writer of statistics is, and how writers are found.

A writer is a plug-in of the entry-point group `sparring.writers`: a name and a factory that is called as
`factory(folder, resume_state=...)` with the folder of the run and gives a `Writer`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from sparring.errors import SettingsError, nearest
from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Summary
from sparring.statistics.progress import Progress

__all__ = ["WRITER_GROUP", "Writer", "WriterFactory", "available_writers", "load_writers"]

logger = logging.getLogger(__name__)

WRITER_GROUP = "sparring.writers"

# Declared in pyproject.toml as well; named here so that they are also found where the package's metadata is missing
# (a source tree on the path, a frozen program).
_BUILT_IN = MappingProxyType(
    {
        "tensorboard": "sparring.statistics.tensorboard_writer:TensorBoardWriter",
        "jsonl": "sparring.statistics.jsonl_writer:JsonLinesWriter",
        "console": "sparring.statistics.console_writer:ConsoleWriter",
    }
)


class Writer(Protocol):
    """Where summaries go.

    May raise: whatever it raises is reported once and never stops a run. Called from one thread. A writer to a
    remote service must not block; it keeps its own thread.
    """

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """Takes one window of a category; empty when no key got a value."""

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Takes the settings of a category; called at the start and again after a resume."""

    def flush(self) -> None:
        """Hands on what is still held back."""

    def close(self) -> None:
        """Flushes and ends; closing twice is allowed."""

    def state(self) -> StateTree:
        """What a resumed writer needs to go on exactly behind everything written so far."""

    def restore(self, state: StateTree) -> None:
        """Goes back to `state`: what was written after it is dropped. Twice is the same as once."""


class WriterFactory(Protocol):
    """What an entry point of `sparring.writers` names."""

    def __call__(self, folder: Path, *, resume_state: StateTree | None) -> Writer:
        """A writer for the run in `folder`.

        Args:
            folder: the folder of the run; the writer may make files and folders in it, at its first write.
            resume_state: None for a new run. What the writer's `state` gave for a resumed one, empty if the run had
                no such writer before.
        """


def available_writers() -> list[str]:
    """The names of all writers that are installed, sorted; nothing is imported."""
    return sorted(_found())


def check_writers(names: Iterable[str]) -> None:
    """Whether all writers called `names` are installed; nothing is imported.

    Raises:
        SettingsError: names that no installed package offers.
    """
    found = _found()
    if unknown := [name for name in dict.fromkeys(names) if name not in found]:
        close = nearest(unknown[0], found, limit=1)
        raise SettingsError(
            f"no writer is called {', '.join(repr(name) for name in unknown)}",
            expected=f"one of {', '.join(sorted(found))}",
            cure=f"did you mean {close[0]!r}?" if close else "",
        )


def load_writers(
    folder: Path, names: Iterable[str], *, states: Mapping[str, StateTree] | None = None
) -> dict[str, Writer]:
    """The writers called `names`, by name; one that can not be loaded is named in a warning and left out.

    Args:
        folder: the folder of the run.
        names: names of `available_writers`.
        states: None for a new run, the states of the writers for a resumed one.

    Raises:
        SettingsError: names that no installed package offers.
    """
    names = list(dict.fromkeys(names))
    check_writers(names)
    found = _found()
    writers: dict[str, Writer] = {}
    for name in names:
        resume_state = None if states is None else states.get(name, {})
        try:
            factory: WriterFactory = found[name].load()
            writers[name] = factory(folder, resume_state=resume_state)
        except Exception as error:  # a plug-in may raise anything, and training matters more than a curve
            logger.warning(
                "The statistics writer %r (%s) could not be started and is left out: %s: %s",
                name,
                found[name].value,
                type(error).__name__,
                error,
            )
    return writers


def _found() -> dict[str, EntryPoint]:
    """Entry points by name; a plug-in can not take the name of a built-in writer."""
    found = {point.name: point for point in entry_points(group=WRITER_GROUP)}
    built_in = {name: EntryPoint(name=name, value=value, group=WRITER_GROUP) for name, value in _BUILT_IN.items()}
    return found | built_in
