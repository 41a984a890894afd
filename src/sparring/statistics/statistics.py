"""The statistics of one run: values come in by category and key, summaries go out to the writers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from sparring.statistics._guarded_writer import GuardedWriter
from sparring.statistics._notices import Notices
from sparring.statistics._state import StateTree, in_order, numbered
from sparring.statistics.aggregation import MAX_MAGNITUDE, Accumulator, Aggregation, Summary
from sparring.statistics.progress import Progress
from sparring.statistics.writer import Writer, load_writers

__all__ = ["Statistics"]

logger = logging.getLogger(__name__)

# A game that builds keys out of numbers would otherwise grow without end.
MAX_KEYS = 10_000


class Statistics:
    """Collects values into one window per category and writes summaries of them; one object per run.

    A category is a behavior's name; a key is a tag as users see it, such as `Environment/Cumulative Reward`. Names
    are data: they are shown exactly as sent. A window is what came in since the category was last written. A value
    that is not finite is refused with one notice per key and changes nothing. Where one key gets several
    aggregations in a window, that of its first value holds until the window is written, with one notice.

    Not for several threads at once. Leaving it as a context manager closes the writers.
    """

    def __init__(self, writers: Mapping[str, Writer]) -> None:
        """Writes to `writers`, by name; owns them from now on."""
        self._writers = [GuardedWriter(name, writer) for name, writer in writers.items()]
        self._announced: dict[str, Mapping[str, object]] = {}
        self._windows: dict[str, dict[str, Accumulator]] = {}
        self._notices = Notices(logger)

    @classmethod
    def open(cls, folder: Path, names: Iterable[str], *, state: StateTree | None = None) -> Statistics:
        """The statistics of the run in `folder`; arguments and errors as in `open_writers`."""
        self = cls({})
        self.open_writers(folder, names, state=state)
        return self

    def open_writers(self, folder: Path, names: Iterable[str], *, state: StateTree | None = None) -> None:
        """Adds the writers called `names`, which are told what was announced before; nothing is written earlier.

        Args:
            folder: the folder of the run.
            names: names of `available_writers`.
            state: None for a new run; for a resumed one what `Statistics.state` gave. Open windows are as they were
                then, and writers cut off what was written after it.

        Raises:
            SettingsError: names that no installed package offers.
        """
        states = None
        if state is not None:
            states = {record["name"]: record["state"] for record in in_order(state["writers"])}
            self._restore_windows(state)
        opened = [GuardedWriter(name, writer) for name, writer in load_writers(folder, names, states=states).items()]
        for category, hyperparameters in self._announced.items():
            for writer in opened:
                writer.announce(category, hyperparameters)
        self._writers += opened

    def add(
        self,
        category: str,
        key: str,
        value: float,
        aggregation: Aggregation = Aggregation.AVERAGE,
        *,
        worker: int = 0,
    ) -> None:
        """Counts one value into the open window."""
        number = float(value)
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:  # NaN fails every comparison
            self._refuse(category, key, number)
            return
        accumulator = self._accumulator(category, key, aggregation)
        if accumulator is not None:
            accumulator.add(number, worker=worker)

    def add_many(
        self,
        category: str,
        key: str,
        values: NDArray[np.number] | NDArray[np.bool_],
        aggregation: Aggregation = Aggregation.AVERAGE,
        *,
        worker: int = 0,
    ) -> None:
        """Counts every value of an array of any shape, in order; the same as `add` for each."""
        flat: NDArray[np.float64] = np.asarray(values, dtype=np.float64).ravel()
        is_fit = np.abs(flat) <= MAX_MAGNITUDE
        if not is_fit.all():
            self._refuse(category, key, float(flat[~is_fit][0]))
            flat = flat[is_fit]
        if flat.size:
            accumulator = self._accumulator(category, key, aggregation)
            if accumulator is not None:
                accumulator.add_many(flat, worker=worker)

    def add_environment(self, categories: Sequence[str], statistics: Sequence[tuple[str, float, int, int]]) -> None:
        """Counts what a game reported, once for each different category however many teams share it.

        Args:
            categories: behavior names; one named twice counts once.
            statistics: key, value, number of the aggregation and number of the game, as `EnvironmentStatistic`s in
                the order sent.
        """
        for category in dict.fromkeys(categories):
            for key, value, number, worker in statistics:
                try:
                    aggregation = Aggregation(number)
                except ValueError:
                    self._notices.warn(
                        (category, key, "aggregation"),
                        "%s: the game sent %r with the unknown aggregation %r; expected one of 0 (average), "
                        "1 (most recent), 2 (sum), 3 (histogram). Its values are dropped.",
                        category,
                        key,
                        number,
                    )
                    continue
                self.add(category, key, value, aggregation, worker=worker)

    def write(self, category: str, progress: Progress) -> dict[str, Summary]:
        """Summarizes the open window of a category, hands it to every writer and starts an empty one.

        Gives:
            The summaries by key, in the order in which the keys came in; a key without a value has none.
        """
        window = self._windows.pop(category, {})
        summaries = {key: accumulator.summary() for key, accumulator in window.items()}
        for writer in self._writers:
            writer.write(category, summaries, progress)
        return summaries

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Hands the settings of a category to every writer, those that are opened later included."""
        self._announced[category] = hyperparameters
        for writer in self._writers:
            writer.announce(category, hyperparameters)

    def flush(self) -> None:
        """Makes every writer hand on what it holds back."""
        for writer in self._writers:
            writer.flush()

    def close(self) -> None:
        """Closes the writers; an open window that should be seen is written before. Twice is allowed."""
        for writer in self._writers:
            writer.close()

    def state(self) -> StateTree:
        """The open windows, exactly, and where each writer stands; belongs into the run's checkpoint."""
        return {
            "windows": numbered(
                {"category": category, "key": key, "values": accumulator.state()}
                for category, window in self._windows.items()
                for key, accumulator in window.items()
            ),
            "writers": numbered({"name": writer.name, "state": writer.state()} for writer in self._writers),
        }

    def restore(self, state: StateTree) -> None:
        """Goes back to `state`: open windows are as they were, and writers drop what was written after it."""
        self._restore_windows(state)
        states = {record["name"]: record["state"] for record in in_order(state["writers"])}
        for writer in self._writers:
            writer.restore(states.get(writer.name, {}))

    def __enter__(self) -> Statistics:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _restore_windows(self, state: StateTree) -> None:
        self._windows = {}
        for record in in_order(state["windows"]):
            window = self._windows.setdefault(record["category"], {})
            window[record["key"]] = Accumulator.from_state(record["values"])

    def _accumulator(self, category: str, key: str, aggregation: Aggregation) -> Accumulator | None:
        """The accumulator of a key, made at its first value; None where there are too many keys."""
        window = self._windows.setdefault(category, {})
        accumulator = window.get(key)
        if accumulator is None:
            if len(window) >= MAX_KEYS:
                self._notices.warn(
                    (category, "keys"),
                    "%s: more than %d keys in one window; %r and further ones are dropped. Keys should name a "
                    "quantity, not a single event.",
                    category,
                    MAX_KEYS,
                    key,
                )
                return None
            accumulator = window[key] = Accumulator(aggregation)
        elif accumulator.aggregation is not aggregation:
            self._notices.warn(
                (category, key, "mixed"),
                "%s: %r came as %s and as %s in one window; the first holds until the window is written.",
                category,
                key,
                accumulator.aggregation.name.lower(),
                aggregation.name.lower(),
            )
        return accumulator

    def _refuse(self, category: str, key: str, value: float) -> None:
        self._notices.warn(
            (category, key, "refused"),
            "%s: %r got the value %r, which can not be plotted; expected a finite number below %g. This and further "
            "such values of the key are left out.",
            category,
            key,
            value,
            MAX_MAGNITUDE,
        )
