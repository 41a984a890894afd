"""When a summary is due and when silence is worth a hint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.statistics import SilentWindows, summary_due


@pytest.mark.parametrize(
    ("previous", "step", "due"),
    [
        (0, 99, False),
        (0, 100, True),  # ends exactly on the boundary: belongs to the window it closes
        (100, 101, False),  # the boundary was the one before
        (99, 350, True),  # several boundaries at once
        (0, 1000, True),  # the very first steps count like all others
        (0, 0, False),
    ],
)
def test_summary_is_due_where_a_multiple_of_the_frequency_was_reached(previous: int, step: int, due: bool) -> None:
    assert summary_due(previous, step, frequency=100) is due


@given(st.lists(st.integers(1, 500), max_size=40), st.integers(1, 300))
def test_no_boundary_is_missed_and_none_counts_twice(lengths: list[int], frequency: int) -> None:
    step, written = 0, 0
    crossed: set[int] = set()
    for length in lengths:
        boundaries = {at for at in range(step + 1, step + length + 1) if at % frequency == 0}
        assert summary_due(step, step + length, frequency=frequency) == bool(boundaries)
        assert not boundaries & crossed
        crossed |= boundaries
        written += bool(boundaries)
        step += length
    assert len(crossed) == step // frequency
    assert written <= len(crossed)


def test_hint_comes_at_the_third_silent_window_and_once() -> None:
    windows = SilentWindows(limit=3)
    hints = [windows.hint("Duel", episodes_finished=0) for _ in range(6)]
    assert [hint is not None for hint in hints] == [False, False, True, False, False, False]
    assert "summary_freq" in str(hints[2])


def test_finished_episode_ends_the_silence() -> None:
    windows = SilentWindows(limit=2)
    hints = [windows.hint("Duel", episodes_finished=finished) for finished in (0, 1, 0, 0)]
    assert [hint is not None for hint in hints] == [False, False, False, True]


def test_silence_is_counted_per_category() -> None:
    windows = SilentWindows(limit=2)
    assert windows.hint("Duel", episodes_finished=0) is None
    assert windows.hint("Keeper", episodes_finished=0) is None
    assert windows.hint("Keeper", episodes_finished=0) is not None
