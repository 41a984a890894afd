"""Aggregation against plain loops over all values."""

import itertools
import math
import statistics as reference

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.statistics.aggregation import FOLD_AT, MAX_MAGNITUDE, Accumulator, Aggregation

values_of_games = st.floats(min_value=-1e6, max_value=1e6, width=32)
any_values = st.lists(values_of_games, min_size=1, max_size=60)
received = st.lists(st.tuples(st.integers(0, 3), values_of_games), min_size=1, max_size=60)
every_aggregation = pytest.mark.parametrize("aggregation", list(Aggregation))


def filled(aggregation: Aggregation, values: list[tuple[int, float]]) -> Accumulator:
    accumulator = Accumulator(aggregation)
    for worker, value in values:
        accumulator.add(value, worker=worker)
    return accumulator


@pytest.mark.parametrize("aggregation", [kind for kind in Aggregation if kind is not Aggregation.MOST_RECENT])
@given(values=any_values)
def test_moments_equal_plain_sums_over_every_value(aggregation: Aggregation, values: list[float]) -> None:
    summary = filled(aggregation, [(0, value) for value in values]).summary()
    assert summary.count == len(values)
    assert (summary.min, summary.max) == (min(values), max(values))
    assert summary.sum == pytest.approx(math.fsum(values), rel=1e-12, abs=1e-6)
    assert summary.mean == pytest.approx(reference.fmean(values), rel=1e-12, abs=1e-8)
    assert summary.std == pytest.approx(reference.pstdev(values), rel=1e-9, abs=1e-6)


@given(received)
def test_headline_is_mean_last_or_sum_by_the_aggregation(values: list[tuple[int, float]]) -> None:
    numbers = [value for _, value in values]
    headline = {aggregation: filled(aggregation, values).summary().value for aggregation in Aggregation}
    first_worker = min(worker for worker, _ in values)
    assert headline[Aggregation.MOST_RECENT] == [value for worker, value in values if worker == first_worker][-1]
    assert headline[Aggregation.SUM] == pytest.approx(math.fsum(numbers), rel=1e-12, abs=1e-6)
    assert headline[Aggregation.AVERAGE] == pytest.approx(reference.fmean(numbers), rel=1e-12, abs=1e-8)
    assert headline[Aggregation.HISTOGRAM] == headline[Aggregation.AVERAGE]


@given(received)
def test_most_recent_keeps_the_last_value_of_each_worker(values: list[tuple[int, float]]) -> None:
    assert filled(Aggregation.MOST_RECENT, values).summary().per_worker == dict(values)


@every_aggregation
@given(values=any_values, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_arrays_count_like_their_values_one_by_one(
    aggregation: Aggregation, values: list[float], cuts: list[int]
) -> None:
    in_arrays = Accumulator(aggregation)
    edges = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            in_arrays.add_many(np.array(values[start:stop]))
    # Both are below the size at which values are folded, so that not even rounding differs.
    assert str(in_arrays.summary()) == str(filled(aggregation, [(0, value) for value in values]).summary())


@given(st.integers(1, 500), st.integers(0, 2**32))
@settings(max_examples=20)
def test_large_arrays_and_single_values_agree(extra: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(1e3, 1.0, FOLD_AT + extra)
    whole, single = Accumulator(Aggregation.HISTOGRAM), Accumulator(Aggregation.HISTOGRAM)
    single.add(float(values[0]))
    single.add_many(values[1:])
    whole.add_many(values[:extra])
    for value in values[extra:].tolist():
        whole.add(value)
    ours, other = whole.summary(), single.summary()
    assert ours.count == other.count == values.size
    assert ours.mean == pytest.approx(float(values.mean()), rel=1e-12)
    assert other.mean == pytest.approx(float(values.mean()), rel=1e-12)
    assert ours.std == pytest.approx(float(values.std()), rel=1e-9)
    assert other.std == pytest.approx(float(values.std()), rel=1e-9)
    assert ours.histogram is not None
    assert other.histogram is not None
    np.testing.assert_array_equal(ours.histogram.edges, other.histogram.edges)
    np.testing.assert_array_equal(ours.histogram.counts, other.histogram.counts)


def test_deviation_of_large_close_values_is_not_lost_in_rounding() -> None:
    # 1e9 + {0, 1, 2}: variance 2/3. The difference of mean squares would be off by far more than that.
    summary = filled(Aggregation.AVERAGE, [(0, 1e9), (0, 1e9 + 1), (0, 1e9 + 2)]).summary()
    assert summary.std == pytest.approx(math.sqrt(2 / 3), rel=1e-12)


def test_sums_are_exact_where_float32_would_stop_counting() -> None:
    accumulator = Accumulator(Aggregation.SUM)
    for _ in range(5):
        accumulator.add_many(np.ones(2**22))
    assert accumulator.summary().value == 5 * 2**22  # float32 stays at 2**24


@given(st.lists(st.floats(-MAX_MAGNITUDE, MAX_MAGNITUDE), min_size=1, max_size=30))
def test_no_number_of_a_summary_is_ever_infinite(values: list[float]) -> None:
    accumulator = Accumulator(Aggregation.HISTOGRAM)
    accumulator.add_many(np.array(values))
    for _ in range(3):
        accumulator.add_many(np.full(FOLD_AT, max(values)))
    summary = accumulator.summary()
    assert all(math.isfinite(number) for number in (summary.value, summary.mean, summary.std, summary.sum, summary.max))
    assert summary.min <= summary.mean <= summary.max


def test_memory_of_a_key_stays_bounded() -> None:
    accumulator = Accumulator(Aggregation.HISTOGRAM)
    random = np.random.default_rng(0)
    for _ in range(50):
        accumulator.add_many(random.normal(0, 1e6, FOLD_AT - 1))
    state = accumulator.state()
    assert accumulator.summary().count == 50 * (FOLD_AT - 1)
    assert state["pending"].size < FOLD_AT
    assert state["buckets"]["counts"].size <= 1024


@every_aggregation
@given(before=received, after=received)
def test_restored_accumulator_gives_the_same_bits(
    aggregation: Aggregation, before: list[tuple[int, float]], after: list[tuple[int, float]]
) -> None:
    never_stopped = filled(aggregation, before)
    never_stopped.add_many(np.arange(FOLD_AT, dtype=np.float64))
    resumed = Accumulator.from_state(never_stopped.state())
    for worker, value in after:
        never_stopped.add(value, worker=worker)
        resumed.add(value, worker=worker)
    assert str(resumed.summary()) == str(never_stopped.summary())
    assert str(resumed.state()) == str(never_stopped.state())


def test_two_averaged_values_have_their_mean_and_count_twice() -> None:
    summary = filled(Aggregation.AVERAGE, [(0, 1.0), (1, 3.0)]).summary()
    assert (summary.value, summary.count) == (2.0, 2)


def test_the_most_recent_value_replaces_the_one_before_and_counts_once() -> None:
    summary = filled(Aggregation.MOST_RECENT, [(0, 2.0), (0, 4.0)]).summary()
    assert (summary.value, summary.count) == (4.0, 1)


def test_other_workers_do_not_overwrite_the_most_recent_value_of_worker_0() -> None:
    summary = filled(Aggregation.MOST_RECENT, [(0, 2.0), (3, 9.0), (1, 8.0)]).summary()
    assert (summary.value, summary.count) == (2.0, 1)
    assert summary.per_worker == {0: 2.0, 1: 8.0, 3: 9.0}
    assert filled(Aggregation.MOST_RECENT, [(3, 9.0), (1, 8.0)]).summary().value == 8.0
