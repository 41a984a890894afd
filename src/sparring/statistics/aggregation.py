"""How the values of one key in one window are put together, and the summary they give.

Every finite value counts, whoever sent it: all agents, all steps, all workers. Sums, means and deviations are
computed in float64. Nothing here reads a clock, logs or knows a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sparring.statistics._state import StateTree
from sparring.statistics.histogram import Buckets, Histogram

__all__ = ["MAX_MAGNITUDE", "Accumulator", "Aggregation", "Summary"]

MAX_MAGNITUDE = 1e100
"""Larger values are refused like infinities: the sum of their squares would leave the range of a float64."""

# Values are kept as they come and folded into sums and buckets in portions: adding stays as cheap as appending to a
# list, windows below this size are summarized from the exact values, and memory per key stays below 200 kB.
FOLD_AT = 4096
# What TensorBoard draws is coarser than this.
SUMMARY_BUCKETS = 64


class Aggregation(IntEnum):
    """How the values of a key become its headline value; the numbers are those of the statistics side channel."""

    AVERAGE = 0
    """Mean of all values."""
    MOST_RECENT = 1
    """The value received last from worker 0, or from the lowest one that sent any; the last one of each worker is kept
    beside it."""
    SUM = 2
    """Sum of all values, over all workers."""
    HISTOGRAM = 3
    """Mean of all values, and their distribution."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one key did in one window; only keys that got a value have one."""

    aggregation: Aggregation
    value: float
    """The headline: sum, most recent value or mean, by the aggregation."""
    count: int
    """Values the headline is made of, at least 1; always 1 if the aggregation is most recent."""
    mean: float
    std: float
    """Population standard deviation."""
    min: float
    max: float
    sum: float
    per_worker: Mapping[int, float] = field(default_factory=dict)
    """The last value of each worker, by worker number; empty unless the aggregation is most recent."""
    histogram: Histogram | None = None
    """The distribution; None unless the aggregation is histogram."""


@dataclass(frozen=True, slots=True)
class _Moments:
    """Count, sum, squared deviations from the mean, smallest and largest of some values."""

    count: int = 0
    sum: float = 0.0
    squares: float = 0.0
    min: float = math.inf
    max: float = -math.inf

    def joined(self, other: _Moments) -> _Moments:
        """The moments of both sets of values (Chan, Golub & LeVeque 1979)."""
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        delta = other.sum / other.count - self.sum / self.count
        squares = self.squares + other.squares + delta * delta * self.count * other.count / count
        return _Moments(count, self.sum + other.sum, squares, min(self.min, other.min), max(self.max, other.max))


class Accumulator:
    """The values of one key in one window.

    One aggregation holds for the whole window: the one of the first value.
    """

    __slots__ = ("_buckets", "_moments", "_pending", "_per_worker", "aggregation")

    def __init__(self, aggregation: Aggregation) -> None:
        self.aggregation = aggregation
        self._pending: list[float] = []
        self._moments = _Moments()
        self._buckets = Buckets() if aggregation is Aggregation.HISTOGRAM else None
        self._per_worker: dict[int, float] = {}

    def add(self, value: float, *, worker: int = 0) -> None:
        """Counts one value; finite and within `MAX_MAGNITUDE`, which the caller has made sure of."""
        if self.aggregation is Aggregation.MOST_RECENT:
            self._per_worker[worker] = value
            return
        self._pending.append(value)
        if len(self._pending) >= FOLD_AT:
            self._fold()

    def add_many(self, values: NDArray[np.float64], *, worker: int = 0) -> None:
        """Counts the values in order; one axis, at least one value, each as in `add`."""
        if self.aggregation is Aggregation.MOST_RECENT:
            self._per_worker[worker] = float(values[-1])
            return
        if values.size >= FOLD_AT:
            self._fold()
            self._take(values)
        else:
            self._pending.extend(values.tolist())
            if len(self._pending) >= FOLD_AT:
                self._fold()

    def summary(self) -> Summary:
        """The summary of everything so far; at least one value was added."""
        if self.aggregation is Aggregation.MOST_RECENT:
            pending = np.array([self._per_worker[min(self._per_worker)]])
        else:
            pending = np.array(self._pending, dtype=np.float64)
        moments = self._moments.joined(_moments(pending))
        histogram = None
        if self._buckets is not None:
            buckets = self._buckets.copy()
            buckets.add(pending)
            histogram = buckets.copy(limit=SUMMARY_BUCKETS).histogram()
        # Rounding may carry the mean of equal values an ulp past them.
        mean = min(max(moments.sum / moments.count, moments.min), moments.max)
        return Summary(
            aggregation=self.aggregation,
            value=moments.sum if self.aggregation is Aggregation.SUM else mean,
            count=moments.count,
            mean=mean,
            std=math.sqrt(moments.squares / moments.count),
            min=moments.min,
            max=moments.max,
            sum=moments.sum,
            per_worker=dict(sorted(self._per_worker.items())),
            histogram=histogram,
        )

    def state(self) -> StateTree:
        """Everything the summary depends on; bit for bit."""
        return {
            "aggregation": int(self.aggregation),
            "pending": np.array(self._pending, dtype=np.float64),
            "moments": list(astuple(self._moments)) if self._moments.count else None,
            "buckets": None if self._buckets is None else self._buckets.state(),
            "workers": np.array(list(self._per_worker), dtype=np.int64),
            "worker_values": np.array(list(self._per_worker.values()), dtype=np.float64),
        }

    @classmethod
    def from_state(cls, state: StateTree) -> Accumulator:
        """The accumulator that gave `state`."""
        self = cls(Aggregation(int(state["aggregation"])))
        self._pending = np.asarray(state["pending"], dtype=np.float64).tolist()
        if state["moments"] is not None:
            count, *others = state["moments"]
            self._moments = _Moments(int(count), *(float(number) for number in others))
        if self._buckets is not None:
            self._buckets.restore(state["buckets"])
        workers = np.asarray(state["workers"]).tolist()
        self._per_worker = dict(zip(workers, np.asarray(state["worker_values"]).tolist(), strict=True))
        return self

    def _fold(self) -> None:
        self._take(np.array(self._pending, dtype=np.float64))
        self._pending.clear()

    def _take(self, values: NDArray[np.float64]) -> None:
        self._moments = self._moments.joined(_moments(values))
        if self._buckets is not None:
            self._buckets.add(values)


def _moments(values: NDArray[np.float64]) -> _Moments:
    if not values.size:
        return _Moments()
    total = float(values.sum())
    deviation = values - total / values.size
    return _Moments(values.size, total, float(np.square(deviation).sum()), float(values.min()), float(values.max()))
