"""When SAC learns, what it keeps, and what it must never do."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms.sac.cadence import Cadence
from sparring.errors import NonFiniteError
from sparring.networks import Normalizer
from sparring.rollouts import RowStatus
from sparring.specs import ActionSpec
from tests.algorithms.builders import ACTIONS, behavior, bits, experience_of
from tests.algorithms.sac.builders import MEMORY, fed, make_sac, sac_plan

HYBRID = behavior()


@pytest.mark.parametrize(("steps_per_update", "expected"), [(1.0, 11), (4.0, 3), (0.5, 21), (100.0, 1)])
def test_one_update_is_due_at_the_start_and_one_for_so_many_decisions_after(
    steps_per_update: float, expected: int
) -> None:
    cadence = Cadence(steps_per_update)
    assert cadence.due(500) == 0
    cadence.start_at(500)
    assert cadence.due(510) == expected
    cadence.done += expected
    assert cadence.due(510) == 0


def test_nothing_is_learned_before_there_are_decisions_enough() -> None:
    learner = make_sac(HYBRID, sac_plan(buffer_init_steps=100, batch_size=16, buffer_size=200))
    rollout = experience_of(learner, HYBRID, steps=5)
    assert rollout.num_complete == 20
    assert not learner.wants_update(rollout, step=99)
    assert learner.wants_update(rollout, step=100)
    few = make_sac(HYBRID, sac_plan(batch_size=21, buffer_size=21))
    assert not few.wants_update(rollout, step=100)


def test_many_agents_get_as_many_updates_as_their_decisions_are_worth() -> None:
    learner = make_sac(HYBRID, sac_plan(steps_per_update=8, reward_signal_steps_per_update=8))
    before = _weights(learner._q1)
    learner.update(experience_of(learner, HYBRID, steps=10), step=40)
    assert learner._cadence.done == 1  # what came before the start is not caught up with
    learner.update(experience_of(learner, HYBRID, steps=20, seed=1), step=120)
    assert learner._cadence.done == 11
    assert not torch.equal(before, _weights(learner._q1))
    assert not learner.wants_update(learner.make_rollout(), step=127)
    assert learner.wants_update(learner.make_rollout(), step=128)


def test_signals_learn_by_a_cadence_of_their_own() -> None:
    signals = {"extrinsic": {}, "rnd": {"network_settings": {"hidden_units": 6, "num_layers": 1}}}
    plan = sac_plan(behavior={"reward_signals": signals}, steps_per_update=8, reward_signal_steps_per_update=40)
    learner = make_sac(HYBRID, plan)
    learner.update(experience_of(learner, HYBRID, steps=10), step=40)
    report = learner.update(experience_of(learner, HYBRID, steps=20, seed=1), step=120)
    assert (learner._cadence.done, learner._signal_cadence.done) == (11, 3)
    assert {"Losses/RND Loss", "Policy/Rnd Value", "Policy/Rnd Reward", "Policy/Extrinsic Value"} <= set(report)


def test_the_target_follows_the_value_critic_by_tau() -> None:
    learner = make_sac(HYBRID, sac_plan(tau=0.25))
    assert torch.equal(_weights(learner._target), _weights(learner._value))
    fed(learner, HYBRID)
    old = _weights(learner._target)
    learner._learn(0)
    torch.testing.assert_close(_weights(learner._target), 0.25 * _weights(learner._value) + 0.75 * old)
    assert not torch.equal(_weights(learner._target), old)


def test_all_networks_see_through_one_normalizer_that_takes_every_decision_in_once() -> None:
    learner = make_sac(HYBRID, sac_plan(network={"normalize": True}))
    own = {id(module) for each in learner._modules() for module in each.modules() if isinstance(module, Normalizer)}
    assert len(own) == 1
    rollout = experience_of(learner, HYBRID, steps=20)
    learner.update(rollout, step=80)
    assert learner._actor.normalizer.count == 1 + rollout.num_complete


@pytest.mark.parametrize("name", ACTIONS)
def test_temperatures_start_where_the_settings_say_and_are_learned(name: str) -> None:
    spec = behavior(ACTIONS[name])
    learner = make_sac(spec, sac_plan(init_entcoef=0.3))
    before = [
        alpha for alpha in (learner._temperatures.continuous, learner._temperatures.discrete) if alpha is not None
    ]
    assert [len(alpha) for alpha in before] == {"continuous": [1], "discrete": [2], "hybrid": [1, 2]}[name]
    for alpha in before:
        torch.testing.assert_close(alpha, torch.full_like(alpha, 0.3))
    report = learner.update(experience_of(learner, spec), step=80)
    tags = {tag for tag in report if "Entropy Coeff" in tag}
    kinds = {"continuous": {"Continuous"}, "discrete": {"Discrete"}, "hybrid": {"Continuous", "Discrete"}}[name]
    assert tags == {f"Policy/{kind} Entropy Coeff" for kind in kinds}
    assert all(report[tag] != pytest.approx(0.3, abs=1e-6) for tag in tags)


def test_an_interrupted_episode_is_bootstrapped_with_what_was_really_seen_last() -> None:
    learner = make_sac(HYBRID)
    rollout = learner.make_rollout()
    trajectory = rollout.begin_trajectories(1)
    first = rollout.append([np.full((1, 3), 1.0, np.float32)], None, trajectory)
    tail = rollout.append([np.full((1, 3), 9.0, np.float32)], None, trajectory, status=RowStatus.TAIL)
    rollout.complete(first, np.ones(1, np.float32), next_row=tail, terminated=np.zeros(1, np.bool_))
    learner._replay.add(rollout)
    done = learner._draw().transitions
    assert not done.terminated.any()
    assert done.next_inputs is not None
    assert (done.next_inputs[0] == 9.0).all()


@pytest.mark.parametrize("network", [{}, MEMORY], ids=["plain", "memory"])
def test_a_learner_put_back_goes_on_to_the_last_bit(network: dict[str, Any]) -> None:
    settings = sac_plan(network={"normalize": True, **network}, save_replay_buffer=True)
    learner, other = make_sac(HYBRID, settings), make_sac(HYBRID, settings, seed=5)
    learner.update(experience_of(learner, HYBRID, masked=True), step=80)
    other.restore(learner.state())
    assert bits(other.state()) == bits(learner.state())
    for each in (learner, other):
        each.update(experience_of(each, HYBRID, seed=1, masked=True), step=160)
    assert bits(other.state()) == bits(learner.state())


def test_a_replay_that_was_not_saved_is_filled_again_before_learning_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    learner, other = make_sac(HYBRID), make_sac(HYBRID)
    learner.update(experience_of(learner, HYBRID, steps=12), step=48)
    assert len(learner._replay) == 48
    with caplog.at_level(logging.WARNING):
        other.restore(learner.state())
    assert "learning goes on when 48 decisions have been collected again" in caplog.text
    rollout = experience_of(other, HYBRID, steps=11)
    assert not other.wants_update(rollout, step=5000)
    # Stopped once more while it fills, it still waits for as many.
    again = make_sac(HYBRID)
    again.restore(other.state())
    enough = experience_of(again, HYBRID, steps=12)
    assert again.wants_update(enough, step=5000)
    again.update(enough, step=5000)
    assert again._cadence.done == 1  # and does not catch up with what it missed


def test_the_temperatures_are_in_the_state() -> None:
    learner, other = make_sac(HYBRID), make_sac(HYBRID, sac_plan(init_entcoef=0.9))
    learner.update(experience_of(learner, HYBRID), step=80)
    other.restore(learner.state())
    for name in ("continuous", "discrete"):
        assert torch.equal(getattr(other._temperatures, name), getattr(learner._temperatures, name))


@pytest.mark.parametrize("rate", [1e3, 1e30])
@pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)
def test_whatever_the_learning_rate_no_update_leaves_a_learner_that_is_not_finite(
    actions: ActionSpec, rate: float
) -> None:
    spec = behavior(actions)
    learner = make_sac(spec, sac_plan(learning_rate=rate))
    for number in range(4):
        before = _learned(learner)
        try:
            learner.update(experience_of(learner, spec, seed=number), step=80 * (number + 1))
        except NonFiniteError:
            assert _learned(learner) == before
            break
        for module in learner._modules():
            assert all(bool(torch.isfinite(tensor).all()) for tensor in module.state_dict().values())


@pytest.mark.parametrize("earlier", [0, 1])
def test_an_update_that_fails_leaves_every_weight_and_moment_as_it_was(earlier: int) -> None:
    signals = {"extrinsic": {}, "rnd": {"network_settings": {"hidden_units": 6, "num_layers": 1}}}
    learner = make_sac(HYBRID, sac_plan(network={"normalize": True}, behavior={"reward_signals": signals}))
    for number in range(earlier):
        learner.update(experience_of(learner, HYBRID, seed=number), step=80)
    rollout = experience_of(learner, HYBRID, seed=9)
    rollout.reward[: rollout.size] *= np.float32(1e30)  # finite, but its square is not
    before = _learned(learner)
    with pytest.raises(NonFiniteError, match=r"Duel: the update made the .* non-finite"):
        learner.update(rollout, step=800)
    assert _learned(learner) == before


def _weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def _learned(learner: Any) -> dict[str, str]:
    """The bits of weights and moments, those of signals included."""
    state = bits(learner.state())
    return {
        path: value
        for path, value in state.items()
        if path.startswith(("/networks", "/optimizers", "/signals")) and "generator" not in path
    }
