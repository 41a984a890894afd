"""Batches of agents as columns, and the actions they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.errors import SpecError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from tests.builders import decisions, terminals

HYBRID = ActionSpec.create_hybrid(2, (3, 4))
TWO_SENSORS = BehaviorSpec((ObservationSpec.vector(3), ObservationSpec.image(1, 2, 2)), HYBRID)


def test_an_agent_is_looked_up_by_its_id_whatever_its_row() -> None:
    steps = decisions([7, 3], obs=[[[1, 2], [3, 4]]], reward=[0.5, -1], group_reward=[0, 2], group_id=[0, 5])
    found = steps[3]
    assert found.obs[0].tolist() == [3, 4]
    assert (found.reward, found.agent_id, found.group_id, found.group_reward) == (-1, 3, 5, 2)
    assert steps.agent_id_to_index == {7: 0, 3: 1}


def test_a_decision_step_holds_its_own_row_of_every_branch_of_the_mask() -> None:
    steps = decisions([7, 3], action_mask=[[[True, False], [False, True]], [[False], [True]]])
    mask = steps[3].action_mask
    assert mask is not None
    assert [branch.tolist() for branch in mask] == [[False, True], [True]]
    assert decisions([7])[7].action_mask is None


def test_a_terminal_step_tells_an_interruption_from_an_end() -> None:
    steps = terminals([7, 3], interrupted=[False, True], reward=[1, 2], group_reward=[3, 4], group_id=[5, 6])
    assert (steps[7].interrupted, steps[3].interrupted) == (False, True)
    assert (steps[3].reward, steps[3].group_reward, steps[3].group_id, steps[3].agent_id) == (2, 4, 6, 3)


@pytest.mark.parametrize("steps", [decisions([4, 9]), terminals([4, 9])])
def test_steps_are_mappings_of_agents(steps: DecisionSteps | TerminalSteps) -> None:
    assert len(steps) == 2
    assert list(steps) == [4, 9]
    assert (9 in steps, 5 in steps) == (True, False)
    with pytest.raises(KeyError):
        steps[5]


def test_empty_steps_have_every_sensor_and_nobody() -> None:
    for steps in (DecisionSteps.empty(TWO_SENSORS), TerminalSteps.empty(TWO_SENSORS)):
        assert [sensor.shape for sensor in steps.obs] == [(0, 3), (0, 1, 2, 2)]
        assert all(sensor.dtype == np.float32 for sensor in steps.obs)
        assert len(steps) == 0
        assert dict(steps) == {}


def test_zero_actions_are_of_the_shape_the_spec_declares() -> None:
    batch = ActionBatch.zeros(HYBRID, 5)
    batch.validate(HYBRID, 5)
    assert len(batch) == 5
    assert not batch.continuous.any()
    assert not batch.discrete.any()


@given(seed=st.integers(0, 2**32), agents=st.integers(0, 20), masked=st.booleans())
def test_random_actions_fit_the_spec_and_the_mask(seed: int, agents: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    mask = [rng.random((agents, size)) < 0.6 for size in HYBRID.discrete_branches] if masked else None
    batch = ActionBatch.random(HYBRID, agents, rng, action_mask=mask)
    batch.validate(HYBRID, agents)
    assert (np.abs(batch.continuous) <= 1).all()
    for branch, blocked in enumerate(mask or []):
        chosen = blocked[np.arange(agents), batch.discrete[:, branch]]
        assert (~chosen | blocked.all(axis=1)).all()


def test_random_choices_are_uniform_over_what_is_available() -> None:
    mask = [np.tile([True, False, False], (9000, 1)), np.tile([True] * 4, (9000, 1))]
    batch = ActionBatch.random(HYBRID, 9000, np.random.default_rng(0), action_mask=mask)
    # 4500 ± 47 and 2250 ± 41 are expected; eight deviations are allowed. Where nothing is available, all is.
    np.testing.assert_allclose(np.bincount(batch.discrete[:, 0], minlength=3), [0, 4500, 4500], atol=380)
    np.testing.assert_allclose(np.bincount(batch.discrete[:, 1], minlength=4), 2250, atol=330)
    np.testing.assert_allclose(batch.continuous.mean(axis=0), 0, atol=0.05)


@pytest.mark.parametrize(
    ("continuous", "discrete", "message"),
    [
        (np.zeros((1, 2)), np.zeros((2, 2)), r"continuous actions; found \(1, 2\), expected \(2, 2\)"),
        (np.zeros((2, 3)), np.zeros((2, 2)), r"continuous actions; found \(2, 3\)"),
        (np.zeros((2, 2)), np.zeros((2, 1)), r"discrete actions; found \(2, 1\), expected \(2, 2\)"),
        (np.array([[0, 0], [0, np.nan]]), np.zeros((2, 2)), "continuous action 1 of row 1 is not finite"),
        (np.array([[np.inf, 0], [0, 0]]), np.zeros((2, 2)), "continuous action 0 of row 0 is not finite"),
        (np.zeros((2, 2)), np.array([[0, 0], [0, 4]]), "branch 1 of row 1; found 4, expected 0 to 3"),
        (np.zeros((2, 2)), np.array([[-1, 0], [0, 0]]), "branch 0 of row 0; found -1, expected 0 to 2"),
    ],
)
def test_actions_that_do_not_fit_are_refused_with_their_place(
    continuous: NDArray[Any], discrete: NDArray[Any], message: str
) -> None:
    batch = ActionBatch(continuous.astype(np.float32), discrete.astype(np.int32))
    with pytest.raises(SpecError, match=message) as caught:
        batch.validate(HYBRID, 2, behavior="Striker?team=0")
    assert "Striker?team=0" in str(caught.value)
