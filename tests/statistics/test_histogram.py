"""Buckets against counting by hand."""

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.statistics.histogram import Buckets, Histogram

finite = st.floats(-1e100, 1e100)
samples = st.lists(finite, min_size=1, max_size=80)


def bucketed(*portions: list[float], limit: int = 64) -> Histogram:
    buckets = Buckets(limit)
    for portion in portions:
        buckets.add(np.array(portion, dtype=np.float64))
    return buckets.histogram()


def counted(values: list[float], edges: NDArray[np.float64]) -> list[int]:
    return [sum(low <= value < high for value in values) for low, high in itertools.pairwise(edges)]


@given(samples)
@example([0.0, 5e-324])
@example([1e100, -1e100])
@example([1.0, 1.0000000000000002])
@example([1e16, 1e16 + 2, 0.0])
def test_every_value_is_counted_in_the_bucket_it_lies_in(values: list[float]) -> None:
    histogram = bucketed(values)
    assert histogram.counts.tolist() == counted(values, histogram.edges)
    assert histogram.counts.sum() == len(values)
    assert histogram.counts.size <= 64
    assert (np.diff(histogram.edges) > 0).all()


@given(samples, st.randoms(use_true_random=False), st.integers(0, 80))
def test_neither_order_nor_portions_change_the_buckets(values: list[float], random: Random, cut: int) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    one, two = bucketed(values), bucketed(shuffled[:cut], shuffled[cut:])
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.counts, two.counts)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=80))
def test_joining_buckets_equals_coarser_ones_from_the_start(values: list[float]) -> None:
    fine = Buckets(1024)
    fine.add(np.array(values))
    joined, coarse = fine.copy(limit=64).histogram(), bucketed(values, limit=64)
    np.testing.assert_array_equal(joined.edges, coarse.edges)
    np.testing.assert_array_equal(joined.counts, coarse.counts)


def test_resolution_follows_the_range_and_not_the_size_of_the_values() -> None:
    # Returns of a solved game: 99 to 100. A width relative to the value would put them all into one bucket.
    histogram = bucketed(np.linspace(99, 100, 100).tolist())
    assert histogram.counts.size > 30


def test_equal_values_are_one_bucket() -> None:
    histogram = bucketed([3.25] * 7)
    assert histogram.counts.tolist() == [7]
    assert histogram.edges[0] == 3.25


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 5e-324, 1.0, -7.5]])
def test_restored_buckets_count_on(values: list[float]) -> None:
    first = Buckets(64)
    first.add(np.array(values, dtype=np.float64))
    second = Buckets(64)
    second.restore(first.state())
    for buckets in (first, second):
        buckets.add(np.array([100.0, -3.0]))
    np.testing.assert_array_equal(first.histogram().edges, second.histogram().edges)
    np.testing.assert_array_equal(first.histogram().counts, second.histogram().counts)
