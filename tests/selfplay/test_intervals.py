"""Intervals of win rates: published values, and what holds for all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.selfplay import wilson_interval

COUNTS = st.integers(1, 10_000).flatmap(lambda trials: st.tuples(st.integers(0, 2 * trials), st.just(trials)))


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_interval_is_that_of_the_paper(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(COUNTS)
def test_ends_are_where_the_score_test_just_rejects(counts: tuple[int, int]) -> None:
    # By definition a limit p solves |share - p| = z * sqrt(p (1 - p) / trials).
    share = counts[0] / 2 / counts[1]
    for limit in wilson_interval(counts[0] / 2, counts[1]):
        if 1e-9 < limit < 1.0 - 1e-9:  # an end at 0 or 1 is off by rounding only
            distance = 1.959963984540054 * math.sqrt(limit * (1 - limit) / counts[1])
            assert abs(share - limit) == pytest.approx(distance, rel=1e-6, abs=1e-9)


@given(COUNTS)
def test_losses_mirror_wins(counts: tuple[int, int]) -> None:
    low, high = wilson_interval(counts[0] / 2, counts[1])
    assert wilson_interval(counts[1] - counts[0] / 2, counts[1]) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(COUNTS)
def test_interval_stays_within_a_share_and_holds_the_one_observed(counts: tuple[int, int]) -> None:
    low, high = wilson_interval(counts[0] / 2, counts[1])
    assert 0.0 <= low <= counts[0] / 2 / counts[1] + 1e-12
    assert counts[0] / 2 / counts[1] - 1e-12 <= high <= 1.0


def test_interval_without_matches_is_everything() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_wider_confidence_gives_a_wider_interval() -> None:
    narrow, wide = wilson_interval(7, 10, z=1.0), wilson_interval(7, 10, z=3.0)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
