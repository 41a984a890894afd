"""The whole loss of PPO against plain Python, and its gradient against finite differences."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

from sparring.networks import ActionDistribution
from sparring.specs import ActionSpec
from tests.algorithms.builders import ACTIONS, behavior, experience_of, make_learner, plan

EPSILON, BETA = 0.15, 0.03


class Losses:
    """A tiny learner in double precision that computes the losses of one minibatch and takes no step.

    Its weights have moved since the experience was made, so that ratios and values lie inside and outside of the
    clip ranges.
    """

    def __init__(self, actions: ActionSpec, *, shared: bool, memory: dict[str, int] | None = None) -> None:
        spec = behavior(actions)
        settings = plan(shared_critic=shared, network={"hidden_units": 4, "memory": memory})
        self.learner: Any = make_learner(spec, settings)
        rollout = experience_of(self.learner, spec, steps=8, masked=bool(actions.discrete_size))
        experience, _ = self.learner._experience(rollout)
        self.experience = dataclasses.replace(
            experience,
            inputs=[column.double() for column in experience.inputs],
            **{
                name: getattr(experience, name).double()
                for name in ("continuous", "log_prob", "advantage", "old_value", "returns", "memory", "critic_memory")
                if getattr(experience, name) is not None
            },
        )
        self.parameters = [
            parameter for module in self.learner._modules() for parameter in module.double().parameters()
        ]
        noise = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in self.parameters:
                parameter.add_(torch.randn(parameter.shape, generator=noise, dtype=torch.float64), alpha=0.1)
        self.rows = torch.from_numpy(self.learner._parts(rollout, len(experience)))
        self.seen: list[torch.Tensor] = []
        vars(self.learner)["_descend"] = lambda optimizer, loss, what: self.seen.append(loss)

    def total(self) -> torch.Tensor:
        """What is descended on: with a critic of its own, the sum of both losses."""
        self.seen.clear()
        self.report = self.learner._learn(self.experience, [self.rows], epsilon=EPSILON, beta=BETA)
        return torch.stack(self.seen).sum()


REMEMBERED = {"sequence_length": 3, "memory_size": 4}

each_kind = pytest.mark.parametrize(
    ("actions", "shared"),
    [
        pytest.param(spec, bool(shared), id=f"{name}{'-shared' * shared}")
        for name, spec in ACTIONS.items()
        for shared in (0, 1)
    ],
)


@each_kind
def test_the_gradient_is_that_of_finite_differences(actions: ActionSpec, shared: bool) -> None:
    _compare_with_finite_differences(Losses(actions, shared=shared))


@pytest.mark.parametrize("shared", [False, True])
def test_the_gradient_through_sequences_is_that_of_finite_differences(shared: bool) -> None:
    losses = Losses(ACTIONS["hybrid"], shared=shared, memory=REMEMBERED)
    assert (losses.rows < 0).any()
    _compare_with_finite_differences(losses)


def _compare_with_finite_differences(losses: Losses) -> None:
    found = torch.autograd.grad(losses.total(), losses.parameters)
    noise = torch.Generator().manual_seed(2)
    width = 1e-6
    with torch.no_grad():
        for parameter, gradient in zip(losses.parameters, found, strict=True):
            # A wrong element shows along a random direction as well as along its own.
            for _ in range(2):
                direction = torch.randn(parameter.shape, generator=noise, dtype=torch.float64)
                parameter.add_(direction, alpha=width)
                above = losses.total().item()
                parameter.sub_(direction, alpha=2 * width)
                below = losses.total().item()
                parameter.add_(direction, alpha=width)
                slope = (above - below) / (2 * width)
                assert (gradient * direction).sum().item() == pytest.approx(slope, rel=1e-5, abs=1e-7)


@each_kind
def test_the_loss_is_the_sum_written_out_row_by_row(actions: ActionSpec, shared: bool) -> None:
    losses = Losses(actions, shared=shared)
    found = losses.total().item()
    policy, value, entropy = _by_hand(losses.learner, losses.experience)
    assert losses.report["Losses/Policy Loss"] == pytest.approx(abs(policy), abs=1e-6)
    assert losses.report["Losses/Value Loss"] == pytest.approx(value, abs=1e-6)
    assert found == pytest.approx(policy + 0.5 * value - BETA * entropy, abs=1e-6)


def _by_hand(learner: Any, experience: Any) -> tuple[float, float, float]:
    """Mean policy loss, value loss and entropy; the ratio is that of the joint action."""
    with torch.no_grad():
        if learner._shared is not None:
            parameters, values, _ = learner._shared(experience.inputs)
        else:
            parameters, _ = learner._actor(experience.inputs)
            values, _ = learner._critic(experience.inputs)
    surrogates, errors, entropies = [], [], []
    for row in range(len(experience.log_prob)):
        log_prob, entropy = _joint(parameters, experience, row, learner._spec.action_spec)
        ratio = math.exp(log_prob - experience.log_prob[row].item())
        gain = experience.advantage[row].item()
        surrogates.append(min(ratio * gain, min(max(ratio, 1 - EPSILON), 1 + EPSILON) * gain))
        now, before, target = (column[row, 0].item() for column in (values, experience.old_value, experience.returns))
        near = before + min(max(now - before, -EPSILON), EPSILON)
        errors.append(max((now - target) ** 2, (near - target) ** 2))
        entropies.append(entropy)
    return -float(np.mean(surrogates)), float(np.mean(errors)), float(np.mean(entropies))


def _joint(parameters: Any, experience: Any, row: int, actions: ActionSpec) -> tuple[float, float]:
    """Log-probability and entropy of one joint action."""
    log_prob = entropy = 0.0
    for place in range(actions.continuous_size):
        mean, log_std = parameters.mean[row, place].item(), parameters.log_std[place].item()
        distance = (experience.continuous[row, place].item() - mean) / math.exp(log_std)
        log_prob += -0.5 * distance**2 - log_std - 0.5 * math.log(2 * math.pi)
        entropy += log_std + 0.5 * math.log(2 * math.pi * math.e)
    start = 0
    for branch, size in enumerate(actions.discrete_branches):
        blocked = experience.blocked[row, start : start + size].tolist()
        logits = parameters.logits[row, start : start + size].tolist()
        weights = [0.0 if out else math.exp(logit) for logit, out in zip(logits, blocked, strict=True)]
        chances = [weight / sum(weights) for weight in weights]
        log_prob += math.log(chances[int(experience.discrete[row, branch])])
        entropy -= sum(chance * math.log(chance) for chance in chances if chance > 0)
        start += size
    return log_prob, entropy


def test_the_ratio_is_that_of_the_joint_action_not_of_its_components() -> None:
    # Two continuous dimensions whose densities grew by a factor of 1.3 each: jointly 1.69, beyond 1 + ε = 1.5, so
    # the gain is clipped there; taken by component neither would be.
    learner: Any = make_learner(behavior(ACTIONS["continuous"]))
    rollout = experience_of(learner, behavior(ACTIONS["continuous"]), steps=2)
    experience, _ = learner._experience(rollout)
    one = experience.batch(torch.tensor([0]))
    parameters, _ = learner._actor(one.inputs)
    one = dataclasses.replace(one, advantage=torch.ones(1), log_prob=one.log_prob - 2 * math.log(1.3))
    loss, _ = learner._policy_terms(parameters, one, epsilon=0.5)
    assert loss.item() == pytest.approx(-1.5, abs=1e-6)


def test_the_losses_compared_here_are_clipped_in_some_rows_and_not_in_others() -> None:
    losses = Losses(ACTIONS["hybrid"], shared=False)
    experience, learner = losses.experience, losses.learner
    with torch.no_grad():
        parameters, _ = learner._actor(experience.inputs)
        distribution = ActionDistribution(parameters, ACTIONS["hybrid"], experience.blocked)
        ratio = (distribution.log_prob(experience.continuous, experience.discrete) - experience.log_prob).exp()
        values, _ = learner._critic(experience.inputs)
    for far in ((ratio - 1).abs() > EPSILON, (values - experience.old_value).abs() > EPSILON):
        assert 0.1 < far.double().mean() < 0.9
