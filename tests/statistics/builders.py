"""Short ways to a progress, to open statistics, and to what stands in their files."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sparring.statistics import Aggregation, Progress, Summary
from sparring.statistics._state import StateTree
from sparring.statistics.aggregation import Accumulator


def progress_at(step: int) -> Progress:
    """Counters that can be told from each other."""
    return Progress(
        step=step, environment_steps=step * 2, episodes=step // 10, updates=step // 50, wall_time_s=step / 8
    )


def summary_of(*values: float, aggregation: Aggregation = Aggregation.AVERAGE) -> Summary:
    accumulator = Accumulator(aggregation)
    for value in values:
        accumulator.add(value)
    return accumulator.summary()


def events(folder: Path) -> EventAccumulator:
    """All that TensorBoard itself reads in a folder."""
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    accumulator.Reload()
    return accumulator


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Steps and values of every scalar tag, in file order."""
    found = events(folder)
    return {tag: [(point.step, point.value) for point in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def refuse_constant(name: str) -> float:
    """What strict readers of JSON do with NaN and Infinity."""
    raise ValueError(name)


def lines(folder: Path) -> list[dict[str, Any]]:
    """The records of `statistics.jsonl`, read as strict JSON."""
    text = (folder / "statistics.jsonl").read_text("utf-8")
    return [json.loads(line, parse_constant=refuse_constant) for line in text.split("\n") if line]


def points(folder: Path, category: str) -> dict[str, list[tuple[int, float]]]:
    """The same as `curves`, from the JSON lines."""
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for record in lines(folder):
        if record["category"] == category:
            for key, numbers in record["keys"].items():
                found[key].append((record["step"], numbers["value"]))
    return dict(found)


def event_file(folder: Path) -> Path:
    """The one event file of a folder."""
    (path,) = folder.glob("*tfevents*")
    return path


class ClockOfOne:
    """A clock that advances by one second per call."""

    def __init__(self, start: float = 1000.0) -> None:
        self._times: Iterator[int] = iter(range(int(start), int(start) + 10**6))

    def __call__(self) -> float:
        return float(next(self._times))


class RecordingWriter:
    """Keeps what it was handed; raises `error` instead while one is set."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.written: list[tuple[str, dict[str, Summary], Progress]] = []
        self.announced: list[tuple[str, dict[str, object]]] = []
        self.restored: list[StateTree] = []
        self.closed = 0
        self.flushed = 0

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        self._fail()
        self.written.append((category, dict(summaries), progress))

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        self._fail()
        self.announced.append((category, dict(hyperparameters)))

    def flush(self) -> None:
        self._fail()
        self.flushed += 1

    def close(self) -> None:
        self._fail()
        self.closed += 1

    def state(self) -> StateTree:
        self._fail()
        return {"written": len(self.written)}

    def restore(self, state: StateTree) -> None:
        self._fail()
        self.restored.append(state)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error
