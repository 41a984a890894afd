"""Case wire-02: the second side arrives late, and one side moves twice."""

import logging

import pytest

from sparring.environments.unity import UnityEnvironment
from tests.cases.wire_script import WireScript
from tests.training.test_collector import collector_of, trajectories

SHEEP, WOLF = "Sheep?team=0", "Wolf?team=1"


def test_nothing_is_lost_and_nobody_waits(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    script = {
        SHEEP: ["D[1]", "", "", "D[1]", "D[1]", "T[1 r=1 end]", "D[2]"],
        WOLF: ["", "", "D[7]", "", "", "T[7 r=-1 end]", ""],
    }
    game = WireScript(script, free_port)
    game.start()
    with UnityEnvironment(base_port=free_port, timeout_wait=20) as environment, caplog.at_level(logging.WARNING):
        # Without self-play both sides are learned from, so that both dumps can be looked at.
        collector = collector_of(environment)
        turns = []
        for _ in range(game.length):
            turns.append(sorted(collector.behaviors))
            collector.step()
    assert turns[:2] == [["Sheep"]] * 2
    assert trajectories(collector.behaviors["Sheep"].rollout) == [
        (((1, 0), 0, "went on"), ((1, 3), 0, "went on"), ((1, 4), 1, "terminated")),
        (((2, 6), 0, "pending"),),
    ]
    assert trajectories(collector.behaviors["Wolf"].rollout) == [(((7, 2), -1, "terminated"),)]
    assert caplog.records == []


def test_the_turn_waits_for_the_other_side(free_port: int) -> None:
    self_play = {"save_steps": 10, "team_change": 2, "swap_steps": 2}
    script = {SHEEP: ["D[1]"] * 10, WOLF: [""] * 6 + ["D[7]"] * 4}
    game = WireScript(script, free_port)
    game.start()
    with UnityEnvironment(base_port=free_port, timeout_wait=20) as environment:
        collector = collector_of(environment, self_play=self_play)
        learning = []
        for _ in range(game.length):
            collector.step()
            learning.append(collector.roster.learning_names())
    assert learning[:6] == [["Sheep"]] * 6
    assert ["Wolf"] in learning[6:]
