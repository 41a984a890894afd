"""A distribution in bounded memory: counts in buckets whose width is a power of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.statistics._state import StateTree

__all__ = ["Buckets", "Histogram"]

# Wide enough for any curve a person looks at; the limit bounds the memory of one key in one window.
MAX_BUCKETS = 1024
# 2**-1000: below it the width itself would leave the range of normal floats.
MIN_EXPONENT = -1000


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between edges: `counts[i]` values lie in `edges[i] <= value < edges[i + 1]`."""

    edges: NDArray[np.float64]
    """Increasing, one more than there are counts."""
    counts: NDArray[np.int64]


class Buckets:
    """Counts of values in at most `limit` neighboring buckets of equal width.

    Bucket i holds `i * width <= value < (i + 1) * width`. The width is the smallest power of two at which the range
    of all values so far fits, and doubling it joins neighbors exactly. What is kept therefore depends on the values
    only, not on their order or on how they were portioned.
    """

    def __init__(self, limit: int = MAX_BUCKETS) -> None:
        self._limit = limit
        self._exponent = MIN_EXPONENT
        self._counts: dict[int, int] = {}
        self._min = math.inf
        self._max = -math.inf

    def copy(self, *, limit: int | None = None) -> Buckets:
        """The same counts, joined further where `limit` is smaller."""
        other = Buckets(self._limit if limit is None else limit)
        other._exponent, other._counts = self._exponent, dict(self._counts)
        other._min, other._max = self._min, self._max
        other._widen()
        return other

    def add(self, values: NDArray[np.float64]) -> None:
        """Counts `values`, one axis, finite."""
        if not values.size:
            return
        self._min = min(self._min, float(values.min()))
        self._max = max(self._max, float(values.max()))
        self._widen()
        found, counts = np.unique(values // math.ldexp(1.0, self._exponent), return_counts=True)
        for index, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._counts[int(index)] = self._counts.get(int(index), 0) + count

    def histogram(self) -> Histogram:
        """The buckets from the lowest to the highest value, empty ones in between included."""
        first, last = min(self._counts), max(self._counts)
        edges = np.ldexp(np.arange(first, last + 2, dtype=np.float64), self._exponent)
        counts = np.array([self._counts.get(index, 0) for index in range(first, last + 1)], dtype=np.int64)
        return Histogram(edges, counts)

    def state(self) -> StateTree:
        """Everything later calls depend on."""
        indices = sorted(self._counts)
        return {
            "exponent": self._exponent,
            "indices": np.array(indices, dtype=np.int64),
            "counts": np.array([self._counts[index] for index in indices], dtype=np.int64),
            "min": self._min if indices else None,
            "max": self._max if indices else None,
        }

    def restore(self, state: StateTree) -> None:
        """Puts back what `state` gave."""
        self._exponent = int(state["exponent"])
        self._counts = dict(
            zip(np.asarray(state["indices"]).tolist(), np.asarray(state["counts"]).tolist(), strict=True)
        )
        self._min = math.inf if state["min"] is None else float(state["min"])
        self._max = -math.inf if state["max"] is None else float(state["max"])

    def _widen(self) -> None:
        """Joins neighbors until the range fits."""
        if self._max < self._min:
            return
        exponent = max(self._exponent, _smallest_exponent(self._min, self._max, self._limit))
        shift = exponent - self._exponent
        if not shift:
            return
        joined: dict[int, int] = {}
        for index, count in self._counts.items():
            joined[index >> shift] = joined.get(index >> shift, 0) + count
        self._exponent, self._counts = exponent, joined


def _smallest_exponent(low: float, high: float, limit: int) -> int:
    """The smallest exponent of a bucket width at which `low` to `high` need at most `limit` buckets."""
    # Never narrower than the precision of the values themselves: a bucket's number then fits a float64 exactly.
    precision = math.frexp(max(abs(low), abs(high)))[1] - 53
    # Below this the spread alone would need more than `limit` buckets.
    needed = math.frexp(high - low)[1] - math.frexp(limit)[1] - 1 if high > low else MIN_EXPONENT
    exponent = max(needed, precision, MIN_EXPONENT)
    # Floor division, because a tiny negative value scaled by the width would round to 0 and into the wrong bucket.
    while high // math.ldexp(1.0, exponent) - low // math.ldexp(1.0, exponent) >= limit:
        exponent += 1
    return exponent
