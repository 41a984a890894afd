"""With memory: the state before each step, whole sequences, and padding that counts nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms import on_policy
from sparring.algorithms.clipped_losses import policy_loss, value_loss
from sparring.networks import ActionDistribution
from sparring.rollouts import PADDING, RowStatus, steps_in_order
from sparring.runs import read_checkpoint, write_checkpoint
from tests.algorithms.builders import ACTIONS, behavior, bits, experience_of, make_learner, plan

HYBRID = behavior()
MEMORY = {"normalize": True, "memory": {"sequence_length": 4, "memory_size": 6}}
both = pytest.mark.parametrize("shared", [False, True], ids=["apart", "shared"])


@both
def test_before_the_first_step_every_ratio_is_one(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only so if the memories are those from before the decisions, over sequences too.
    learner = make_learner(HYBRID, plan(shared_critic=shared, network=MEMORY))
    rollout = experience_of(learner, HYBRID, steps=30, masked=True)
    ratios = []

    def recorded(log_prob: Any, old: Any, *rest: Any, **options: Any) -> Any:
        ratios.append((log_prob - old).exp().detach())
        return policy_loss(log_prob, old, *rest, **options)

    monkeypatch.setattr(on_policy, "policy_loss", recorded)
    learner.update(rollout, step=0)
    np.testing.assert_allclose(ratios[0], 1.0, atol=5e-6)
    assert (ratios[-1] - 1).abs().max() > 1e-4


def test_values_are_those_of_the_critic_walked_along_each_trajectory_over_rollouts_too() -> None:
    learner = make_learner(HYBRID, plan(network=MEMORY))
    rollout = experience_of(learner, HYBRID, steps=25)
    critic = learner._critic
    assert critic is not None
    memory = np.random.default_rng(1).standard_normal((rollout.size, 6)).astype(np.float32)
    assert rollout.critic_memory is not None
    rollout.critic_memory[: rollout.size] = memory  # as if the first rows had come from an earlier rollout
    values = learner._values_of(rollout)
    followers = set(rollout.next_row[: rollout.size].tolist())
    for first in (row for row in range(rollout.size) if row not in followers):
        state = torch.from_numpy(memory[first : first + 1])
        row = first
        while row >= 0:
            np.testing.assert_allclose(rollout.critic_memory[row], state[0].detach(), atol=1e-6)
            value, after = critic([torch.from_numpy(rollout.inputs[0][row : row + 1])], state)
            np.testing.assert_allclose(values[row], value[0].detach(), atol=1e-6)
            assert after is not None
            state, row = after, int(rollout.next_row[row])
    assert len(steps_in_order(rollout.next_row[: rollout.size], rollout.status[: rollout.size])) > 5


def test_the_memory_of_a_critic_follows_a_pending_decision_into_the_next_rollout() -> None:
    learner = make_learner(HYBRID, plan(network=MEMORY))
    rollout = experience_of(learner, HYBRID, steps=25)
    learner.update(rollout, step=0)
    assert rollout.critic_memory is not None
    assert rollout.memory is not None
    pending = np.flatnonzero(rollout.status[: rollout.size] == RowStatus.PENDING)
    held, acted = rollout.critic_memory[pending].copy(), rollout.memory[pending].copy()
    assert np.abs(held).max() > 0
    assert np.abs(acted).max() > 0
    rollout.carry_over()
    np.testing.assert_array_equal(rollout.critic_memory[: len(pending)], held)
    np.testing.assert_array_equal(rollout.memory[: len(pending)], acted)


@both
def test_losses_over_padded_sequences_are_those_of_the_real_steps_taken_one_by_one(shared: bool) -> None:
    learner: Any = make_learner(HYBRID, plan(shared_critic=shared, network=MEMORY))
    rollout = experience_of(learner, HYBRID, steps=30)
    experience, _ = learner._experience(rollout)
    table = learner._parts(rollout, len(experience))
    assert (table == PADDING).any()
    seen: list[float] = []
    learner._descend = lambda optimizer, loss, what: seen.append(loss.item())
    found = learner._learn(experience, [torch.from_numpy(table)], epsilon=0.2, beta=0.1)
    parameters, values = [], []
    for sequence in table:
        rows = sequence[sequence != PADDING]
        memory = experience.memory[rows[:1]]
        critic_memory = None if shared else experience.critic_memory[rows[:1]]
        for row in rows:
            inputs = [column[row : row + 1] for column in experience.inputs]
            if shared:
                output, value, memory = learner._shared(inputs, memory)
            else:
                output, memory = learner._actor(inputs, memory)
                value, critic_memory = learner._critic(inputs, critic_memory)
            batch = experience.batch(torch.tensor([row]))
            distribution = ActionDistribution(output, HYBRID.action_spec, batch.blocked)
            log_prob = distribution.log_prob(batch.continuous, batch.discrete)
            parameters.append((log_prob, distribution.entropy(), batch.log_prob, batch.advantage))
            values.append((value, batch.old_value, batch.returns))
    log_prob, entropy, old, advantage = (torch.cat(column) for column in zip(*parameters, strict=True))
    policy = policy_loss(log_prob, old, advantage, epsilon=0.2).item()
    fit = value_loss(*(torch.cat(column) for column in zip(*values, strict=True)), epsilon=0.2).item()
    assert len(log_prob) == len(experience)
    assert found["Losses/Policy Loss"] == pytest.approx(abs(policy), abs=1e-6)
    assert found["Losses/Value Loss"] == pytest.approx(fit, abs=1e-6)
    assert sum(seen) == pytest.approx(policy - 0.1 * entropy.mean().item() + 0.5 * fit, abs=1e-6)


def test_a_minibatch_has_as_many_steps_as_set_in_whole_sequences_and_each_sequence_is_used_once_an_epoch() -> None:
    learner = make_learner(HYBRID, plan(batch_size=18, num_epoch=2, network=MEMORY))
    table = np.arange(10 * 4).reshape(10, 4)
    batches = learner._minibatches(table)
    assert [tuple(batch.shape) for batch in batches] == [(4, 4)] * 4
    for epoch in (batches[:2], batches[2:]):
        rows = torch.cat(list(epoch))[:, 0].tolist()
        assert len(set(rows)) == 8


@both
def test_a_learner_restored_from_disk_goes_on_as_if_it_had_never_stopped(shared: bool, tmp_path: Path) -> None:
    settings = plan(shared_critic=shared, network=MEMORY)
    straight = make_learner(HYBRID, settings)
    rollout = experience_of(straight, HYBRID, steps=25)
    straight.update(rollout, step=0)
    write_checkpoint(tmp_path / "learner", straight.state(), step=1)
    restored = make_learner(HYBRID, settings, seed=77)
    restored.restore(read_checkpoint(tmp_path / "learner")[1])
    assert bits(restored.state()) == bits(straight.state())
    for learner in (straight, restored):
        learner.update(experience_of(learner, HYBRID, steps=25, seed=3), step=10)
    assert bits(restored.state()) == bits(straight.state())


def test_without_its_memory_a_policy_acts_otherwise() -> None:
    learner = make_learner(behavior(ACTIONS["continuous"]), plan(network=MEMORY))
    seen = [np.ones((1, 3), np.float32)]
    memory = np.full((1, 6), 0.7, np.float32)
    stream = torch.Generator()
    fresh = learner.policy.act(seen, None, stream, deterministic=True)
    used = learner.policy.act(seen, None, stream, deterministic=True, memory=memory)
    assert fresh.memory is not None
    assert used.memory is not None
    assert np.abs(fresh.continuous - used.continuous).max() > 1e-4
    assert np.abs(fresh.memory - used.memory).max() > 1e-2
