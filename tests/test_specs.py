"""Behavior names, observation specs and action specs say what they mean and refuse what cannot be."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.errors import SpecError
from sparring.specs import (
    ActionSpec,
    BehaviorId,
    BehaviorSpec,
    DimensionProperty,
    ObservationSpec,
    ObservationType,
)

names = st.text(st.characters(exclude_characters="?", codec="utf-8"), min_size=1)


@given(name=names, team=st.integers(0, 2**31 - 1))
def test_a_behavior_id_reads_back_as_it_was_written(name: str, team: int) -> None:
    assert BehaviorId.parse(str(BehaviorId(name, team))) == BehaviorId(name, team)


def test_a_name_without_a_team_is_of_team_0() -> None:
    assert BehaviorId.parse("Striker") == BehaviorId("Striker", 0)
    assert BehaviorId.parse("Striker?skill=3") == BehaviorId("Striker", 0)


def test_the_team_is_found_among_other_parameters() -> None:
    assert BehaviorId.parse("Striker?skill=3&team=7") == BehaviorId("Striker", 7)


@pytest.mark.parametrize("team", ["-1", "1.5", "red", "", "1 2", "٣", "2147483648", "9" * 5000])
def test_a_team_that_is_no_whole_number_is_refused_by_name(team: str) -> None:
    with pytest.raises(SpecError, match="'Striker' has a team"):
        BehaviorId.parse(f"Striker?team={team}")


def test_a_message_about_a_team_stays_short_whatever_was_sent() -> None:
    with pytest.raises(SpecError) as caught:
        BehaviorId.parse("Striker?team=" + "9" * 5000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["", "?team=1"])
def test_a_behavior_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="no name"):
        BehaviorId.parse(text)


def test_behavior_ids_sort_by_name_and_then_by_team_as_numbers() -> None:
    ids = [BehaviorId("b", 0), BehaviorId("a", 10), BehaviorId("a", 9)]
    assert sorted(ids) == [BehaviorId("a", 9), BehaviorId("a", 10), BehaviorId("b", 0)]


def test_the_makers_of_observation_specs_set_the_properties_the_wire_knows() -> None:
    assert ObservationSpec.vector(8).dimension_property == (DimensionProperty.NONE,)
    assert [int(p) for p in ObservationSpec.image(3, 20, 30).dimension_property] == [1, 2, 2]
    assert [int(p) for p in ObservationSpec.entities(20, 3).dimension_property] == [4, 1]
    assert ObservationSpec.image(3, 20, 30).shape == (3, 20, 30)
    assert ObservationSpec.vector(8).observation_type == ObservationType.DEFAULT


def test_the_size_of_an_observation_is_exact_however_large() -> None:
    assert ObservationSpec.image(3, 20, 30).size == 1800
    # 2**80 does not fit an int64: a product in NumPy gives 0.
    assert ObservationSpec.entities(2**40, 2**40).size == 2**80


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (-1,)])
def test_a_sensor_with_an_empty_dimension_is_refused_by_name(shape: tuple[int, ...]) -> None:
    with pytest.raises(SpecError, match="'Ray'"):
        ObservationSpec(shape, (DimensionProperty.NONE,) * len(shape), name="Ray")


def test_a_sensor_needs_one_property_for_each_dimension() -> None:
    with pytest.raises(SpecError, match=r"'Ray' has 2 dimensions; found 1 dimension properties, expected 2"):
        ObservationSpec((3, 4), (DimensionProperty.NONE,), name="Ray")


def test_action_specs_tell_their_kind() -> None:
    continuous = ActionSpec.create_continuous(2)
    discrete = ActionSpec.create_discrete([3, 4])
    hybrid = ActionSpec.create_hybrid(2, [3, 4])
    assert (continuous.is_continuous(), continuous.is_discrete()) == (True, False)
    assert (discrete.is_continuous(), discrete.is_discrete()) == (False, True)
    assert (hybrid.is_continuous(), hybrid.is_discrete()) == (False, False)
    assert (hybrid.continuous_size, hybrid.discrete_size, hybrid.total_choices) == (2, 2, 7)


@pytest.mark.parametrize(("continuous", "branches"), [(-1, ()), (0, (3, 0)), (2, (-1,))])
def test_an_action_spec_with_a_negative_size_or_an_empty_branch_is_refused(
    continuous: int, branches: tuple[int, ...]
) -> None:
    with pytest.raises(SpecError, match="negative size or an empty branch"):
        ActionSpec(continuous, branches)


def test_a_behavior_without_sensor_or_without_action_is_refused() -> None:
    with pytest.raises(SpecError, match="no sensor"):
        BehaviorSpec((), ActionSpec.create_continuous(1))
    with pytest.raises(SpecError, match="no action"):
        BehaviorSpec((ObservationSpec.vector(1),), ActionSpec())


def test_specs_are_values() -> None:
    one = BehaviorSpec((ObservationSpec.vector(3),), ActionSpec.create_discrete([2]))
    other = BehaviorSpec((ObservationSpec.vector(3),), ActionSpec.create_discrete([2]))
    assert {one: "found"}[other] == "found"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.action_spec = ActionSpec.create_continuous(1)  # type: ignore[misc]
