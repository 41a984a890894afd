"""Linked rows become sequences of decisions that followed each other, each row once."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.rollouts import PADDING, RowStatus, cut_sequences, steps_in_order

Linked: TypeAlias = tuple[NDArray[Any], NDArray[Any], list[list[int]]]


@st.composite
def linked(draw: st.DrawFn) -> Linked:
    """Rows of a few agents in a random order, and the trajectories they make."""
    next_row: list[int] = []
    status: list[int] = []
    open_rows: dict[int, list[int]] = {}
    whole: list[list[int]] = []
    for agent in draw(st.lists(st.integers(0, 3), max_size=40)):
        row = len(next_row)
        next_row.append(-1)
        status.append(int(RowStatus.PENDING))
        trajectory = open_rows.setdefault(agent, [])
        if trajectory:
            next_row[trajectory[-1]] = row
            status[trajectory[-1]] = int(RowStatus.COMPLETE)
        trajectory.append(row)
        if trajectory == [row]:
            whole.append(trajectory)
        end = draw(st.sampled_from(["goes on"] * 4 + ["terminated", "tail", "dropped"]))
        if end == "goes on":
            continue
        open_rows[agent] = []
        if end == "dropped":
            for each in trajectory:
                status[each] = int(RowStatus.DROPPED)
            whole.remove(trajectory)
        else:
            status[row] = int(RowStatus.COMPLETE if end == "terminated" else RowStatus.TAIL)
    return np.array(next_row, np.int64), np.array(status, np.int8), whole


@given(linked(), st.integers(1, 5))
def test_sequences_are_the_trajectories_cut_from_their_first_row(case: Linked, length: int) -> None:
    next_row, status, whole = case
    expected = []
    for trajectory in whole:
        rows = [row for row in trajectory if status[row] == RowStatus.COMPLETE]
        for start in range(0, len(rows), length):
            part = rows[start : start + length]
            expected.append(part + [PADDING] * (length - len(part)))
    found = cut_sequences(next_row, status, length=length)
    assert found.shape == (len(expected), length)
    assert found.tolist() == sorted(expected)


@given(linked())
def test_steps_in_order_are_the_first_rows_then_the_second_ones(case: Linked) -> None:
    next_row, status, whole = case
    longest = max(map(len, whole), default=0)
    expected = [
        sorted(trajectory[place] for trajectory in whole if place < len(trajectory)) for place in range(longest)
    ]
    assert [rows.tolist() for rows in steps_in_order(next_row, status)] == expected
