"""One update of the PPO learner: what it sees, what it changes, and what it leaves alone."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.algorithms import on_policy
from sparring.algorithms.ppo import learner as ppo
from sparring.algorithms.ppo import policy_loss
from sparring.errors import CheckpointError
from sparring.rollouts import Rollout, RowStatus
from sparring.runs import read_checkpoint, write_checkpoint
from sparring.specs import BehaviorSpec, ObservationSpec
from tests.algorithms.builders import ACTIONS, act, behavior, bits, experience_of, judged, make_learner, plan

HYBRID = behavior()


def moved(first: dict[str, Any], second: dict[str, Any]) -> float:
    """The largest change of a weight between two states of a learner."""
    return max(
        float(np.abs(array - second["networks"][module][name]).max())
        for module, arrays in first["networks"].items()
        for name, array in arrays.items()
    )


# -- what is learned from ------------------------------------------------------------------------------------------


def test_advantages_are_standardized_over_the_rows_that_are_learned_from() -> None:
    learner = make_learner(HYBRID)
    rollout = experience_of(learner, HYBRID)
    experience, values = judged(learner, rollout)
    rows = rollout.complete_rows()
    assert 0 < len(rows) < rollout.size
    raw = experience.returns[:, 0].numpy() - values[:, 0]
    np.testing.assert_allclose(experience.advantage, (raw - raw.mean()) / (raw.std() + 1e-10), atol=1e-5)
    assert experience.advantage.mean().item() == pytest.approx(0, abs=1e-6)
    assert experience.advantage.std(correction=0).item() == pytest.approx(1, abs=1e-5)


def test_only_complete_rows_are_learned_from() -> None:
    learner = make_learner(HYBRID)
    rollout = experience_of(learner, HYBRID)
    rollout.drop(rollout.trajectory[:1])
    rollout.abandon(np.array([rollout.size - 1]))
    rows = rollout.complete_rows()
    experience, _ = judged(learner, rollout)
    assert {RowStatus(int(status)) for status in rollout.status[: rollout.size]} == set(RowStatus)
    for found, column in (
        (experience.inputs[0], rollout.inputs[0]),
        (experience.continuous, rollout.continuous),
        (experience.discrete, rollout.discrete),
        (experience.log_prob, rollout.log_prob),
    ):
        np.testing.assert_array_equal(found, column[rows])


def test_the_reward_is_multiplied_with_the_strength_of_its_signal() -> None:
    strong = plan(behavior={"reward_signals": {"extrinsic": {"strength": 3.0}}})
    single, triple = make_learner(HYBRID), make_learner(HYBRID, strong)
    rollout = experience_of(single, HYBRID)
    tripled = experience_of(single, HYBRID)
    tripled.reward *= np.float32(3)
    once, _ = judged(single, tripled)
    strengthened, _ = judged(triple, rollout)
    np.testing.assert_array_equal(once.returns, strengthened.returns)


def test_equal_advantages_are_zero_and_not_divided_by_zero() -> None:
    learner = make_learner(HYBRID, plan(lambd=0.0, behavior={"reward_signals": {"extrinsic": {"gamma": 0.0}}}))
    rollout = experience_of(learner, HYBRID)
    rollout.reward[: rollout.size] = learner._values([rollout.inputs[0][: rollout.size]])[:, 0]
    experience, _ = judged(learner, rollout)
    np.testing.assert_array_equal(experience.advantage, 0.0)


def test_the_values_of_a_large_rollout_are_those_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = make_learner(HYBRID, parallel=True)
    assert learner._critic is not None
    column = np.random.default_rng(0).standard_normal((50, 3), np.float32)
    whole, _ = learner._critic([torch.from_numpy(column)])
    monkeypatch.setattr(ppo, "_VALUE_ROWS", 7)
    np.testing.assert_allclose(learner._values([column]), whole.detach(), atol=1e-6)
    learner.close()


@pytest.mark.parametrize("rows", [64, 67, 79])
def test_every_row_is_used_once_an_epoch_up_to_the_remainder(rows: int) -> None:
    learner = make_learner(HYBRID, plan(batch_size=16, num_epoch=3))
    batches = [batch.tolist() for batch in learner._minibatches(rows)]
    assert len(batches) == 3 * 4
    epochs = [[row for batch in batches[start : start + 4] for row in batch] for start in (0, 4, 8)]
    for epoch in epochs:
        assert len(set(epoch)) == len(epoch) == 64
        assert set(epoch) <= set(range(rows))
    assert epochs[0] != epochs[1] != epochs[2]


def test_a_rollout_smaller_than_a_minibatch_is_one() -> None:
    learner = make_learner(HYBRID, plan(batch_size=16, num_epoch=2))
    assert [sorted(batch.tolist()) for batch in learner._minibatches(5)] == [list(range(5))] * 2


def test_as_many_steps_are_taken_as_there_are_minibatches() -> None:
    learner = make_learner(HYBRID, plan(batch_size=16, num_epoch=3))
    rollout = experience_of(learner, HYBRID, steps=20)
    learner.update(rollout, step=0)
    taken = {float(moments["step"]) for adam in learner._optimizers for moments in adam.state.values()}
    assert taken == {3 * (len(rollout.complete_rows()) // 16)}


def test_an_update_leaves_the_rollout_as_it_is() -> None:
    learner = make_learner(HYBRID, plan(network={"normalize": True}))
    rollout = experience_of(learner, HYBRID)
    before = bits(rollout.state())
    learner.update(rollout, step=0)
    assert bits(rollout.state()) == before


# -- normalization -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_before_the_first_step_every_ratio_is_one(shared: bool, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = make_learner(HYBRID, plan(shared_critic=shared, batch_size=64, network={"normalize": True}))
    learner.update(experience_of(learner, HYBRID, seed=1), step=0)  # so that the normalizer has something to say
    rollout = experience_of(learner, HYBRID, seed=2, masked=masked)
    ratios: list[torch.Tensor] = []

    def recorded(log_prob: torch.Tensor, old: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
        ratios.append((log_prob - old).exp().detach())
        return unchanged(log_prob, old, *rest, **options)

    unchanged = policy_loss
    monkeypatch.setattr(on_policy, "policy_loss", recorded)
    learner.update(rollout, step=0)
    np.testing.assert_allclose(ratios[0], 1.0, atol=2e-6)
    assert (ratios[-1] - 1).abs().max() > 1e-4


def test_the_normalizer_takes_in_each_row_once_and_only_after_the_update() -> None:
    learner = make_learner(HYBRID, plan(num_epoch=4, network={"normalize": True}))
    normalizer = learner.policy.actor.normalizer
    assert normalizer is not None
    assert learner._critic is not None
    assert learner._critic.normalizer is normalizer
    rollout = experience_of(learner, HYBRID)
    learned = rollout.inputs[0][rollout.complete_rows()].astype(np.float64)
    learner.update(rollout, step=0)
    count = 1 + len(learned)
    assert normalizer.count.item() == count
    # From one row of zeros and the rows that were learned from.
    np.testing.assert_allclose(normalizer.mean, learned.sum(axis=0) / count, atol=1e-9)


# -- schedules and clipping ----------------------------------------------------------------------------------------


def test_an_update_reports_what_users_plot_and_nothing_else() -> None:
    learner = make_learner(HYBRID)
    assert set(learner.update(experience_of(learner, HYBRID), step=0)) == {
        "Losses/Policy Loss",
        "Losses/Value Loss",
        "Policy/Beta",
        "Policy/Epsilon",
        "Policy/Extrinsic Value Estimate",
        "Policy/Learning Rate",
    }


def test_learning_rate_epsilon_and_beta_follow_their_schedules_by_the_step() -> None:
    settings = plan(
        learning_rate=1e-3,
        learning_rate_schedule="linear",
        epsilon=0.3,
        beta=0.5,
        behavior={"max_steps": 1000},
    )
    learner = make_learner(HYBRID, settings)
    report = learner.update(experience_of(learner, HYBRID), step=250)
    # Three quarters of the way from the end to the start: 1e-10, 0.1 and 1e-5 are the ends.
    assert report["Policy/Learning Rate"] == pytest.approx(1e-10 + 0.75 * (1e-3 - 1e-10))
    assert report["Policy/Epsilon"] == pytest.approx(0.1 + 0.75 * 0.2)
    assert report["Policy/Beta"] == pytest.approx(1e-5 + 0.75 * (0.5 - 1e-5))
    assert {group["lr"] for adam in learner._optimizers for group in adam.param_groups} == {
        report["Policy/Learning Rate"]
    }


def test_a_small_epsilon_is_not_raised_by_its_schedule() -> None:
    learner = make_learner(HYBRID, plan(epsilon=0.05, epsilon_schedule="linear", behavior={"max_steps": 1000}))
    assert learner.update(experience_of(learner, HYBRID), step=500)["Policy/Epsilon"] == 0.05


def test_at_the_end_of_a_linear_schedule_nothing_moves() -> None:
    learner = make_learner(HYBRID, plan(learning_rate_schedule="linear", behavior={"max_steps": 1000}))
    before = learner.state()
    learner.update(experience_of(learner, HYBRID), step=2000)
    assert moved(before, learner.state()) < 1e-7


def _gradient_norm(module: torch.nn.Module) -> float:
    """Norm of the gradient the last minibatch left."""
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return float(torch.linalg.vector_norm(torch.stack([gradient.norm() for gradient in gradients])))


@pytest.mark.parametrize("shared", [False, True])
def test_gradients_of_actor_and_critic_are_clipped_each_to_the_norm_that_is_set(shared: bool) -> None:
    norms = {}
    for limit in (None, 1e-3):
        learner = make_learner(HYBRID, plan(shared_critic=shared, max_grad_norm=limit))
        learner.update(experience_of(learner, HYBRID), step=0)
        norms[limit] = [_gradient_norm(module) for module in learner._modules()]
    assert len(norms[None]) == (1 if shared else 2)
    assert all(norm > 1e-2 for norm in norms[None])
    np.testing.assert_allclose(norms[1e-3], 1e-3, rtol=1e-3)


def test_a_value_moves_little_further_than_epsilon_in_an_update_however_often_it_is_corrected() -> None:
    travelled = {}
    for epsilon in (0.1, 0.99):
        learner = make_learner(HYBRID, plan(num_epoch=60, batch_size=64, learning_rate=3e-3, epsilon=epsilon))
        rollout = experience_of(learner, HYBRID)
        rollout.reward[: rollout.size] += 100.0
        column = rollout.inputs[0][: rollout.size].copy()
        before = learner._values([column])
        learner.update(rollout, step=0)
        travelled[epsilon] = float(np.abs(learner._values([column]) - before).mean())
    # Adam's momentum carries a little beyond the range.
    assert travelled[0.1] < 0.4
    assert travelled[0.99] > 0.9


def test_the_entropy_bonus_keeps_a_policy_broader() -> None:
    deviations = {}
    for beta in (0.0, 1.0):
        learner = make_learner(behavior(ACTIONS["continuous"]), plan(beta=beta))
        learner.update(experience_of(learner, behavior(ACTIONS["continuous"])), step=0)
        deviations[beta] = float(learner.state()["networks"]["0"]["heads.log_std"].mean())
    assert deviations[1.0] > deviations[0.0] + 0.005


def test_with_a_shared_critic_the_values_learn_through_the_body_of_the_actor() -> None:
    learner = make_learner(HYBRID, plan(shared_critic=True))
    assert learner._shared is not None
    rollout = experience_of(learner, HYBRID)
    before = learner._values([rollout.inputs[0][: rollout.size]])
    learner.update(rollout, step=0)
    assert np.abs(learner._values([rollout.inputs[0][: rollout.size]]) - before).max() > 1e-3
    assert learner.policy.actor is learner._shared.actor
    assert len(learner._optimizers) == 1


def test_a_behavior_that_sees_a_picture_and_a_vector_learns_from_both() -> None:
    sensors = (ObservationSpec.vector(3), ObservationSpec.image(1, 20, 20))
    spec = BehaviorSpec(sensors, ACTIONS["discrete"])
    learner = make_learner(spec, plan(network={"normalize": True}))
    before = learner.state()["networks"]["0"]
    learner.update(experience_of(learner, spec, steps=8), step=0)
    after = learner.state()["networks"]["0"]
    assert after["body.normalizer.count"] > 1
    unmoved = [name for name in before if np.array_equal(before[name], after[name])]
    assert unmoved == []


# -- repeatability -------------------------------------------------------------------------------------------------


def updates(learner: Any, *, count: int = 2, first: int = 0) -> Any:
    """The learner after updates from experience of its own making."""
    for number in range(first, first + count):
        learner.update(experience_of(learner, HYBRID, seed=number, masked=True), step=number)
    return bits(learner.state())


NORMALIZED = plan(network={"normalize": True}, max_grad_norm=0.5)


def test_equal_seeds_give_equal_bits_and_other_seeds_others() -> None:
    first, same, other = (make_learner(HYBRID, NORMALIZED, seed=seed) for seed in (1, 1, 2))
    reference = updates(first)
    assert updates(same) == reference
    weights = [name for name in reference if name.endswith("weight")]
    found = updates(other)
    assert [name for name in weights if found[name] == reference[name]] == []


def test_on_two_threads_the_bits_are_those_of_one() -> None:
    one, two = (make_learner(HYBRID, NORMALIZED, parallel=parallel) for parallel in (False, True))
    assert updates(one) == updates(two)
    two.close()


def test_the_global_generator_of_torch_has_no_influence_and_is_left_alone() -> None:
    reference = updates(make_learner(HYBRID, NORMALIZED), count=1)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert updates(make_learner(HYBRID, NORMALIZED), count=1) == reference
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("shared", [False, True])
def test_a_learner_restored_from_disk_goes_on_as_if_it_had_never_stopped(shared: bool, tmp_path: Path) -> None:
    settings = plan(network={"normalize": True}, shared_critic=shared)
    straight = make_learner(HYBRID, settings)
    updates(straight)
    write_checkpoint(tmp_path / "c.safetensors", straight.state(), step=0)
    restored = make_learner(HYBRID, settings, seed=77)
    restored.restore(read_checkpoint(tmp_path / "c.safetensors")[1])
    assert bits(restored.state()) == bits(straight.state())
    assert updates(restored, first=2) == updates(straight, first=2)


def test_a_state_is_a_copy_that_later_updates_do_not_change() -> None:
    learner = make_learner(HYBRID, NORMALIZED)
    updates(learner)
    state = learner.state()
    before = bits(state)
    updates(learner, first=2)
    assert bits(state) == before


def test_a_frozen_copy_of_the_policy_does_not_learn() -> None:
    learner = make_learner(HYBRID, NORMALIZED)
    frozen = learner.policy.frozen_copy()
    before = frozen.weights_hash()
    updates(learner)
    assert frozen.weights_hash() == before != learner.policy.weights_hash()


# -- other networks ------------------------------------------------------------------------------------------------


def test_a_checkpoint_of_other_networks_is_refused_and_changes_nothing() -> None:
    learner = make_learner(HYBRID)
    before = bits(learner.state())
    larger = make_learner(HYBRID, plan(network={"hidden_units": 12}))
    with pytest.raises(CheckpointError, match=r"Duel: body.*found \(12,.*expected \(8,"):
        learner.restore(larger.state())
    assert bits(learner.state()) == before


def test_what_fits_is_taken_over_and_the_rest_is_named() -> None:
    other = make_learner(behavior(ACTIONS["discrete"]), seed=5)
    learner = make_learner(HYBRID)
    lines = learner.take_over(other.state()["networks"])
    assert lines[0].startswith("Actor: took over ")
    assert any(line.startswith("Actor: heads.mean.weight is new") for line in lines)
    mine, theirs = learner.state()["networks"], other.state()["networks"]
    assert bits(mine["1"]) == bits(theirs["1"])
    assert bits(mine["0"]["heads.logits.weight"]) == bits(theirs["0"]["heads.logits.weight"])


def test_a_run_without_this_behavior_gives_nothing_and_says_so() -> None:
    learner = make_learner(HYBRID)
    before = bits(learner.state())
    assert learner.take_over({}) == ["starts fresh; the other run does not have it"]
    assert bits(learner.state()) == before


def test_networks_of_which_nothing_fits_are_refused() -> None:
    with pytest.raises(CheckpointError, match="nothing in the other run's networks fits"):
        make_learner(HYBRID).take_over({"0": {"strange": np.zeros(3, np.float32)}})


def test_closing_ends_the_second_thread() -> None:
    before = threading.active_count()
    learner = make_learner(HYBRID, parallel=True)
    learner.update(experience_of(learner, HYBRID), step=0)
    assert threading.active_count() == before + 1
    learner.close()
    assert threading.active_count() == before


# -- the value of a future that was cut off ------------------------------------------------------------------------


def chain(learner: Any, *, length: int, episodes: int, interrupted: bool, seed: int) -> Rollout:
    """Episodes of `length` decisions with a reward of 1 each; after the last, an agent is where it began."""
    rollout = Rollout([(length,)], learner.policy.spec.action_spec, capacity=16)
    generator = torch.Generator().manual_seed(seed)
    one = np.ones(episodes, np.float32)
    trajectory = rollout.begin_trajectories(episodes)
    rows: NDArray[Any] = np.zeros(0, np.int64)
    for time in range(length + 1):
        inputs = [np.repeat(np.eye(length, dtype=np.float32)[None, time % length], episodes, axis=0)]
        if time == length and not interrupted:
            rollout.complete(rows, one, terminated=np.ones(episodes, bool))
            break
        status = RowStatus.TAIL if time == length else RowStatus.PENDING
        followers = rollout.append(inputs, None, trajectory, status=status)
        if time:
            rollout.complete(rows, one, next_row=followers)
        if time < length:
            act(learner, rollout, followers, inputs, None, generator)
        rows = followers
    return rollout


def learned_values(*, length: int, interrupted: bool, gamma: float = 0.8) -> list[float]:
    settings = plan(
        batch_size=32,
        num_epoch=4,
        learning_rate=1e-2,
        epsilon=0.9,
        network={"hidden_units": 16},
        behavior={"reward_signals": {"extrinsic": {"gamma": gamma}}},
    )
    learner = make_learner(behavior(ACTIONS["discrete"], size=length), settings)
    for number in range(25):
        learner.update(chain(learner, length=length, episodes=32, interrupted=interrupted, seed=number), step=0)
    values: list[float] = learner._values([np.eye(length, dtype=np.float32)])[:, 0].tolist()
    return values


@pytest.mark.learn
def test_the_value_of_an_interrupted_state_is_that_of_playing_on_for_ever() -> None:
    # One state, reward 1, γ = 0.8: V = 1 / (1 - 0.8) = 5.
    assert learned_values(length=1, interrupted=True) == pytest.approx([5.0], abs=0.1)


@pytest.mark.learn
def test_the_value_of_a_state_that_ends_is_the_finite_sum() -> None:
    # Three states to go: 1 + 0.8 + 0.64, two: 1 + 0.8, one: 1.
    assert learned_values(length=3, interrupted=False) == pytest.approx([2.44, 1.8, 1.0], abs=0.1)
