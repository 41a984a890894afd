"""Targets and losses of SAC for every kind of action, against sums written out in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms.sac.losses import (
    Chances,
    available_choices,
    expected_value,
    q_target,
    temperature_loss,
    value_of_action,
)
from sparring.networks import ActionDistribution
from sparring.specs import ActionSpec
from tests.algorithms.builders import ACTIONS, behavior
from tests.algorithms.sac.builders import MEMORY, fed, make_sac, sac_plan

SIGNALS = {"reward_signals": {"extrinsic": {"strength": 0.5, "gamma": 0.9}, "rnd": {"strength": 0.1, "gamma": 0.8}}}

each_kind = pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)
plain_or_memory = pytest.mark.parametrize("network", [{}, MEMORY], ids=["plain", "memory"])


class Slow:
    """Recomputes what a learner makes of a batch, row by row from the outputs of its networks."""

    def __init__(self, actions: ActionSpec, network: dict[str, Any]) -> None:
        self.actions = actions
        self.spec = behavior(actions)
        settings = sac_plan(network={"normalize": True, **network}, behavior=SIGNALS)
        self.learner = make_sac(self.spec, settings)
        fed(self.learner, self.spec, steps=12, end_rate=0.25, masked=bool(actions.discrete_size))
        # Unlike each other and themselves at the start, temperatures included.
        noise = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for module in self.learner._modules():
                for parameter in module.parameters():
                    parameter.add_(torch.randn(parameter.shape, generator=noise), alpha=0.2)
        self.batch = self.learner._replay.sample(16, rng=np.random.default_rng(2), device=torch.device("cpu"))
        state = self.learner._noise.get_state()
        self.losses = self.learner._losses(self.batch)
        self.learner._noise.set_state(state)
        self._ask_networks()

    @torch.no_grad()
    def _ask_networks(self) -> None:
        learner, batch = self.learner, self.batch
        parameters = learner._actor.heads.forward(batch.features(learner._actor.body, batch.memory))
        distribution = ActionDistribution(parameters, self.actions, batch.blocked, squash=True)
        self.drawn = batch.transitions.continuous
        self.log_density: list[float] | None = None
        if self.actions.continuous_size:
            self.drawn, _ = distribution.sample_with_log_prob(learner._noise)
            self.log_density = [self._density(parameters, row) for row in range(len(self.drawn))]
        self.logits = parameters.logits
        features = [batch.features(critic.body) for critic in (learner._q1, learner._q2)]
        critics = list(zip((learner._q1, learner._q2), features, strict=True))
        self.taken = [critic.forward(seen, batch.transitions.continuous).tolist() for critic, seen in critics]
        self.hoped = [critic.forward(seen, self.drawn).tolist() for critic, seen in critics]
        self.value = learner._value.values.forward(batch.features(learner._value.body)).tolist()
        self.following = learner._target.values.forward(batch.following_features(learner._target.body)).tolist()
        self.rewards = learner._signals.rewards(batch.transitions).tolist()
        self.alpha = 0.0 if learner._temperatures.continuous is None else learner._temperatures.continuous.item()
        discrete = learner._temperatures.discrete
        self.alphas = [] if discrete is None else discrete.tolist()

    def _density(self, parameters: Any, row: int) -> float:
        """ln of the density of tanh of a Gaussian, by the change of variables."""
        total = 0.0
        for place in range(self.actions.continuous_size):
            mean, log_std = parameters.mean[row, place].item(), parameters.log_std[row, place].item()
            action = float(self.drawn[row, place].double())
            distance = (math.atanh(action) - mean) / math.exp(log_std)
            total += -0.5 * distance**2 - log_std - 0.5 * math.log(2 * math.pi) - math.log(1 - action**2)
        return total

    def chances(self, row: int) -> list[list[float]]:
        """π of every choice, by branch."""
        branches, start = [], 0
        for size in self.actions.discrete_branches:
            blocked = self.batch.blocked[row, start : start + size].tolist()
            logits = self.logits[row, start : start + size].tolist()
            weights = [0.0 if out else math.exp(logit) for logit, out in zip(logits, blocked, strict=True)]
            branches.append([weight / sum(weights) for weight in weights])
            start += size
        return branches

    def negative_entropies(self, row: int) -> list[float]:
        return [sum(p * math.log(p) for p in branch if p > 0) for branch in self.chances(row)]

    def hope(self, twin: int, row: int, signal: int) -> float:
        entries = self.hoped[twin][row][signal]
        if not self.actions.discrete_size:
            return float(entries[0])
        joined = [chance for branch in self.chances(row) for chance in branch]
        return float(sum(p * q for p, q in zip(joined, entries, strict=True))) / self.actions.discrete_size

    def penalty(self, row: int) -> float:
        total = self.alpha * self.log_density[row] if self.log_density is not None else 0.0
        if self.alphas:
            terms = [a * h for a, h in zip(self.alphas, self.negative_entropies(row), strict=True)]
            total += sum(terms) / len(terms)
        return total

    def q_of_taken(self, twin: int, row: int, signal: int) -> float:
        entries = self.taken[twin][row][signal]
        if not self.actions.discrete_size:
            return float(entries[0])
        start, chosen = 0, []
        for branch, size in enumerate(self.actions.discrete_branches):
            chosen.append(entries[start + int(self.batch.transitions.discrete[row, branch])])
            start += size
        return float(sum(chosen)) / len(chosen)

    @property
    def rows(self) -> range:
        return range(len(self.rewards))


@each_kind
@plain_or_memory
def test_every_loss_is_the_sum_written_out_row_by_row(actions: ActionSpec, network: dict[str, Any]) -> None:
    slow = Slow(actions, network)
    ended = slow.batch.transitions.terminated.tolist()
    assert 0 < sum(ended) < len(ended)
    gammas, goes_on = (0.9, 0.8), (False, True)  # rnd goes on behind an end
    fits: list[list[float]] = [[], []]
    value_errors, policy = [], []
    for row in slow.rows:
        for signal in range(2):
            is_cut = ended[row] and not goes_on[signal]
            y = slow.rewards[row][signal] + (0.0 if is_cut else gammas[signal] * slow.following[row][signal])
            for twin in range(2):
                fits[twin].append(0.5 * (y - slow.q_of_taken(twin, row, signal)) ** 2)
            soft = min(slow.hope(0, row, signal), slow.hope(1, row, signal)) - slow.penalty(row)
            value_errors.append(0.5 * (soft - slow.value[row][signal]) ** 2)
        policy.append(slow.penalty(row) - (slow.hope(0, row, 0) + slow.hope(0, row, 1)) / 2)
    found = slow.losses
    for loss, by_hand in (
        (found.q1, fits[0]),
        (found.q2, fits[1]),
        (found.value, value_errors),
        (found.policy, policy),
    ):
        assert loss.item() == pytest.approx(float(np.mean(by_hand)), rel=2e-6, abs=1e-6)


@each_kind
def test_the_temperature_loss_is_the_sum_written_out_row_by_row(actions: ActionSpec) -> None:
    slow = Slow(actions, {})
    total = 0.0
    for row in slow.rows:
        if slow.log_density is not None:
            total -= slow.alpha * (slow.log_density[row] - actions.continuous_size)
        start = 0
        for branch, size in enumerate(actions.discrete_branches):
            free = size - int(slow.batch.blocked[row, start : start + size].sum())
            total -= slow.alphas[branch] * (slow.negative_entropies(row)[branch] + 0.2 * math.log(free))
            start += size
    assert slow.losses.temperature.item() == pytest.approx(total / len(slow.rows), rel=2e-6, abs=1e-6)


def test_the_value_of_two_branches_is_the_mean_of_the_chosen_entries() -> None:
    # Branches of 2 and 3: entries 1 2 | 3 4 8; choices 1 and 2 give (2 + 8) / 2.
    spec = ActionSpec.create_discrete((2, 3))
    q = torch.tensor([[[1.0, 2.0, 3.0, 4.0, 8.0]]])
    assert value_of_action(q, torch.tensor([[1, 2]]), spec).item() == 5.0
    # Halves of 1 and 2, and the last choice for sure: (1.5 + 8) / 2.
    chances = Chances(None, torch.tensor([[0.5, 0.5, 1e-38, 1e-38, 1.0]]).log())
    assert expected_value(q, chances, spec).item() == pytest.approx(4.75)


def test_nothing_follows_an_end_but_for_signals_that_go_on() -> None:
    target = q_target(
        torch.tensor([[1.0, 1.0], [1.0, 1.0]]),
        torch.tensor([True, False]),
        torch.tensor([[10.0, 10.0], [10.0, 10.0]]),
        torch.tensor([0.9, 0.5]),
        torch.tensor([False, True]),
    )
    np.testing.assert_allclose(target, [[1.0, 6.0], [10.0, 6.0]])


@pytest.mark.parametrize(("log_density", "grows"), [(3.0, True), (1.0, False)])
def test_a_temperature_grows_where_there_is_less_entropy_than_asked_for(log_density: float, grows: bool) -> None:
    # Two dimensions are held to an entropy of -2, so ln π beyond 2 is too sure.
    log_alpha = torch.zeros(1, requires_grad=True)
    chances = Chances(torch.tensor([log_density]), None)
    temperature_loss(chances, None, log_alpha.exp(), None, ActionSpec.create_continuous(2)).backward()  # type: ignore[no-untyped-call]
    assert log_alpha.grad is not None
    assert (log_alpha.grad.item() < 0) == grows


def test_a_branch_in_which_one_choice_is_left_asks_for_no_entropy() -> None:
    spec = ActionSpec.create_discrete((3, 2))
    blocked = torch.tensor([[True, False, True, False, False], [True, True, True, True, False]])
    free = available_choices(blocked, 2, spec, like=torch.zeros(1))
    np.testing.assert_array_equal(free, [[1, 2], [3, 1]])  # nothing available counts as unmasked
