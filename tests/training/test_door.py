"""Nothing that is not finite passes the door, and the message says where it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.errors import NonFiniteError
from sparring.specs import ActionSpec, BehaviorId, BehaviorSpec, ObservationSpec
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.training.door import check_steps, clean_steps, first_fault
from tests.builders import decisions, terminals

STRIKER = BehaviorId("Striker", 1)
SPEC = BehaviorSpec(
    (ObservationSpec.vector(8, name="Ray"), ObservationSpec.image(1, 2, 3)), ActionSpec.create_discrete((2,))
)
EVIL = pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
EITHER = pytest.mark.parametrize("build", [decisions, terminals])


def refused(steps: DecisionSteps | TerminalSteps) -> str:
    with pytest.raises(NonFiniteError) as caught:
        check_steps(STRIKER, SPEC, steps, environment_step=50)
    return str(caught.value)


@EVIL
@EITHER
def test_an_observation_is_refused_with_behavior_agent_sensor_index_and_step(build: Any, number: float) -> None:
    steps = build([4, 3], spec=SPEC)
    steps.obs[0][1, 7] = number
    message = refused(steps)
    assert message.startswith("Striker?team=1, agent 3, index 7, environment step 50: ")
    assert "sensor Ray" in message
    assert f"found {number}" in message


def test_a_sensor_without_a_name_is_told_by_its_place_and_a_pixel_by_all_its_indices() -> None:
    steps = decisions([4, 3], spec=SPEC)
    steps.obs[1][0, 0, 1, 2] = np.nan
    message = refused(steps)
    assert "agent 4, index (0, 1, 2)," in message
    assert "sensor 1" in message


@EVIL
@EITHER
@pytest.mark.parametrize("column", ["reward", "group_reward"])
def test_a_reward_is_refused_with_behavior_agent_and_step(build: Any, column: str, number: float) -> None:
    steps = build([4, 3], spec=SPEC, **{column: [0, number]})
    message = refused(steps)
    assert message.startswith(
        f"Striker?team=1, agent 3, environment step 50: the game sent a {column.replace('_', ' ')}"
    )


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_an_infinite_match_score_is_refused(number: float) -> None:
    assert "match score" in refused(terminals([4, 3], spec=SPEC, match_score=[0, number]))


@EITHER
def test_the_message_tells_how_to_go_on(build: Any) -> None:
    assert "non_finite: drop" in refused(build([4], spec=SPEC, reward=[np.nan]))


@EITHER
def test_finite_numbers_pass_untouched_whatever_their_size(build: Any) -> None:
    # Their sum is infinite, and so is that of the observations; each by itself is not.
    steps = build([4, 3], spec=SPEC, reward=[3e38, 3e38], group_reward=[-3e38, 0])
    steps.obs[0][:] = 3e38
    assert first_fault(STRIKER, SPEC, steps, environment_step=0) is None
    assert not clean_steps(SPEC, steps).any()
    assert (steps.obs[0] == np.float32(3e38)).all()


def test_numbers_that_cancel_out_do_not_hide_an_infinity() -> None:
    steps = decisions([4, 3], spec=SPEC, reward=[np.inf, -np.inf])
    assert "agent 4" in refused(steps)


def test_a_match_without_a_score_passes() -> None:
    steps = terminals([4, 3], spec=SPEC, match_score=[1, np.nan])
    assert first_fault(STRIKER, SPEC, steps, environment_step=0) is None
    assert not clean_steps(SPEC, steps).any()
    assert steps.match_score is not None
    assert np.isnan(steps.match_score[1])


def test_nobody_passes() -> None:
    assert first_fault(STRIKER, SPEC, DecisionSteps.empty(SPEC), environment_step=0) is None
    assert clean_steps(SPEC, TerminalSteps.empty(SPEC)).shape == (0,)


@given(data=st.data())
def test_cleaning_marks_and_zeroes_exactly_what_is_not_finite(data: st.DataObject) -> None:
    agents = data.draw(st.integers(1, 5))
    steps = terminals(list(range(agents)), spec=SPEC, match_score=[0.5] * agents)
    assert steps.match_score is not None
    columns = [*steps.obs, steps.reward, steps.group_reward, steps.match_score]
    for column in columns:
        column[:] = 1.0
    evil = st.sampled_from([np.nan, np.inf, -np.inf])
    places = [(index, place) for index, column in enumerate(columns) for place in np.ndindex(column.shape)]
    hit = data.draw(st.dictionaries(st.sampled_from(places), evil, max_size=4))
    # A score that is NaN is one the game does not give.
    hit = {spot: np.inf if spot[0] == 4 else number for spot, number in hit.items()}
    for (index, place), number in hit.items():
        columns[index][place] = number
    bad = clean_steps(SPEC, steps)
    assert bad.tolist() == [any(place[0] == row for _, place in hit) for row in range(agents)]
    scores = places[-agents:]
    assert [bool(np.isnan(steps.match_score[place])) for _, place in scores] == [spot in hit for spot in scores]
    for index, place in places[:-agents]:
        assert columns[index][place] == (0.0 if (index, place) in hit else 1.0)
