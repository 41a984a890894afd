"""Advantages over linked rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import entry
from sparring.rollouts import RowStatus

__all__ = ["gae"]


def gae(
    reward: NDArray[np.float32],
    value: NDArray[np.float32],
    next_row: NDArray[np.int64],
    terminated: NDArray[np.bool_],
    cut: NDArray[np.bool_],
    status: NDArray[np.int8],
    *,
    gamma: float,
    lam: float,
) -> NDArray[np.float32]:
    """Generalized advantage estimates (Schulman et al. 2016, eq. 16) over rows linked to their successors.

    A row that ends by the rules is worth its reward; any other is bootstrapped with the value of the row that
    follows, be that the next decision, the final observation of an interrupted episode, or the observation at
    which collecting stopped. The sum goes on through `next_row` unless the row is `cut` or the next one has no
    outcome yet.

    Args:
        reward, value: float32 `[rows]`.
        next_row: int64 `[rows]`, always larger than the row itself; -1 only where `terminated`.
        terminated, cut: bool `[rows]`.
        status: int8 `[rows]`, see `RowStatus`.
        gamma, lam: discount and lambda.

    Returns:
        float32 `[rows]`; zero where a row is not complete.
    """
    advantage = np.zeros(len(reward), np.float32)
    _scan(reward, value, next_row, terminated, cut, status, gamma, lam, int(RowStatus.COMPLETE), advantage)
    return advantage


@entry
def _scan(
    reward: NDArray[np.float32],
    value: NDArray[np.float32],
    next_row: NDArray[np.int64],
    terminated: NDArray[np.bool_],
    cut: NDArray[np.bool_],
    status: NDArray[np.int8],
    gamma: float,
    lam: float,
    complete: int,
    advantage: NDArray[np.float32],
) -> None:
    for row in range(len(reward) - 1, -1, -1):
        if status[row] != complete:
            continue
        next_value = 0.0
        next_advantage = 0.0
        if not terminated[row]:
            follower = next_row[row]
            next_value = value[follower]
            if not cut[row] and status[follower] == complete:
                next_advantage = advantage[follower]
        advantage[row] = reward[row] + gamma * next_value - value[row] + gamma * lam * next_advantage
