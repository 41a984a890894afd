"""Who acts for whom: one pass a policy, one draw for everybody, whatever the rows, teams and threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.networks import ActionDistribution, Actor
from sparring.networks.policy import Policy
from sparring.selfplay import LIVE
from sparring.settings import NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.training.acting import Asking, act_for_all, joined_mask
from tests.builders import decisions

ACTIONS = {
    "continuous": ActionSpec.create_continuous(2),
    "discrete": ActionSpec.create_discrete((3, 4)),
    "hybrid": ActionSpec.create_hybrid(2, (3, 4)),
}
each_kind = pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)


def policy(actions: ActionSpec, *, seed: int) -> Policy:
    """A policy whose deviations are its own too."""
    spec = BehaviorSpec((ObservationSpec.vector(3),), actions)
    settings = NetworkSettings(hidden_units=8, num_layers=1)
    actor: Any = Actor(spec, settings, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for name, parameter in actor.named_parameters():
            parameter.mul_(4.0 if name.endswith("weight") else 1.0).add_(0.01 * seed)
    return Policy(spec, actor, device=torch.device("cpu"))


class Cast:
    """Policies by player number, and how often each was asked for."""

    def __init__(self, actions: ActionSpec) -> None:
        self.policies = {LIVE: policy(actions, seed=1), 0: policy(actions, seed=20), 5: policy(actions, seed=40)}
        self.asked: list[int] = []

    def __call__(self, number: int) -> Policy:
        self.asked.append(number)
        return self.policies[number]


def asking(players: list[int], *, seed: int, mask: NDArray[Any] | None = None) -> Asking:
    inputs = [np.random.default_rng(seed).standard_normal((len(players), 3), np.float32)]
    return Asking(inputs, mask, np.array(players, np.int64))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@pytest.fixture
def second_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@each_kind
def test_every_row_is_decided_by_the_policy_that_sits_there(actions: ActionSpec) -> None:
    cast = Cast(actions)
    groups = [asking([0, LIVE, 5, LIVE, 0], seed=1), asking([5, 5, 0], seed=2)]
    act_for_all(groups, cast, generator(), deterministic=False)
    for group in groups:
        assert group.output is not None
        assert group.output.log_prob is not None
        for row, number in enumerate(group.player.tolist()):
            alone = Asking([group.inputs[0][row : row + 1]], None, group.player[row : row + 1])
            expected = _log_prob(cast.policies[number], alone, group.output.rows(slice(row, row + 1)))
            assert group.output.log_prob[row] == pytest.approx(expected, abs=1e-4)
            others = [other for other in cast.policies if other != number]
            strangers = [
                _log_prob(cast.policies[other], alone, group.output.rows(slice(row, row + 1))) for other in others
            ]
            assert all(abs(stranger - expected) > 1e-3 for stranger in strangers)


def _log_prob(acting: Policy, group: Asking, output: Any) -> float:
    with torch.no_grad():
        parameters, _ = acting.actor([torch.from_numpy(group.inputs[0])])
        distribution = ActionDistribution(parameters, acting.spec.action_spec)
        continuous, discrete = torch.from_numpy(output.continuous), torch.from_numpy(output.discrete)
        return float(distribution.log_prob(continuous, discrete)[0])


@each_kind
def test_the_game_is_sent_what_was_chosen(actions: ActionSpec) -> None:
    groups = [asking([0, LIVE, 5], seed=1), asking([LIVE, 5], seed=2)]
    act_for_all(groups, Cast(actions), generator())
    for group in groups:
        assert group.output is not None
        assert group.actions is not None
        group.actions.validate(actions, len(group.player))
        np.testing.assert_allclose(group.actions.continuous, np.clip(group.output.continuous, -3, 3) / 3, atol=1e-7)
        np.testing.assert_array_equal(group.actions.discrete, group.output.discrete)


def test_each_policy_is_asked_for_once_however_many_agents_and_teams_it_acts_for() -> None:
    cast = Cast(ACTIONS["discrete"])
    act_for_all([asking([0, LIVE, 0, 5], seed=1), asking([LIVE, 0], seed=2)], cast, generator())
    assert sorted(cast.asked) == [LIVE, 0, 5]


@each_kind
def test_a_second_thread_changes_no_bit(actions: ActionSpec, second_thread: ThreadPoolExecutor) -> None:
    outputs = []
    for pool in (None, second_thread):
        group = asking([0, LIVE, 5, LIVE, 0], seed=1)
        act_for_all([group], Cast(actions), generator(), second_thread=pool)
        assert group.output is not None
        outputs.append(group.output)
    for name in ("continuous", "discrete", "log_prob", "entropy"):
        np.testing.assert_array_equal(getattr(outputs[0], name), getattr(outputs[1], name))


@each_kind
def test_equal_streams_give_equal_actions_and_go_on_differently(actions: ActionSpec) -> None:
    def draw(stream: torch.Generator) -> Any:
        group = asking([LIVE] * 40, seed=1)
        act_for_all([group], Cast(actions), stream)
        assert group.actions is not None
        return group.actions.continuous.tolist(), group.actions.discrete.tolist()

    stream = generator()
    first, second = draw(stream), draw(stream)
    assert draw(generator()) == first != second


def test_the_learner_takes_its_most_likely_action_if_so_set_and_snapshots_do_not() -> None:
    cast = Cast(ACTIONS["hybrid"])
    players = [LIVE, 0] * 200
    group = asking(players, seed=1)
    group.inputs[0][:] = group.inputs[0][0]
    act_for_all([group], cast, generator(), deterministic=True)
    assert group.output is not None
    learner, snapshot = (group.output.discrete[group.player == number] for number in (LIVE, 0))
    assert len(np.unique(learner, axis=0)) == 1
    assert len(np.unique(snapshot, axis=0)) > 1
    best = cast.policies[LIVE].act([group.inputs[0][:1]], None, generator(), deterministic=True)
    np.testing.assert_array_equal(learner[0], best.discrete[0])
    np.testing.assert_allclose(group.output.continuous[0], best.continuous[0], atol=1e-5)


def test_a_choice_that_is_masked_is_never_taken_whoever_sits_there() -> None:
    rng = np.random.default_rng(0)
    mask = rng.random((300, 7)) < 0.6
    mask[:, [0, 3]] = False
    group = asking(([LIVE, 0, 5] * 100), seed=1, mask=mask)
    act_for_all([group], Cast(ACTIONS["discrete"]), generator())
    assert group.actions is not None
    chosen = group.actions.discrete + np.array([0, 3])
    assert not mask[np.arange(300)[:, None], chosen].any()


def test_teams_with_and_without_masks_act_together() -> None:
    masked = asking([LIVE] * 100, seed=1, mask=np.tile([False, True, True, True, True, True, False], (100, 1)))
    free = asking([LIVE] * 100, seed=2)
    act_for_all([free, masked], Cast(ACTIONS["discrete"]), generator())
    assert masked.actions is not None
    assert free.actions is not None
    assert masked.actions.discrete.tolist() == [[0, 3]] * 100
    assert len(np.unique(free.actions.discrete, axis=0)) > 3


def test_the_masks_of_all_branches_are_joined_in_their_order() -> None:
    decision = decisions([1, 2], action_mask=[[[True, False], [False, False]], [[False], [True]]])
    joined = joined_mask(decision)
    assert joined is not None
    assert joined.tolist() == [[True, False, False], [False, False, True]]
    assert joined_mask(decisions([1, 2])) is None
