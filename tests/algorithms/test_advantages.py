"""Generalized advantage estimates against sums written out trajectory by trajectory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.algorithms import gae
from sparring.rollouts import RowStatus

PENDING, COMPLETE, TAIL, DROPPED = RowStatus


@dataclass
class Rows:
    """Linked rows as plain lists."""

    reward: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    next_row: list[int] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    cut: list[bool] = field(default_factory=list)
    status: list[RowStatus] = field(default_factory=list)

    def add(self, *, value: float, status: RowStatus = PENDING) -> int:
        self.reward.append(0.0)
        self.value.append(value)
        self.next_row.append(-1)
        self.terminated.append(False)
        self.cut.append(False)
        self.status.append(status)
        return len(self.value) - 1

    def complete(self, row: int, reward: float, *, follower: int = -1, cut: bool = False) -> None:
        self.reward[row] = reward
        self.next_row[row] = follower
        self.terminated[row] = follower < 0
        self.cut[row] = cut
        self.status[row] = COMPLETE

    def gae(self, *, gamma: float, lam: float) -> NDArray[Any]:
        return gae(
            np.array(self.reward, np.float32),
            np.array(self.value, np.float32),
            np.array(self.next_row, np.int64),
            np.array(self.terminated, np.bool_),
            np.array(self.cut, np.bool_),
            np.array(self.status, np.int8),
            gamma=gamma,
            lam=lam,
        )


@dataclass
class Segment:
    """Consecutive finished decisions of one agent, and the value of what comes after the last of them."""

    rewards: list[float]
    values: list[float]
    rows: list[int]
    after: float

    def advantages(self, gamma: float, lam: float) -> list[float]:
        """Each as its own sum Σ_k (γλ)^k δ_{t+k}, with δ_t = r_t + γ V_{t+1} - V_t."""
        values = [*self.values, self.after]
        deltas = [r + gamma * values[t + 1] - values[t] for t, r in enumerate(self.rewards)]
        return [sum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[t:])) for t in range(len(deltas))]


class Game:
    """Agents that decide, pause, end and are interrupted at random, as linked rows and as segments."""

    def __init__(self, seed: int, *, slots: int, horizon: int, end_rate: float, pause_rate: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows = Rows()
        self.finished: list[Segment] = []
        self.horizon, self.end_rate, self.pause_rate = horizon, end_rate, pause_rate
        self.pending: list[int | None] = [None] * slots
        self.segment = [Segment([], [], [], 0.0) for _ in range(slots)]

    def play(self, steps: int) -> None:
        for _ in range(steps):
            for slot, row in enumerate(self.pending):
                if self.rng.random() < self.pause_rate:
                    continue
                if row is None:
                    self.pending[slot] = self.rows.add(value=self.number())
                elif self.rng.random() < self.end_rate:
                    self.end(slot, row)
                else:
                    self.go_on(slot, row)
        for slot, row in enumerate(self.pending):
            if row is not None and self.segment[slot].rows:
                self.finish(slot, self.rows.value[row])

    def number(self) -> float:
        return float(np.float32(self.rng.normal()))

    def end(self, slot: int, row: int) -> None:
        reward, value = self.decided(slot, row), self.number()
        self.pending[slot] = None
        if self.rng.random() < 0.5:
            self.rows.complete(row, reward)
            self.finish(slot, 0.0)
        else:
            self.rows.complete(row, reward, follower=self.rows.add(value=value, status=TAIL))
            self.finish(slot, value)

    def go_on(self, slot: int, row: int) -> None:
        reward, value = self.decided(slot, row), self.number()
        follower = self.pending[slot] = self.rows.add(value=value)
        is_cut = len(self.segment[slot].rows) == self.horizon
        self.rows.complete(row, reward, follower=follower, cut=is_cut)
        if is_cut:
            self.finish(slot, value)

    def decided(self, slot: int, row: int) -> float:
        reward = self.number()
        self.segment[slot].rows.append(row)
        self.segment[slot].rewards.append(reward)
        self.segment[slot].values.append(self.rows.value[row])
        return reward

    def finish(self, slot: int, after: float) -> None:
        self.segment[slot].after = after
        self.finished.append(self.segment[slot])
        self.segment[slot] = Segment([], [], [], 0.0)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    slots=st.integers(1, 6),
    steps=st.integers(1, 40),
    horizon=st.integers(1, 12),
    end_rate=st.sampled_from([0.0, 0.1, 0.5]),
    pause_rate=st.sampled_from([0.0, 0.3]),
    gamma=st.floats(0.0, 1.0),
    lam=st.floats(0.0, 1.0),
)
def test_every_advantage_is_the_sum_over_its_own_trajectory(
    seed: int, slots: int, steps: int, horizon: int, end_rate: float, pause_rate: float, gamma: float, lam: float
) -> None:
    game = Game(seed, slots=slots, horizon=horizon, end_rate=end_rate, pause_rate=pause_rate)
    game.play(steps)
    rows = game.rows
    found = rows.gae(gamma=gamma, lam=lam)
    expected = np.zeros(len(found))
    for segment in game.finished:
        expected[segment.rows] = segment.advantages(gamma, lam)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert (found[np.array(rows.status) != COMPLETE] == 0).all()


def walk(*, ending: str) -> Rows:
    """Two decisions with rewards 1 and 2 and values 0.5 and 0.25, then an end or a row of value 4."""
    rows = Rows()
    first, second = rows.add(value=0.5), rows.add(value=0.25)
    rows.complete(first, 1.0, follower=second, cut=ending == "cut after one")
    if ending == "terminated":
        rows.complete(second, 2.0)
    else:
        status = PENDING if ending == "pending" else TAIL
        rows.complete(second, 2.0, follower=rows.add(value=4.0, status=status))
    return rows


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        # γ = 0.5, λ = 0.8, γλ = 0.4.
        # The rules end it: δ1 = 2 + 0 - 0.25 = 1.75; δ0 = 1 + 0.5·0.25 - 0.5 = 0.625; A0 = 0.625 + 0.4·1.75 = 1.325.
        ("terminated", [1.325, 1.75]),
        # Interrupted, or not yet over: δ1 = 2 + 0.5·4 - 0.25 = 3.75; A0 = 0.625 + 0.4·3.75 = 2.125.
        ("interrupted", [2.125, 3.75, 0.0]),
        ("pending", [2.125, 3.75, 0.0]),
        # Cut by the horizon after the first: A0 = δ0, for which the value of the second still counts.
        ("cut after one", [0.625, 3.75, 0.0]),
    ],
)
def test_two_steps_give_the_numbers_worked_out_by_hand(ending: str, expected: list[float]) -> None:
    np.testing.assert_allclose(walk(ending=ending).gae(gamma=0.5, lam=0.8), expected, atol=1e-6)


def test_with_lambda_1_and_no_values_the_advantage_is_the_discounted_return() -> None:
    rows = Rows()
    for _ in range(5):
        rows.add(value=0.0)
    for row in range(5):
        rows.complete(row, 1.0, follower=row + 1 if row < 4 else -1)
    # 1 + γ + … + γ^(n-1) = (1 - γ^n) / (1 - γ) with γ = 0.9 and n = 5, 4, 3, 2, 1.
    expected = [(1 - 0.9**n) / 0.1 for n in (5, 4, 3, 2, 1)]
    np.testing.assert_allclose(rows.gae(gamma=0.9, lam=1.0), expected, rtol=1e-6)


def test_values_of_a_reward_that_never_ends_leave_no_advantage() -> None:
    # V = r / (1 - γ) = 1 / 0.1 solves V = r + γV, so nothing is better or worse than expected, ended nowhere.
    rows = Rows()
    for row in range(6):
        rows.add(value=10.0, status=TAIL if row == 5 else PENDING)
    for row in range(5):
        rows.complete(row, 1.0, follower=row + 1, cut=row == 2)
    np.testing.assert_allclose(rows.gae(gamma=0.9, lam=0.95), 0.0, atol=2e-6)


def test_a_dropped_row_has_no_advantage_and_lends_none() -> None:
    rows = walk(ending="terminated")
    rows.status[1] = DROPPED
    # Only the value of the dropped row is left: δ0 = 1 + 0.5·0.25 - 0.5.
    np.testing.assert_allclose(rows.gae(gamma=0.5, lam=0.8), [0.625, 0.0], atol=1e-6)


def test_no_rows_give_no_advantages() -> None:
    assert Rows().gae(gamma=0.9, lam=0.9).shape == (0,)
