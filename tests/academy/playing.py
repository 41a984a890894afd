"""Plays two environments with the same actions and compares all they show."""

from __future__ import annotations

import numpy as np

from sparring.environments import Environment
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

COLUMNS = ("reward", "group_reward", "agent_id", "group_id")


def play_side_by_side(one: Environment, other: Environment, *, steps: int, reset_at: int | None = None) -> None:
    """Plays by chance; every array has to be equal to the last bit, and every reported statistic."""
    rng = np.random.default_rng(1)
    one.reset()
    other.reset()
    told = 0
    for step in range(steps):
        if step == reset_at:
            one.reset()
            other.reset()
        for name, spec in one.behavior_specs.items():
            asking, ended = one.get_steps(name)
            if name not in other.behavior_specs:  # over the wire a behavior is told when it asks for the first time
                assert len(asking) == len(ended) == 0
                continue
            assert other.behavior_specs[name] == spec
            their_asking, their_ended = other.get_steps(name)
            _compare(asking, their_asking)
            _compare(ended, their_ended)
            told += len(asking) + len(ended)
            actions = ActionBatch.random(spec.action_spec, len(asking), rng, action_mask=asking.action_mask)
            one.set_actions(name, actions)
            other.set_actions(name, actions)
        assert list(one.take_statistics()) == list(other.take_statistics())
        one.step()
        other.step()
    assert told > steps


def _compare(ours: DecisionSteps | TerminalSteps, theirs: DecisionSteps | TerminalSteps) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(ours, column), getattr(theirs, column), strict=True)
    for mine, yours in zip(ours.obs, theirs.obs, strict=True):
        np.testing.assert_array_equal(mine, yours, strict=True)
    if isinstance(ours, TerminalSteps):
        assert isinstance(theirs, TerminalSteps)
        np.testing.assert_array_equal(ours.interrupted, theirs.interrupted)
        return
    assert isinstance(theirs, DecisionSteps)
    assert (ours.action_mask is None) == (theirs.action_mask is None)
    for one, other in zip(ours.action_mask or (), theirs.action_mask or (), strict=True):
        np.testing.assert_array_equal(one, other)
