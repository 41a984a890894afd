"""Linked rows as sequences, for networks with memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import entry
from sparring.rollouts.rollout import RowStatus

__all__ = ["PADDING", "cut_sequences", "steps_in_order"]

PADDING = -1
"""Stands in a table of sequences where a sequence is shorter than the others."""


def cut_sequences(next_row: NDArray[np.int64], status: NDArray[np.int8], *, length: int) -> NDArray[np.int64]:
    """The complete rows as sequences of consecutive decisions, cut from the first row of each trajectory.

    Args:
        next_row: int64 `[rows]`, larger than the row itself; -1 where nothing follows.
        status: int8 `[rows]`, a `RowStatus`.
        length: of a sequence, at least 1.

    Returns:
        int64 `[sequences, length]` of rows, in the order of their first row; `PADDING` behind the end of a shorter one.
    """
    complete = status == RowStatus.COMPLETE
    position, sequence, count = _follow(next_row, complete, length)
    table = np.full((count, length), PADDING, np.int64)
    rows = np.flatnonzero(complete)
    table[sequence[rows], position[rows] % length] = rows
    return table


def steps_in_order(next_row: NDArray[np.int64], status: NDArray[np.int8]) -> list[NDArray[np.int64]]:
    """All rows that are not dropped, by their place in their trajectory: the first ones, the second ones, and so on.

    Args:
        next_row, status: as for `cut_sequences`.
    """
    position, _, _ = _follow(next_row, status == RowStatus.COMPLETE, 1)
    rows = np.flatnonzero(status != RowStatus.DROPPED)
    order = np.argsort(position[rows], kind="stable")
    ends = np.cumsum(np.bincount(position[rows]))[:-1]
    return [part for part in np.split(rows[order], ends) if len(part)]


@entry
def _follow(
    next_row: NDArray[np.int64], complete: NDArray[np.bool_], length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The place of each row in its trajectory, the number of its sequence, and how many sequences there are."""
    size = len(next_row)
    position = np.zeros(size, np.int64)
    sequence = np.full(size, -1, np.int64)
    count = 0
    for row in range(size):
        if not complete[row]:
            continue
        if sequence[row] < 0:
            sequence[row] = count
            count += 1
        follower = next_row[row]
        if follower >= 0:
            position[follower] = position[row] + 1
            if complete[follower] and position[follower] % length:
                sequence[follower] = sequence[row]
    return position, sequence, count
