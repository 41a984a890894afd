"""The draw of opponents: how often the latest, how even the window, and how many random numbers."""

import numpy as np
import pytest

from sparring.selfplay import LatestOrWindow, SnapshotPool
from tests.selfplay.builders import policy_of

DRAWS = 20_000


@pytest.fixture(scope="module")
def pool() -> SnapshotPool:
    pool = SnapshotPool("Duel", window=4)
    policy = policy_of()
    for step in range(6):
        pool.take(policy, step=step, origin="saved")
    pool.take(policy, step=9, origin="latest")
    return pool


def drawn(pool: SnapshotPool, ratio: float) -> list[int | None]:
    rng = np.random.default_rng(3)
    matchmaker = LatestOrWindow(latest_ratio=ratio)
    chosen = [matchmaker.choose(pool, rng) for _ in range(DRAWS)]
    return [None if snapshot is None else snapshot.number for snapshot in chosen]


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.8])
def test_latest_comes_as_often_as_its_ratio_says(pool: SnapshotPool, ratio: float) -> None:
    # Four standard errors of a share of 20,000 draws are at most 0.0142.
    assert drawn(pool, ratio).count(None) / DRAWS == pytest.approx(ratio, abs=0.0142)


def test_ratio_of_one_always_gives_the_latest(pool: SnapshotPool) -> None:
    assert set(drawn(pool, 1.0)) == {None}


def test_ratio_of_nothing_gives_every_snapshot_of_the_window_as_often_and_no_other(pool: SnapshotPool) -> None:
    numbers = drawn(pool, 0.0)
    assert set(numbers) == {2, 3, 4, 5}
    for number in (2, 3, 4, 5):
        assert numbers.count(number) / DRAWS == pytest.approx(0.25, abs=0.0123)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_every_draw_takes_two_numbers_whatever_comes_of_it(pool: SnapshotPool, ratio: float) -> None:
    used, counted = np.random.default_rng(8), np.random.default_rng(8)
    matchmaker = LatestOrWindow(latest_ratio=ratio)
    for some_pool in (pool, SnapshotPool("Duel", window=4), pool):
        matchmaker.choose(some_pool, used)
        counted.random(2)
    assert used.random() == counted.random()


def test_empty_pool_leaves_the_latest(pool: SnapshotPool) -> None:
    empty = SnapshotPool("Duel", window=4)
    assert LatestOrWindow(latest_ratio=0.0).choose(empty, np.random.default_rng(0)) is None
