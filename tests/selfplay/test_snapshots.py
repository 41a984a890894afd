"""The pool of snapshots: a window that moves, copies that never change, and nobody thrown out of a seat."""

from collections import deque

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.selfplay import Snapshot, SnapshotPool
from tests.selfplay.builders import change_weights, policy_of

POLICY = policy_of()


def numbers(snapshots: list[Snapshot]) -> list[int]:
    return [snapshot.number for snapshot in snapshots]


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.sampled_from(["saved", "latest", "release", "seat"]), max_size=25))
def test_window_is_a_ring_and_only_latest_copies_pass_it_by(window: int, actions: list[str]) -> None:
    pool = SnapshotPool("Duel", window=window)
    ring = deque([pool.take(POLICY, step=0, origin="initial").number], maxlen=window)
    held, seated = {0}, set[int]()
    for action in actions:
        if action == "release":
            gone = {snapshot.number for snapshot in pool.release(seated)}
            assert gone == held - set(ring) - seated
            held -= gone
        elif action == "seat":
            seated = {max(held)}
        else:
            number = pool.take(POLICY, step=1, origin="saved" if action == "saved" else "latest").number
            held.add(number)
            if action == "saved":
                ring.append(number)
        assert numbers(pool.window) == list(ring)
        assert len(pool) == len(ring)
        assert set(numbers(pool.all)) == held


def test_numbers_are_never_used_twice() -> None:
    pool = SnapshotPool("Duel", window=1)
    for step in range(4):
        pool.take(POLICY, step=step, origin="latest")
    pool.release([])
    assert pool.take(POLICY, step=4, origin="saved").number == 4


def test_snapshot_does_not_follow_the_learner() -> None:
    policy = policy_of()
    snapshot = SnapshotPool("Duel", window=1).take(policy, step=0, origin="initial")
    before = snapshot.policy.weights_hash()
    change_weights(policy)
    assert snapshot.policy.weights_hash() == snapshot.weights_hash == before != policy.weights_hash()


def test_snapshot_takes_no_gradient() -> None:
    snapshot = SnapshotPool("Duel", window=1).take(policy_of(), step=0, origin="initial")
    assert not any(parameter.requires_grad for parameter in snapshot.policy.actor.parameters())


def test_player_names_tell_behavior_and_step_and_differ() -> None:
    pool = SnapshotPool("Duel", window=3)
    players = [pool.take(POLICY, step=50, origin="saved").player for _ in range(2)]
    assert players == ["Duel@50#0", "Duel@50#1"]


def test_pool_comes_back_from_its_state() -> None:
    pool = SnapshotPool("Duel", window=2)
    learner = policy_of()
    for step, origin in enumerate(("initial", "saved", "latest", "saved", "latest")):
        pool.take(learner, step=step, origin=origin)  # type: ignore[arg-type]
        change_weights(learner)
    pool.release([2])
    again = SnapshotPool("Duel", window=2)
    again.restore(pool.state(), POLICY.with_state)
    assert [(s.number, s.step, s.origin, s.player) for s in again.all] == [
        (s.number, s.step, s.origin, s.player) for s in pool.all
    ]
    assert numbers(again.window) == [1, 3]
    assert [s.weights_hash for s in again.all] == [s.policy.weights_hash() for s in again.all]
    assert again.take(learner, step=9, origin="saved").number == 5


def test_restored_snapshot_acts_as_the_saved_one() -> None:
    pool = SnapshotPool("Duel", window=1)
    pool.take(policy_of(seed=5), step=0, origin="initial")
    again = SnapshotPool("Duel", window=1)
    again.restore(pool.state(), POLICY.with_state)
    seen = [np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)]
    first, second = (one[0].policy.act(seen, None, torch.Generator().manual_seed(1)).discrete for one in (pool, again))
    assert np.array_equal(first, second)


def test_state_is_not_touched_by_what_happens_later() -> None:
    pool = SnapshotPool("Duel", window=1)
    pool.take(POLICY, step=0, origin="initial")
    state = pool.state()
    pool.take(POLICY, step=1, origin="saved")
    pool.release([])
    assert (state["window"], list(state["snapshots"])) == ([0], ["0"])
