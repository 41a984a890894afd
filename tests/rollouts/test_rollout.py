"""The columns of a rollout against a list with one dictionary a row."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.typing import NDArray

from sparring.rollouts import Rollout, RowStatus
from sparring.specs import ActionSpec

ACTIONS = ActionSpec.create_hybrid(2, (3, 2))
SHAPES = [(3,), (1, 2, 2)]
PENDING, COMPLETE, TAIL, DROPPED = RowStatus


def rows(*numbers: int) -> NDArray[Any]:
    return np.array(numbers, np.int64)


def observed(rng: np.random.Generator, count: int) -> list[NDArray[Any]]:
    return [rng.standard_normal((count, *shape), np.float32) for shape in SHAPES]


class RolloutAgainstList(RuleBasedStateMachine):
    """Does at random what the collector does."""

    def __init__(self) -> None:
        super().__init__()
        self.rollout = Rollout(SHAPES, ACTIONS, capacity=3)
        self.list: list[dict[str, Any]] = []
        self.rng = np.random.default_rng(0)
        self.next_trajectory = 0

    def with_status(self, status: RowStatus) -> list[int]:
        return [row for row, entry in enumerate(self.list) if entry["status"] == status]

    @rule(count=st.integers(0, 5), masked=st.booleans(), status=st.sampled_from([PENDING, TAIL]))
    def append(self, count: int, masked: bool, status: RowStatus) -> None:
        inputs = observed(self.rng, count)
        blocked = self.rng.random((count, 5)) < 0.5 if masked else None
        trajectory = self.rollout.begin_trajectories(count)
        assert trajectory.tolist() == list(range(self.next_trajectory, self.next_trajectory + count))
        self.next_trajectory += count
        found = self.rollout.append(inputs, blocked, trajectory, status=status)
        assert found.tolist() == list(range(len(self.list), len(self.list) + count))
        for place in range(count):
            self.list.append(
                {
                    "input_0": inputs[0][place],
                    "input_1": inputs[1][place],
                    "blocked": np.zeros(5, bool) if blocked is None else blocked[place],
                    "continuous": np.zeros(2),
                    "discrete": np.zeros(2),
                    "log_prob": 0.0,
                    "reward": 0.0,
                    "next_row": -1,
                    "terminated": False,
                    "cut": False,
                    "trajectory": int(trajectory[place]),
                    "status": status,
                }
            )

    @precondition(lambda self: self.with_status(PENDING))
    @rule(data=st.data())
    def act_and_learn_what_came_of_it(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.with_status(PENDING)), unique=True))
        count = len(chosen)
        continuous = self.rng.standard_normal((count, 2), np.float32)
        discrete = self.rng.integers(0, 2, (count, 2))
        log_prob = self.rng.standard_normal(count, np.float32)
        reward = self.rng.standard_normal(count, np.float32)
        ends, cut = self.rng.random(count) < 0.5, self.rng.random(count) < 0.5
        follower = np.where(ends, -1, rows(*chosen) + 1)
        self.rollout.set_actions(rows(*chosen), continuous=continuous, discrete=discrete, log_prob=log_prob)
        self.rollout.complete(rows(*chosen), reward, next_row=follower, terminated=ends, cut=cut)
        for place, row in enumerate(chosen):
            self.list[row] |= {
                "continuous": continuous[place],
                "discrete": discrete[place],
                "log_prob": log_prob[place],
                "reward": reward[place],
                "next_row": follower[place],
                "terminated": ends[place],
                "cut": cut[place],
                "status": COMPLETE,
            }

    @precondition(lambda self: self.with_status(PENDING))
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.with_status(PENDING)), unique=True))
        self.rollout.abandon(rows(*chosen))
        for row in chosen:
            self.list[row]["status"] = TAIL

    @precondition(lambda self: self.list)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from([entry["trajectory"] for entry in self.list])))
        hit = [entry for entry in self.list if entry["trajectory"] in gone]
        lost = sum(entry["status"] == COMPLETE for entry in hit)
        assert self.rollout.drop(rows(*gone)) == lost
        for entry in hit:
            entry["status"] = DROPPED

    @rule()
    def carry_over(self) -> None:
        pending = self.with_status(PENDING)
        new_row = self.rollout.carry_over()
        assert new_row.tolist() == [pending.index(row) if row in pending else -1 for row in range(len(self.list))]
        self.list = [self.list[row] for row in pending]

    @rule()
    def saved_and_restored(self) -> None:
        other = Rollout(SHAPES, ACTIONS, capacity=2)
        other.restore(self.rollout.state())
        self.rollout = other

    @invariant()
    def columns_are_those_of_the_list(self) -> None:
        assert self.rollout.size == len(self.list)
        columns = self.rollout.state()["columns"]
        if "blocked" not in columns:
            assert not any(entry["blocked"].any() for entry in self.list)
        for name, column in columns.items():
            assert len(column) == len(self.list)
            for found, entry in zip(column, self.list, strict=True):
                np.testing.assert_array_equal(found, entry[name])

    @invariant()
    def the_count_of_finished_decisions_is_that_of_the_list(self) -> None:
        complete = self.with_status(COMPLETE)
        assert self.rollout.num_complete == len(complete)
        assert self.rollout.complete_rows().tolist() == complete


TestRolloutAgainstList = RolloutAgainstList.TestCase
TestRolloutAgainstList.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


def empty(*, capacity: int = 4) -> Rollout:
    return Rollout([(2,)], ActionSpec.create_discrete((3,)), capacity=capacity)


def append(rollout: Rollout, count: int) -> NDArray[Any]:
    trajectories = rollout.begin_trajectories(count)
    return rollout.append([np.ones((count, 2), np.float32)], None, trajectories)


def test_room_is_made_only_when_it_is_needed() -> None:
    rollout = empty(capacity=8)
    first = rollout.reward
    for _ in range(50):
        rollout.complete(append(rollout, 8), np.ones(8, np.float32))
        rollout.carry_over()
    assert rollout.reward is first
    assert rollout.capacity == 8


def test_decisions_that_never_get_an_outcome_take_their_own_room_and_no_more() -> None:
    rollout = empty(capacity=8)
    append(rollout, 5)
    for _ in range(50):
        rollout.complete(append(rollout, 8), np.ones(8, np.float32))
        rollout.carry_over()
    assert rollout.size == 5
    assert rollout.capacity <= 16


def test_a_row_shows_nothing_of_the_rollout_before() -> None:
    rollout = empty()
    used = append(rollout, 3)
    rollout.set_actions(
        used,
        continuous=np.zeros((3, 0), np.float32),
        discrete=np.ones((3, 1), np.int64),
        log_prob=np.ones(3, np.float32),
    )
    rollout.complete(used, np.ones(3, np.float32), next_row=used + 1, terminated=np.ones(3, bool), cut=np.ones(3, bool))
    rollout.carry_over()
    fresh, other = append(rollout, 3), append(clean := empty(), 3)
    assert fresh.tolist() == other.tolist()
    for name, column in clean.state()["columns"].items():
        if name != "trajectory":
            np.testing.assert_array_equal(rollout.state()["columns"][name], column)


def test_rows_before_the_first_mask_had_everything_available() -> None:
    rollout = empty()
    append(rollout, 2)
    assert "blocked" not in rollout.state()["columns"]
    mask = np.array([[True, False, False]])
    rollout.append([np.ones((1, 2), np.float32)], mask, rollout.begin_trajectories(1))
    append(rollout, 1)
    assert rollout.blocked is not None
    assert rollout.blocked[:4].tolist() == [[False] * 3, [False] * 3, [True, False, False], [False] * 3]


def test_a_rollout_that_has_seen_masks_takes_back_a_state_that_had_none() -> None:
    before = empty()
    append(before, 2)
    rollout = empty()
    rollout.append([np.ones((1, 2), np.float32)], np.ones((1, 3), bool), rollout.begin_trajectories(1))
    rollout.restore(before.state())
    assert rollout.size == 2
    assert rollout.blocked is None


def test_trajectories_are_numbered_once_whoever_asks() -> None:
    rollout = empty()
    assert rollout.begin_trajectories(2).tolist() == [0, 1]
    rollout.carry_over()
    other = empty()
    other.restore(rollout.state())
    assert other.begin_trajectories(2).tolist() == [2, 3]


def test_inputs_of_the_wrong_number_are_a_bug() -> None:
    rollout = empty()
    with pytest.raises(ValueError, match="zip"):
        rollout.append([], None, rollout.begin_trajectories(1))
