"""Phases, shares and the timers file, with a clock that is set by hand."""

import json
from collections.abc import Callable

import pytest

from sparring.statistics import Aggregation, GaugeWriter, Progress, Statistics, Timers


class Clock:
    """Shows the time it was set to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


def timers_of(clock: Callable[[], float], *, now: float = 1000.0) -> Timers:
    return Timers(clock=clock, now=lambda: now)


def busy(timers: Timers, clock: Clock) -> None:
    """Ten seconds: 1 outside, 3 times rollout of 2 with 0.5 of policy inside, and 3 of update."""
    clock.pass_time(1)
    for _ in range(3):
        with timers.phase("rollout"):
            clock.pass_time(1.5)
            with timers.phase("policy"):
                clock.pass_time(0.5)
    with timers.phase("update"):
        clock.pass_time(3)


def test_tree_has_total_count_and_self_of_every_phase() -> None:
    clock = Clock()
    timers = timers_of(clock)
    busy(timers, clock)
    tree = timers.to_json(metadata={})
    assert tree["name"] == "root"
    assert (tree["total"], tree["count"], tree["self"]) == (10.0, 1, 1.0)
    assert tree["children"] == {
        "rollout": {
            "total": 6.0,
            "count": 3,
            "self": 4.5,
            "children": {"policy": {"total": 1.5, "count": 3, "self": 1.5}},
        },
        "update": {"total": 3.0, "count": 1, "self": 3.0},
    }


def test_file_has_the_keys_that_readers_of_timer_files_know() -> None:
    timers = timers_of(Clock(), now=1234.5)
    tree = timers.to_json(metadata={"pytorch_version": "2.9", "command_line_arguments": "sparring train"})
    assert set(tree) == {"name", "gauges", "metadata", "total", "count", "self"}
    assert isinstance(tree["metadata"], dict)
    assert set(tree["metadata"]) == {
        "timer_format_version",
        "start_time_seconds",
        "end_time_seconds",
        "python_version",
        "sparring_version",
        "numpy_version",
        "pytorch_version",
        "command_line_arguments",
    }
    assert tree["metadata"]["timer_format_version"] == "0.1.0"
    assert tree["metadata"]["start_time_seconds"] == "1234"
    json.dumps(tree, allow_nan=False)


def test_phase_inside_itself_is_a_child() -> None:
    clock = Clock()
    timers = timers_of(clock)
    with timers.phase("a"), timers.phase("a"):
        clock.pass_time(1)
    outer = timers.root.children["a"]
    assert (outer.count, outer.total_s, outer.children["a"].total_s) == (1, 1.0, 1.0)


def test_phase_that_raises_is_timed_and_left() -> None:
    clock = Clock()
    timers = timers_of(clock)

    def fail_in_rollout() -> None:
        with timers.phase("rollout"):
            clock.pass_time(2)
            raise KeyError

    with pytest.raises(KeyError):
        fail_in_rollout()
    with timers.phase("update"):
        pass
    assert list(timers.root.children) == ["rollout", "update"]
    assert timers.root.children["rollout"].total_s == 2.0


def test_open_phase_counts_up_to_now() -> None:
    clock = Clock()
    timers = timers_of(clock)
    with timers.phase("save"):
        clock.pass_time(4)
        tree = timers.to_json(metadata={})
        assert timers.shares() == {"save": 1.0}
    assert tree["children"] == {"save": {"total": 4.0, "count": 0, "self": 4.0}}
    assert tree["self"] == 0.0


def test_shares_are_of_the_window_and_leave_the_rest_open() -> None:
    clock = Clock()
    timers = timers_of(clock)
    busy(timers, clock)
    assert timers.shares() == {"rollout": 0.6, "update": 0.3}
    timers.start_window()
    assert timers.shares() == {}
    with timers.phase("update"):
        clock.pass_time(1)
    clock.pass_time(3)
    assert timers.shares() == {"update": 0.25}


def test_share_of_a_phase_over_a_window_border_is_split() -> None:
    clock = Clock()
    timers = timers_of(clock)
    with timers.phase("update"):
        clock.pass_time(5)
        timers.start_window()
        clock.pass_time(1)
    clock.pass_time(1)
    assert timers.shares() == {"update": 0.5}


def test_time_adds_up_over_a_resume() -> None:
    clock = Clock()
    first = timers_of(clock, now=1000)
    busy(first, clock)
    first.set_gauge("Duel.x.mean", 5.0)
    saved = first.state()
    clock.pass_time(1000)  # the machine was off: no time of the run
    resumed = timers_of(clock, now=5000)
    with resumed.phase("setup"):
        clock.pass_time(2)
        resumed.restore(saved)
    busy(resumed, clock)
    resumed.set_gauge("Duel.x.mean", 1.0)
    tree = resumed.to_json(metadata={})
    assert resumed.elapsed_s() == 22.0
    assert resumed.root.children["rollout"].total_s == 12.0
    assert resumed.root.children["rollout"].count == 6
    assert resumed.root.children["rollout"].children["policy"].total_s == 3.0
    assert resumed.root.children["setup"].total_s == 2.0
    assert tree["gauges"] == {"Duel.x.mean": {"value": 1.0, "min": 1.0, "max": 5.0, "count": 2}}
    assert isinstance(tree["metadata"], dict)
    assert tree["metadata"]["start_time_seconds"] == "1000"
    assert resumed.shares() == {"rollout": 0.6, "update": 0.3}


def test_workers_are_put_in_as_parallel_time() -> None:
    clock = Clock()
    states = []
    for _ in range(2):
        worker = timers_of(clock)
        busy(worker, clock)
        states.append(worker.state())
    timers = timers_of(clock)
    with timers.phase("rollout"):
        clock.pass_time(10)
        for state in states:
            timers.add_parallel("workers", state)
    workers = timers.root.children["rollout"].children["workers"]
    assert workers.to_json()["self"] == 0.0  # two workers at once took more time than passed
    root = workers.children["worker_root"].to_json()
    assert root["is_parallel"] is True
    assert (root["total"], root["self"]) == (20.0, 2.0)
    assert timers.root.children["rollout"].to_json()["self"] == 10.0


def test_gauges_follow_the_summaries_under_the_names_of_timer_files() -> None:
    timers = timers_of(Clock())
    statistics = Statistics({"gauges": GaugeWriter(timers)})
    for value in (1.0, 3.0):
        statistics.add("Duel", "Environment/Cumulative Reward", value, Aggregation.HISTOGRAM)
        statistics.add("Duel", "Environment/Cumulative Reward", value + 2, Aggregation.HISTOGRAM)
        progress = Progress(step=1, environment_steps=1, episodes=1, updates=1, wall_time_s=1.0)
        statistics.write("Duel", progress)
    assert timers.to_json(metadata={})["gauges"] == {
        "Duel.Environment.CumulativeReward.mean": {"value": 4.0, "min": 2.0, "max": 4.0, "count": 2},
        "Duel.Environment.CumulativeReward.sum": {"value": 8.0, "min": 4.0, "max": 8.0, "count": 2},
    }
