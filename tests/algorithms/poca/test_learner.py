"""Group values, baselines and posthumous credit against plain Python, gradients, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import ValidationError

from sparring.algorithms.clipped_losses import value_loss
from sparring.algorithms.poca import POCALearner
from sparring.networks import GroupCritic
from sparring.rollouts import Rollout, RowStatus
from sparring.settings import BehaviorSettings, NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec
from tests.algorithms.builders import ACTIONS, act, behavior, bits, judged, plan
from tests.algorithms.signals.builders import slope_by_differences

HYBRID = behavior()
MEMORY = {"memory": {"sequence_length": 3, "memory_size": 4}}
GAMMA, LAMBDA = 0.9, 0.8


def poca(
    spec: BehaviorSpec = HYBRID, *, network: dict[str, Any] | None = None, seed: int = 0, **more: Any
) -> POCALearner:
    settings = plan(
        lambd=LAMBDA,
        network={"num_layers": 2, **(network or {})},
        behavior={"trainer_type": "poca", "reward_signals": {"extrinsic": {"gamma": GAMMA}}, **more},
    )
    return POCALearner("Team", spec, settings, device=torch.device("cpu"), seed=seed, parallel=False)


def teamwork(learner: POCALearner, *, groups: int = 4, episodes: int = 3, length: int = 4, seed: int = 0) -> Rollout:
    """Groups of three: the first member falls after one decision, the rest go on to the end or an interruption."""
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    spec = learner.policy.spec
    rollout = learner.make_rollout()
    moment = 0
    for episode in range(episodes):
        trajectory = rollout.begin_trajectories(3 * groups)
        group = np.repeat(np.arange(1, groups + 1), 3)
        memory = np.zeros((3 * groups, learner.policy.memory_size), np.float32)
        alive: NDArray[Any] = np.arange(3 * groups)
        pending: NDArray[Any] = np.zeros(0, np.int64)

        def seen(count: int) -> list[NDArray[Any]]:
            return [rng.standard_normal((count, sensor.size), np.float32) for sensor in spec.observation_specs]

        for time in range(length + 1):
            reward = rng.standard_normal(len(alive), np.float32)
            shared = np.repeat(rng.standard_normal(groups, np.float32), len(alive) // groups)
            if time:
                is_over, is_first_fall = time == length, time == 1
                falls = (alive % 3 == 0) if is_first_fall else np.full(len(alive), is_over)
                ended = falls & (not (is_over and episode % 2))
                cut = falls & ~ended
                following = np.full(len(alive), -1, np.int64)
                if cut.any():
                    following[cut] = rollout.append(
                        seen(int(cut.sum())),
                        None,
                        trajectory[alive[cut]],
                        status=RowStatus.TAIL,
                        memory=memory[alive[cut]],
                        group=group[alive[cut]],
                        moment=moment,
                    )
                going = alive[~falls]
                inputs = seen(len(going))
                rows = rollout.append(
                    inputs, None, trajectory[going], memory=memory[going], group=group[going], moment=moment
                )
                following[~falls] = rows
                rollout.complete(
                    pending, reward + shared, next_row=following, terminated=ended, group_reward=shared, moment=moment
                )
                alive, pending = going, rows
            else:
                inputs = seen(len(alive))
                pending = rollout.append(
                    inputs, None, trajectory[alive], memory=memory[alive], group=group[alive], moment=moment
                )
            if len(alive):
                output = act(learner, rollout, pending, inputs, None, generator, memory=memory[alive])
                if output.memory is not None:
                    memory[alive] = output.memory
            moment += 1
    return rollout


class Reference:
    """Targets of a rollout of `teamwork`, trajectory by trajectory, without any table."""

    def __init__(self, learner: POCALearner, rollout: Rollout) -> None:
        self.learner, self.rollout = learner, rollout
        size = rollout.size
        assert rollout.group is not None
        assert rollout.moment is not None
        assert rollout.ended_at is not None
        self.at: dict[tuple[int, int], list[int]] = {}
        for row in range(size):
            self.at.setdefault((int(rollout.group[row]), int(rollout.moment[row])), []).append(row)

    def mates(self, row: int) -> list[int]:
        rollout = self.rollout
        assert rollout.group is not None
        assert rollout.moment is not None
        there = self.at[int(rollout.group[row]), int(rollout.moment[row])]
        return [other for other in there if other != row and rollout.status[other] == rollout.status[row]] or [
            other for other in there if other != row and rollout.status[row] != RowStatus.TAIL
        ]

    def value(self, rows: list[int]) -> float:
        inputs = torch.from_numpy(self.rollout.inputs[0][rows])
        critic = self.learner._critic
        own = critic.encode([inputs])
        present = torch.ones((1, len(rows) - 1), dtype=torch.bool)
        with torch.no_grad():
            value, _ = critic.value(own[:1], own[1:].unsqueeze(0), present)
        return float(value[0, 0])

    def baseline(self, row: int) -> float:
        critic, rollout, mates = self.learner._critic, self.rollout, self.mates(row)
        spec = self.learner.policy.spec.action_spec
        acts = []
        for mate in mates:
            columns = (np.clip(rollout.continuous[mate], -3, 3) / 3).tolist()
            for branch, choices in enumerate(spec.discrete_branches):
                columns += [float(choice == rollout.discrete[mate, branch]) for choice in range(choices)]
            acts.append(columns)
        with torch.no_grad():
            own = critic.encode([torch.from_numpy(rollout.inputs[0][[row, *mates]])])
            actions = torch.tensor(acts, dtype=torch.float32).reshape(1, len(mates), critic.action_size)
            present = torch.ones((1, len(mates)), dtype=torch.bool)
            value, _ = critic.baseline(own[:1], own[1:].unsqueeze(0), actions, present)
        return float(value[0, 0])

    def returns(self, row: int) -> float:
        """The λ-return of a decision, by recursion."""
        rollout = self.rollout
        assert rollout.group_reward is not None
        assert rollout.group is not None
        assert rollout.ended_at is not None
        assert rollout.moment is not None
        own = float(rollout.reward[row] - rollout.group_reward[row])
        paid = float(rollout.group_reward[row]) + own
        paid += sum(float(rollout.reward[mate] - rollout.group_reward[mate]) for mate in self.mates(row))
        following = int(rollout.next_row[row])
        if rollout.terminated[row]:
            left = [
                other
                for other in self.at.get((int(rollout.group[row]), int(rollout.ended_at[row])), [])
                if rollout.status[other] != RowStatus.TAIL
            ]
            started = {int(rollout.trajectory[other]) for other in left}
            begun = np.flatnonzero(rollout.moment[: rollout.size] < rollout.ended_at[row])
            before = set(rollout.trajectory[begun].tolist())
            return paid + (GAMMA * self.value(left) if left and started & before else 0.0)
        value = self.value([following, *self.mates(following)])
        if rollout.status[following] != RowStatus.COMPLETE:
            return paid + GAMMA * value
        return paid + GAMMA * ((1 - LAMBDA) * value + LAMBDA * self.returns(following))


def test_targets_are_those_of_the_recursion_with_a_fallen_member_and_an_interrupted_group() -> None:
    learner = poca()
    rollout = teamwork(learner)
    experience, values = judged(learner, rollout)
    reference = Reference(learner, rollout)
    rows = rollout.complete_rows().tolist()
    fallen = [
        row
        for row in rows
        if rollout.terminated[row] and reference.returns(row) != 0 and len(reference.mates(row)) == 2
    ]
    assert fallen
    np.testing.assert_allclose(values[:, 0], [reference.value([row, *reference.mates(row)]) for row in rows], atol=1e-5)
    np.testing.assert_allclose(experience.returns[:, 0], [reference.returns(row) for row in rows], atol=1e-5)
    np.testing.assert_allclose(experience.old_baseline[:, 0], [reference.baseline(row) for row in rows], atol=1e-5)
    raw = (experience.returns - experience.old_baseline)[:, 0].numpy()
    np.testing.assert_allclose(experience.advantage, (raw - raw.mean()) / raw.std(), atol=1e-4)


def test_a_baseline_does_not_know_what_its_own_member_did_and_knows_what_its_mates_did() -> None:
    learner = poca()
    rollout = teamwork(learner)
    judged(learner, rollout)  # the critic has seen how large groups are
    row = int(rollout.complete_rows()[0])
    reference = Reference(learner, rollout)
    before, mate = reference.baseline(row), reference.mates(row)[0]
    rollout.discrete[row] = (rollout.discrete[row] + 1) % 3
    assert reference.baseline(row) == before
    experience, _ = judged(learner, rollout)
    assert experience.old_baseline[0, 0].item() == pytest.approx(before, abs=1e-5)
    rollout.discrete[mate] = (rollout.discrete[mate] + 1) % 3
    experience, _ = judged(learner, rollout)
    assert abs(experience.old_baseline[0, 0].item() - before) > 1e-5


def test_the_order_of_mates_and_the_room_for_more_change_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    critic = GroupCritic(HYBRID, NetworkSettings(hidden_units=8), signals=["a", "b"], generator=generator)
    critic.see_groups(torch.ones(1, 4, dtype=torch.bool))
    own, mates = (critic.encode([torch.randn(rows, 3, generator=generator)]) for rows in (5, 15))
    mates = mates.view(5, 3, -1)
    actions = torch.randn(5, 3, critic.action_size, generator=generator)
    present = torch.tensor([[True, True, False]] * 5)
    value, _ = critic.value(own, mates, present)
    baseline, _ = critic.baseline(own, mates, actions, present)
    turned = [1, 0]
    there = torch.ones(5, 2, dtype=torch.bool)
    torch.testing.assert_close(critic.value(own, mates[:, turned], there)[0], value, atol=1e-6, rtol=0)
    same, _ = critic.baseline(own, mates[:, turned], actions[:, turned], there)
    torch.testing.assert_close(same, baseline, atol=1e-6, rtol=0)
    lone, _ = critic.value(own, mates[:, :0], there[:, :0])
    assert torch.isfinite(lone).all()


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)
def test_the_gradient_of_the_critic_is_that_of_finite_differences(actions: ActionSpec, memory: bool) -> None:
    spec = behavior(actions)
    learner: Any = poca(spec, network={"hidden_units": 4, **(MEMORY if memory else {})})
    rollout = teamwork(learner, groups=2, episodes=2)
    experience, _ = judged(learner, rollout)
    table = torch.from_numpy(learner._parts(rollout, len(experience)))
    learner._critic.double()
    names = [each.name for each in dataclasses.fields(experience)]
    floats: dict[str, Any] = {
        name: value.double()
        for name in names
        if isinstance(value := getattr(experience, name), torch.Tensor) and value.is_floating_point()
    }
    floats["inputs"] = [column.double() for column in experience.inputs]
    floats["everything"] = tuple(column.double() for column in experience.everything)
    exact = dataclasses.replace(experience, **floats)

    def loss() -> torch.Tensor:
        fit, apart = learner._critic_losses(exact, exact.batch(table), epsilon=0.15)
        total: torch.Tensor = fit + 0.5 * apart
        return total

    noise = torch.Generator().manual_seed(1)
    parameters = list(learner._critic.parameters())
    with torch.no_grad():
        for parameter in parameters:  # values have moved: some inside, some outside of the clip range
            parameter.add_(torch.randn(parameter.shape, generator=noise, dtype=torch.float64), alpha=0.1)
    slope_by_differences(loss, parameters)


def test_the_losses_with_memory_are_those_of_single_steps() -> None:
    learner: Any = poca(network=MEMORY)
    rollout = teamwork(learner)
    experience, _ = judged(learner, rollout)
    table = torch.from_numpy(learner._parts(rollout, len(experience)))
    assert (table < 0).any()
    with torch.no_grad():
        found = learner._critic_losses(experience, experience.batch(table), epsilon=0.2)
        values, baselines, rows = [], [], []
        for sequence in table:
            memory = experience.critic_memory[sequence[:1]]
            for row in sequence[sequence >= 0]:
                one = experience.mates[row : row + 1]
                own = learner._critic.encode([column[row : row + 1] for column in experience.inputs])
                theirs = learner._encodings(experience.everything, one)
                acts = experience.actions[one.clamp_min(0)]
                first, second = memory.chunk(2, dim=1)
                value, first = learner._critic.value(own, theirs, one >= 0, first)
                baseline, second = learner._critic.baseline(own, theirs, acts, one >= 0, second)
                memory = torch.cat((first, second), dim=1)
                values.append(value)
                baselines.append(baseline)
                rows.append(int(row))
        for loss, outputs, old in (
            (found[0], values, experience.old_value),
            (found[1], baselines, experience.old_baseline),
        ):
            expected = value_loss(torch.cat(outputs), old[rows], experience.returns[rows], epsilon=0.2)
            assert loss.item() == pytest.approx(expected.item(), abs=1e-6)


def test_an_update_reports_what_users_plot() -> None:
    learner = poca()
    report = learner.update(teamwork(learner), step=0)
    assert {"Losses/Baseline Loss", "Losses/Value Loss", "Losses/Policy Loss"} <= set(report)
    assert {"Policy/Extrinsic Value Estimate", "Policy/Extrinsic Baseline Estimate"} <= set(report)


@pytest.mark.parametrize("network", [{}, MEMORY], ids=["plain", "memory"])
def test_a_restored_learner_goes_on_as_if_it_had_never_stopped(network: dict[str, Any]) -> None:
    signals = {"extrinsic": {}, "curiosity": {"strength": 0.1}, "rnd": {"strength": 0.1}}
    straight = poca(network=network, reward_signals=signals)
    straight.update(teamwork(straight), step=0)
    restored = poca(network=network, seed=9, reward_signals=signals)
    restored.restore(straight.state())
    assert int(restored._critic.largest) == 3
    for learner in (straight, restored):
        learner.update(teamwork(learner, seed=5), step=10)
    assert bits(restored.state()) == bits(straight.state())


def test_heads_that_can_not_share_the_units_are_refused_at_load() -> None:
    with pytest.raises(ValidationError, match="6 is not a multiple of 4"):
        BehaviorSettings.model_validate({"trainer_type": "poca", "network_settings": {"hidden_units": 6}})


def test_a_critic_shared_with_the_actor_is_a_key_poca_does_not_have() -> None:
    with pytest.raises(ValidationError, match=r"hyperparameters\.shared_critic"):
        BehaviorSettings.model_validate({"trainer_type": "poca", "hyperparameters": {"shared_critic": True}})
