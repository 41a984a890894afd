"""Schedules at exact values; none ever raises what it schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.algorithms import scheduled

positive = st.floats(1e-9, 10.0)


@pytest.mark.parametrize(
    ("step", "expected"),
    [(0, 0.5), (25, 0.4), (50, 0.3), (75, 0.2), (100, 0.1), (101, 0.1), (10**9, 0.1)],
)
def test_a_linear_schedule_falls_evenly_to_its_end_and_stays(step: int, expected: float) -> None:
    # From 0.5 to 0.1 over 100 steps: 0.1 + 0.4·(1 - step/100).
    assert scheduled("linear", 0.5, end=0.1, step=step, max_steps=100) == pytest.approx(expected, abs=1e-15)


def test_the_first_and_the_last_value_are_exact() -> None:
    assert scheduled("linear", 3e-4, end=1e-10, step=0, max_steps=7) == pytest.approx(3e-4, rel=1e-15)
    assert scheduled("linear", 3e-4, end=1e-10, step=7, max_steps=7) == 1e-10


@given(start=positive, end=positive, step=st.integers(0, 1000))
def test_a_constant_schedule_is_constant(start: float, end: float, step: int) -> None:
    assert scheduled("constant", start, end=end, step=step, max_steps=100) == start


@given(start=positive, end=positive, step=st.integers(0, 1000), more=st.integers(0, 1000))
def test_a_linear_schedule_never_raises_a_value(start: float, end: float, step: int, more: int) -> None:
    now = scheduled("linear", start, end=end, step=step, max_steps=500)
    later = scheduled("linear", start, end=end, step=step + more, max_steps=500)
    assert later <= now <= start * (1 + 1e-12)


@given(start=positive, end=positive, step=st.integers(0, 1000))
def test_a_start_below_the_end_is_kept(start: float, end: float, step: int) -> None:
    low, high = sorted((start, end))
    assert scheduled("linear", low, end=high, step=step, max_steps=500) == low
