"""Which sensors are joined, in which order, and which are refused."""

import numpy as np
import pytest

from sparring.errors import SpecError
from sparring.networks import ObservationLayout
from sparring.specs import DimensionProperty, ObservationSpec, ObservationType
from tests.networks.builders import behavior, goal, goal_image, observations

MIXED = behavior(
    ObservationSpec.image(3, 20, 24),
    ObservationSpec.vector(2),
    ObservationSpec.entities(5, 3),
    goal(1),
)


def test_vectors_are_joined_first_and_other_sensors_follow_in_order():
    layout = ObservationLayout(MIXED)
    obs = observations(MIXED, 4)
    vector, image, entities = layout.inputs(obs)
    np.testing.assert_array_equal(vector, np.concatenate((obs[1], obs[3]), axis=1))
    np.testing.assert_array_equal(image, obs[0])
    np.testing.assert_array_equal(entities, obs[2])
    assert layout.vector_size == 3
    assert layout.input_shapes == ((3,), (3, 20, 24), (5, 3))


def test_inputs_keep_the_leading_axes():
    obs = [np.zeros((7, 4, *sensor.shape), np.float32) for sensor in MIXED.observation_specs]
    layout = ObservationLayout(MIXED)
    assert [column.shape for column in layout.inputs(obs)] == [(7, 4, *shape) for shape in layout.input_shapes]


def test_a_single_vector_is_not_copied():
    spec = behavior(ObservationSpec.vector(6))
    obs = observations(spec, 3)
    assert np.shares_memory(ObservationLayout(spec).inputs(obs)[0], obs[0])


def test_other_number_types_become_float32():
    spec = behavior(ObservationSpec.vector(2), ObservationSpec.vector(1))
    joined = ObservationLayout(spec).inputs([np.ones((3, 2)), np.ones((3, 1))])  # type: ignore[list-item]
    assert [column.dtype for column in joined] == [np.float32]


def test_without_vectors_there_is_no_block():
    layout = ObservationLayout(behavior(ObservationSpec.entities(5, 3)))
    assert layout.vector_size == 0
    assert layout.input_shapes == ((5, 3),)
    assert layout.sensor_of_input(0) == 0


def test_inputs_know_their_sensor():
    layout = ObservationLayout(MIXED)
    assert [layout.sensor_of_input(position) for position in (*layout.image_inputs, *layout.entity_inputs)] == [0, 2]


def test_goal_columns_are_those_of_the_joined_block():
    spec = behavior(ObservationSpec.vector(2), goal(2), goal_image(1, 20, 20), ObservationSpec.vector(1), goal(1))
    layout = ObservationLayout(spec)
    assert layout.goal_columns == (2, 3, 5)
    assert layout.goal_images == (0,)


@pytest.mark.parametrize(
    "sensor",
    [
        ObservationSpec((4, 3), (DimensionProperty.NONE,) * 2, name="grid"),
        ObservationSpec((4, 3), (DimensionProperty.UNSPECIFIED,) * 2, name="grid"),
        ObservationSpec((4, 3, 2), (DimensionProperty.NONE,) * 3, name="grid"),
        ObservationSpec((4, 3, 2, 2), (DimensionProperty.UNSPECIFIED,) * 4, name="grid"),
    ],
)
def test_a_sensor_no_encoder_fits_is_refused_by_name(sensor):
    with pytest.raises(SpecError, match=r"'grid'.*no encoder fits") as refused:
        ObservationLayout(behavior(ObservationSpec.vector(1), sensor))
    assert str(sensor.shape) in refused.value.findings[0].found


def test_all_unfit_sensors_are_named_at_once():
    entities = ObservationSpec.entities(2, 2)
    goals = ObservationSpec(entities.shape, entities.dimension_property, ObservationType.GOAL_SIGNAL, "aims")
    unknown = ObservationSpec((4, 3), (DimensionProperty.NONE,) * 2)
    with pytest.raises(SpecError) as refused:
        ObservationLayout(behavior(goals, unknown))
    assert [finding.where for finding in refused.value.findings] == ["sensor 'aims'", "sensor 1"]


def test_images_without_properties_are_images():
    unspecified = ObservationSpec((3, 20, 20), (DimensionProperty.UNSPECIFIED,) * 3)
    assert ObservationLayout(behavior(unspecified)).image_inputs == (0,)
