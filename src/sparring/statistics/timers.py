"""Where the time of a run goes: nested phases, timed cheaply enough for every environment step."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import TracebackType

import numpy as np

from sparring._version import __version__
from sparring.statistics._state import StateTree, in_order, numbered

__all__ = ["Gauge", "Phase", "Timers"]

_FORMAT_VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class Gauge:
    """The latest of some values, with their range and number."""

    value: float
    min: float
    max: float
    count: int

    def followed_by(self, later: Gauge) -> Gauge:
        """The gauge of both."""
        return Gauge(later.value, min(self.min, later.min), max(self.max, later.max), self.count + later.count)


class Phase:
    """One place in the tree of phases, and the context manager that times it; made by `Timers.phase`."""

    __slots__ = ("_clock", "_open", "_started", "children", "count", "is_parallel", "name", "total_s")

    def __init__(self, name: str, clock: Callable[[], float], open_phases: list[Phase]) -> None:
        """Times itself by `clock` and sits on the shared stack `open_phases` meanwhile."""
        self.name = name
        self.children: dict[str, Phase] = {}
        self.count = 0
        self.total_s = 0.0
        self.is_parallel = False
        self._started = 0.0
        self._clock = clock
        self._open = open_phases

    def __enter__(self) -> None:
        self._open.append(self)
        self._started = self._clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.total_s += self._clock() - self._started
        self.count += 1
        self._open.pop()

    def elapsed_s(self) -> float:
        """Seconds spent in the phase so far, the part that is running now included."""
        # By identity: a phase inside itself is another object.
        is_running = any(phase is self for phase in self._open)
        return self.total_s + (self._clock() - self._started if is_running else 0.0)

    def child(self, name: str) -> Phase:
        """The phase `name` inside this one."""
        try:
            return self.children[name]
        except KeyError:
            made = self.children[name] = Phase(name, self._clock, self._open)
            return made

    def to_json(self) -> dict[str, object]:
        """The tree from here down, in the form of `timers.json`."""
        total = self.elapsed_s()
        inside = sum(child.elapsed_s() for child in self.children.values())
        node: dict[str, object] = {"total": total, "count": self.count}
        if self.is_parallel:
            node["is_parallel"] = True
        # Children that ran in parallel may have taken more time than passed.
        node["self"] = max(0.0, total - inside)
        if self.children:
            node["children"] = {name: child.to_json() for name, child in self.children.items()}
        return node

    def state(self) -> StateTree:
        """Times and counts from here down."""
        return {
            "name": self.name,
            "total_s": self.elapsed_s(),
            "count": self.count,
            "is_parallel": self.is_parallel,
            "children": numbered(child.state() for child in self.children.values()),
        }

    def add(self, state: StateTree) -> None:
        """Adds the times and counts of a state to this tree."""
        self.total_s += float(state["total_s"])
        self.count += int(state["count"])
        self.is_parallel = self.is_parallel or bool(state["is_parallel"])
        for record in in_order(state["children"]):
            self.child(str(record["name"])).add(record)


class Timers:
    """The phases and gauges of one run, or of one process or thread that works for it.

    `with timers.phase("rollout"):` times what is inside; a phase entered inside another becomes its child. Not for
    several threads at once: each has its own and is put in with `add_parallel`.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter, now: Callable[[], float] = time.time) -> None:
        """Starts the time of the run.

        Args:
            clock: seconds that never go back.
            now: seconds since 1970, for the dates in the file.
        """
        self._clock = clock
        self._now = now
        self._started_at = now()
        self._open: list[Phase] = []
        root = Phase("root", clock, self._open)
        root.__enter__()
        self._gauges: dict[str, Gauge] = {}
        self._window_started = clock()
        self._window_base: dict[str, float] = {}

    @property
    def root(self) -> Phase:
        """The phase that all others are in; it never ends."""
        return self._open[0]

    def phase(self, name: str) -> Phase:
        """The phase `name` inside the one that is open now; enter it at once, with `with`."""
        # Written out, because this runs several times per environment step.
        innermost = self._open[-1]
        found = innermost.children.get(name)
        return innermost.child(name) if found is None else found

    def elapsed_s(self) -> float:
        """Seconds since the start, those of earlier parts of a resumed run included."""
        return self.root.elapsed_s()

    def set_gauge(self, name: str, value: float) -> None:
        """Takes note of a value."""
        later = Gauge(value, value, value, 1)
        earlier = self._gauges.get(name)
        self._gauges[name] = later if earlier is None else earlier.followed_by(later)

    def shares(self) -> dict[str, float]:
        """The part of the time since `start_window` that each outermost phase took, 0 to 1.

        What is missing to 1 was spent outside of any phase; a phase that did not run is left out.
        """
        window = self._clock() - self._window_started
        if window <= 0:
            return {}
        spent = {
            name: phase.elapsed_s() - self._window_base.get(name, 0.0) for name, phase in self.root.children.items()
        }
        return {name: seconds / window for name, seconds in spent.items() if seconds > 0}

    def start_window(self) -> None:
        """Makes `shares` count from now on."""
        self._window_started = self._clock()
        self._window_base = {name: phase.elapsed_s() for name, phase in self.root.children.items()}

    def add_parallel(self, name: str, state: StateTree) -> None:
        """Puts the phases of another process or thread under `name` in the open phase.

        Args:
            name: for all that work alike, such as `workers`.
            state: what their `Timers.state` gave at their end.
        """
        here = self.phase(name).child(f"{name.removesuffix('s')}_root")
        here.add(state["phases"])
        here.is_parallel = True
        self._add_gauges(state)

    def to_json(self, *, metadata: Mapping[str, str]) -> dict[str, object]:
        """The content of `timers.json`.

        Args:
            metadata: what only the caller knows, such as `command_line_arguments`, `communication_protocol_version`
                and `pytorch_version`; added to the times and versions known here.
        """
        root = self.root.to_json()
        return {
            "name": "root",
            "gauges": {name: asdict(gauge) for name, gauge in self._gauges.items()},
            "metadata": {
                "timer_format_version": _FORMAT_VERSION,
                "start_time_seconds": str(int(self._started_at)),
                "end_time_seconds": str(int(self._now())),
                "python_version": platform.python_version(),
                "sparring_version": __version__,
                "numpy_version": np.__version__,
                **metadata,
            },
            **root,
            "count": 1,
        }

    def state(self) -> StateTree:
        """All times so far, those of phases that are open included; belongs into the run's checkpoint."""
        return {
            "phases": self.root.state(),
            "gauges": numbered({"name": name, **asdict(gauge)} for name, gauge in self._gauges.items()),
            "started_at": self._started_at,
        }

    def restore(self, state: StateTree) -> None:
        """Adds the times of the earlier parts of a resumed run; phases may be open."""
        self.root.add(state["phases"])
        self._started_at = min(self._started_at, float(state["started_at"]))
        self._add_gauges(state)
        # Earlier parts are not time of this window.
        self.start_window()

    def _add_gauges(self, state: StateTree) -> None:
        for record in in_order(state["gauges"]):
            earlier = Gauge(float(record["value"]), float(record["min"]), float(record["max"]), int(record["count"]))
            own = self._gauges.get(record["name"])
            self._gauges[record["name"]] = earlier if own is None else earlier.followed_by(own)
