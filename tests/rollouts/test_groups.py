"""Who was with whom, told from the exchanges of a game through the real collector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.algorithms.poca import POCALearner
from sparring.rollouts import Rollout, RowStatus, company_of, shared_reward
from sparring.selfplay import Lineup
from sparring.settings import RunSettings
from sparring.statistics import Statistics, Timers
from sparring.training.collector import Collector
from tests.builders import ScriptedGame


def recorded(script: Sequence[str], **signals: Any) -> Rollout:
    plan = {
        "trainer_type": "poca",
        "hyperparameters": {"buffer_size": 10**4},
        "network_settings": {"hidden_units": 4, "num_layers": 1},
        "reward_signals": {"extrinsic": {}, **signals},
    }
    collector = Collector(
        ScriptedGame({"Duel?team=0": [*script, ""]}),
        RunSettings.model_validate({"default_settings": plan}),
        make_learner=lambda name, spec, plan: POCALearner(
            name, spec, plan, device=torch.device("cpu"), seed=0, parallel=False
        ),
        lineup=Lineup(rng=np.random.default_rng(0)),
        statistics=Statistics({}),
        timers=Timers(),
        generator=torch.Generator().manual_seed(0),
    )
    for _ in script:
        collector.step()
    return collector.behaviors["Duel"].rollout


Seen = tuple[float, float]


def told(rollout: Rollout, table: NDArray[Any]) -> dict[Seen, set[Seen]]:
    """A table of rows as what they saw: (agent, time); time + 0.5 for a last observation."""
    seen = [(float(agent), float(time)) for agent, time in rollout.inputs[0][: rollout.size]]
    return {seen[row]: {seen[other] for other in others if other >= 0} for row, others in enumerate(table)}


def mates(rollout: Rollout) -> dict[Seen, set[Seen]]:
    return told(rollout, company_of(rollout).mates)


def survivors(rollout: Rollout) -> dict[Seen, set[Seen]]:
    return {row: others for row, others in told(rollout, company_of(rollout).survivors).items() if others}


def test_a_member_that_falls_is_no_mate_any_more_and_leaves_the_others_behind() -> None:
    rollout = recorded(
        ["D[1 G5, 2 G5, 3 G5]", "D[1 G5, 3 G5] T[2 G5 end]", "D[1 G5, 3 G5]", "T[1 G5 g=1 end, 3 G5 g=1 end]"]
    )
    assert mates(rollout) == {
        (1, 0): {(2, 0), (3, 0)},
        (2, 0): {(1, 0), (3, 0)},
        (3, 0): {(1, 0), (2, 0)},
        (1, 1): {(3, 1)},
        (3, 1): {(1, 1)},
        (1, 2): {(3, 2)},
        (3, 2): {(1, 2)},
    }
    assert survivors(rollout) == {(2, 0): {(1, 1), (3, 1)}}


def test_a_group_that_ends_at_once_leaves_nobody_behind_though_its_next_episode_begins_then() -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "D[1 G5, 2 G5] T[1 G5 end, 2 G5 end]"])
    assert survivors(rollout) == {}
    assert mates(rollout)[(1, 1)] == {(2, 1)}


def test_members_that_are_interrupted_together_saw_the_last_together() -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "D[1 G5, 2 G5] T[1 G5 int, 2 G5 int]", "D[1 G5, 2 G5]"])
    found = mates(rollout)
    assert found[(1, 1.5)] == {(2, 1.5)}
    assert found[(2, 1.5)] == {(1, 1.5)}
    assert found[(1, 1)] == {(2, 1)}
    assert found[(1, 2)] == {(2, 2)}
    assert survivors(rollout) == {}


def test_a_member_that_joins_is_a_mate_from_then_on_and_survives_with_those_that_were_there() -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "D[1 G5, 3 G5] T[2 G5 end]", "D[1 G5, 3 G5]"])
    found = mates(rollout)
    assert found[(1, 1)] == {(3, 1)}
    assert found[(3, 2)] == {(1, 2)}
    assert survivors(rollout) == {(2, 0): {(1, 1), (3, 1)}}


def test_a_mate_that_decides_less_often_is_there_with_its_latest_decision() -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "D[1 G5]", "D[1 G5] T[2 G5 end]", "D[1 G5]"])
    found = mates(rollout)
    assert found[(1, 1)] == {(2, 0)}
    assert found[(1, 2)] == set()
    assert survivors(rollout) == {(2, 0): {(1, 2)}}


def test_one_that_falls_while_its_mate_does_not_decide_leaves_it_behind_all_the_same() -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "T[2 G5 end]", "D[1 G5]"])
    assert survivors(rollout) == {(2, 0): {(1, 0)}}


def test_groups_do_not_mix_and_agents_without_a_group_are_alone() -> None:
    rollout = recorded(["D[1 G5, 2 G5, 3 G6, 4, 6]", "D[1 G5, 3 G6, 4] T[2 G5 end, 6 end]"])
    found = mates(rollout)
    assert found[(1, 0)] == {(2, 0)}
    assert found[(3, 0)] == found[(4, 0)] == found[(6, 0)] == set()
    assert survivors(rollout) == {(2, 0): {(1, 1)}}


@pytest.mark.parametrize("signals", [{}, {"rnd": {}}], ids=["ends forgotten", "ends kept"])
def test_the_last_observation_of_a_fallen_member_is_nobody(signals: Mapping[str, Any]) -> None:
    rollout = recorded(["D[1 G5, 2 G5]", "D[1 G5] T[2 G5 end]", "D[1 G5] "], **signals)
    found = mates(rollout)
    assert ((2, 1.5) in found) == bool(signals)
    assert not found.get((2, 1.5))
    assert found[(1, 1)] == found[(1, 2)] == set()


# -- what a group earns together -------------------------------------------------------------------------------------


def test_a_member_earns_the_groups_reward_its_own_and_that_of_its_mates_while_it_decides() -> None:
    rollout = recorded(
        [
            "D[1 G5, 2 G5, 3 G6]",
            "D[1 G5 r=1 g=10, 2 G5 r=2 g=10, 3 G6 r=50]",
            "D[1 G5 r=4, 3 G6]",  # 2 goes on with the same decision
            "D[1 G5 r=8, 2 G5 r=16 g=20, 3 G6]",
            "T[1 G5 r=32 end, 2 G5 r=64 end, 3 G6 end]",
        ]
    )
    complete = rollout.status[: rollout.size] == RowStatus.COMPLETE
    seen = rollout.inputs[0][: rollout.size]
    found = {
        (float(seen[row, 0]), float(seen[row, 1])): float(shared_reward(rollout)[row])
        for row in np.flatnonzero(complete)
    }
    assert found[(1, 0)] == found[(2, 0)] == 1 + 2 + 10
    assert found[(1, 1)] == 4
    assert found[(1, 2)] == 8 + 16
    assert found[(2, 1)] == 4 + 8 + 16 + 20
    assert found[(1, 3)] == found[(2, 3)] == 32 + 64
    assert found[(3, 0)] == 50
