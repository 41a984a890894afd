"""Case wire-03: odd but legal step sequences, sent over the real wire."""

import gc
import logging
import tracemalloc

import pytest

from sparring.environments.unity import UnityEnvironment
from sparring.statistics import Progress
from tests.cases.wire_script import WireScript
from tests.training.test_collector import ONE, Trajectory, collector_of, only, trajectories

SCRIPT = [
    "D[1, 2]",
    "T[2 r=1 end] D[1, 9]",
    "T[1 r=0.5 end, 9 r=0 int]",
    "T[9 r=0 end]",
    "D[10]",
    "T[11 r=5 end] D[10]",
    "D[2]",
    "T[2 r=0 end, 10 r=0 end]",
]

NOW = Progress(step=0, environment_steps=0, episodes=0, updates=0, wall_time_s=0.0)


def of_agent(found: list[Trajectory], agent: int) -> list[list[tuple[float, str]]]:
    return [[(reward, kind) for _, reward, kind in chain] for chain in found if chain[0][0][0] == agent]


def test_transitions_are_those_of_the_case(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    game = WireScript({ONE: SCRIPT}, free_port)
    game.start()
    with UnityEnvironment(base_port=free_port, timeout_wait=20) as environment, caplog.at_level(logging.WARNING):
        collector = collector_of(environment)
        for _ in SCRIPT:
            collector.step()
    found = trajectories(only(collector).rollout)
    assert of_agent(found, 1) == [[(0, "went on"), (0.5, "terminated")]]
    assert of_agent(found, 2) == [[(1, "terminated")], [(0, "terminated")]]
    assert of_agent(found, 9) == [[(0, "went on"), (0, "tail")]]  # bootstrapped at its last observation
    assert of_agent(found, 10) == [[(0, "went on"), (0, "terminated")]]
    assert of_agent(found, 11) == []
    assert len(caplog.records) == 1


def test_a_long_tail_of_fresh_ids_takes_no_memory(free_port: int) -> None:
    episodes = 2_000
    script = ["D[0]", *(f"D[{step}] T[{step - 1} r=1 end]" for step in range(1, episodes))]
    game = WireScript({ONE: script}, free_port)
    game.start()
    with UnityEnvironment(base_port=free_port, timeout_wait=20) as environment:
        collector = collector_of(environment, buffer_size=64)
        # The learner of these tests keeps what it has seen; memory is that of everything else.
        only(collector).learner.update = lambda rollout, *, step: {}
        sizes = []
        tracemalloc.start()
        for step in range(episodes - 1):
            collector.step()
            if step in {episodes // 3, episodes - 2}:
                collector._statistics.write("Duel", NOW)  # a window holds all its values until it is written
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert only(collector).episodes == episodes - 2
    # An episode that was kept would take 100 bytes and more, 130,000 in all.
    assert sizes[1] < 1.01 * sizes[0] + 50_000
