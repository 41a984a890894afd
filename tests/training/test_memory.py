"""Every agent carries a memory of its own from decision to decision, and none into its next episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.algorithms import PPOLearner
from sparring.networks import Actor
from sparring.networks.policy import Policy
from sparring.selfplay import Lineup
from sparring.settings import NetworkSettings, RunSettings
from sparring.specs import BehaviorId
from sparring.statistics import Statistics, Timers
from sparring.training.collector import Collector
from sparring.training.evaluation import play_matches
from tests.builders import ScriptedGame
from tests.games import duel

NETWORK = {"hidden_units": 4, "num_layers": 1, "memory": {"sequence_length": 4, "memory_size": 6}}


def collected(script: list[str]) -> Collector:
    plan = {"network_settings": NETWORK, "hyperparameters": {"buffer_size": 10**4}}
    run = RunSettings.model_validate({"default_settings": plan})
    game = ScriptedGame({"Duel?team=0": script})
    collector = Collector(
        game,
        run,
        make_learner=lambda name, spec, plan: PPOLearner(
            name, spec, plan, device=torch.device("cpu"), seed=0, parallel=False
        ),
        lineup=Lineup(rng=np.random.default_rng(0)),
        statistics=Statistics({}),
        timers=Timers(),
        generator=torch.Generator().manual_seed(0),
    )
    for _ in script:
        collector.step()
    return collector


def test_a_row_has_the_memory_before_its_decision_and_an_episode_begins_without() -> None:
    # Agent 1 ends and begins again in one exchange; agent 2 skips one; agent 3 is interrupted.
    script = ["D[1, 2, 3]", "D[1, 3]", "D[1, 2] T[1 end, 3 int]", "D[1, 2, 3]", "D[2, 1, 3]"]
    training = collected(script).behaviors["Duel"]
    rollout = training.rollout
    assert rollout.memory is not None
    seen = rollout.inputs[0][: rollout.size]
    first_rows = {int(np.flatnonzero(rollout.trajectory[: rollout.size] == number)[0]) for number in range(5)}
    for row in range(rollout.size):
        if row in first_rows:
            np.testing.assert_array_equal(rollout.memory[row], 0.0)
        follower = int(rollout.next_row[row])
        if follower >= 0:
            one = slice(row, row + 1)
            _, after = training.policy.actor([torch.from_numpy(seen[one])], torch.from_numpy(rollout.memory[one]))
            assert after is not None
            np.testing.assert_allclose(rollout.memory[follower], after[0].detach(), atol=1e-6)
            assert np.abs(rollout.memory[follower]).max() > 0
    assert sum(rollout.next_row[: rollout.size] >= 0) == 9


class Witness(Policy):
    """Notes the memories and the observations it is asked with."""

    asked: list[tuple[NDArray[Any], NDArray[Any]]]

    def parameters(self, inputs: Any, memory: Any = None) -> Any:
        self.asked.append((inputs[0].copy(), memory.copy()))
        return super().parameters(inputs, memory)


def test_matches_outside_of_training_carry_memories_too() -> None:
    game = duel(num_arenas=2, seed=1)
    spec = next(iter(game.behavior_specs.values()))
    actor = Actor(spec, NetworkSettings.model_validate(NETWORK), generator=torch.Generator().manual_seed(0))
    witness = Witness(spec, actor, device=torch.device("cpu"))
    witness.asked = []
    seats = {BehaviorId.parse(name): witness if "team=0" in name else None for name in game.behavior_specs}
    play_matches(game, seats, matches=6, generator=torch.Generator().manual_seed(0), rng=np.random.default_rng(0))
    pairs = [
        (memory, left) for seen, memories in witness.asked for memory, left in zip(memories, seen[:, 2], strict=True)
    ]
    fresh = [memory for memory, left in pairs if left == 1.0]
    later = [memory for memory, left in pairs if left < 1.0]
    assert len(fresh) >= 6
    np.testing.assert_array_equal(fresh, 0.0)
    assert all(np.abs(memory).max() > 0 for memory in later)
