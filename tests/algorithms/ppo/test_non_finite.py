"""A number that is not finite never stays in a learner: the update is undone to the last bit."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import pytest

from sparring.algorithms import PPOLearner
from sparring.errors import NonFiniteError
from sparring.specs import ActionSpec
from tests.algorithms.builders import ACTIONS, behavior, bits, experience_of, make_learner, plan

HYBRID = behavior()


def without_shuffle(learner: PPOLearner) -> Any:
    """The bits of all but the stream of minibatches, which an undone update has drawn from."""
    return {path: part for path, part in bits(learner.state()).items() if not path.startswith("/shuffle")}


def spoil_reward(rollout: Any) -> None:
    rollout.reward[rollout.complete_rows()[3]] = np.inf


def spoil_observation(rollout: Any) -> None:
    rollout.inputs[0][rollout.complete_rows()[3], 1] = np.nan


def spoil_log_prob(rollout: Any) -> None:
    rollout.log_prob[rollout.complete_rows()[3]] = np.nan


def make_huge(rollout: Any) -> None:
    """Finite rewards whose squares are not."""
    rollout.reward[: rollout.size] *= np.float32(1e30)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize(
    ("shared", "parallel"), [(False, False), (False, True), (True, False)], ids=["apart", "threads", "shared"]
)
@pytest.mark.parametrize("spoil", [spoil_reward, spoil_observation, spoil_log_prob, make_huge])
def test_an_update_that_fails_leaves_every_weight_and_moment_as_it_was(
    spoil: Any, shared: bool, parallel: bool, earlier: int
) -> None:
    settings = plan(shared_critic=shared, network={"normalize": True})
    learner = make_learner(HYBRID, settings, parallel=parallel)
    for number in range(earlier):
        learner.update(experience_of(learner, HYBRID, seed=number), step=0)
    rollout = experience_of(learner, HYBRID, seed=9)
    spoil(rollout)
    before = without_shuffle(learner)
    with pytest.raises(NonFiniteError, match=r"Duel: the update made the .* non-finite"):
        learner.update(rollout, step=0)
    assert without_shuffle(learner) == before
    learner.close()


def test_a_learner_goes_on_after_a_failure_as_if_it_had_not_been() -> None:
    learner, other = make_learner(HYBRID), make_learner(HYBRID)
    rollout = experience_of(learner, HYBRID, seed=9)
    spoil_log_prob(rollout)
    with pytest.raises(NonFiniteError):
        learner.update(rollout, step=0)
    other._shuffle.bit_generator.state = learner._shuffle.bit_generator.state
    for number in range(2):
        for each in (learner, other):
            each.update(experience_of(each, HYBRID, seed=number), step=0)
    assert bits(learner.state()) == bits(other.state())


def test_when_the_actor_fails_the_critic_is_waited_for_before_anything_is_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = make_learner(HYBRID, plan(num_epoch=20), parallel=True)
    rollout = experience_of(learner, HYBRID)
    failed = threading.Event()
    learn_critic = learner._learn_critic

    def fail(*arguments: Any, **options: Any) -> float:
        failed.set()
        raise NonFiniteError("the actor fails at once")

    def learn_late(*arguments: Any, **options: Any) -> float:
        assert failed.wait(60)
        return learn_critic(*arguments, **options)

    monkeypatch.setattr(learner, "_learn_actor", fail)
    monkeypatch.setattr(learner, "_learn_critic", learn_late)
    before = without_shuffle(learner)
    with pytest.raises(NonFiniteError):
        learner.update(rollout, step=0)
    learner.close()
    assert without_shuffle(learner) == before


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("rate", [1e3, 1e6, 1e30])
def test_whatever_the_learning_rate_no_update_leaves_a_policy_that_is_not_finite(
    rate: float, actions: ActionSpec, shared: bool
) -> None:
    spec = behavior(actions)
    learner = make_learner(spec, plan(learning_rate=rate, shared_critic=shared))
    for number in range(6):
        rollout = experience_of(learner, spec, seed=number)
        for column in (rollout.continuous, rollout.log_prob):
            assert np.isfinite(column[: rollout.size]).all()
        with contextlib.suppress(NonFiniteError):
            learner.update(rollout, step=0)
        weights = [array for module in learner.state()["networks"].values() for array in module.values()]
        assert all(np.isfinite(array).all() for array in weights)


def test_a_learning_rate_that_blows_the_weights_up_is_noticed() -> None:
    spec = behavior(ACTIONS["continuous"])
    learner = make_learner(spec, plan(learning_rate=1e6))
    rollout = experience_of(learner, spec)
    with pytest.raises(NonFiniteError, match="lower learning_rate"):
        learner.update(rollout, step=0)
