"""Sensors write what the wire spec says, and refuse what they can't hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.academy import BufferSensor, ImageSensor, RaySensor, Sensor, StackingSensor, VectorSensor
from sparring.errors import SpecError
from sparring.specs import DimensionProperty, ObservationSpec
from tests.networks.builders import goal


def seen(sensor: Sensor) -> np.ndarray:
    out = np.zeros(sensor.spec.shape, np.float32)
    sensor.write(out)
    return out


def test_numbers_are_taken_in_order_and_once() -> None:
    sensor = VectorSensor(6)
    sensor.add(1)
    sensor.add(np.array([[2.0, 3.0]]))
    sensor.add_one_hot(1, 3)
    assert seen(sensor).tolist() == [1.0, 2.0, 3.0, 0.0, 1.0, 0.0]
    with pytest.raises(SpecError, match=r"VectorSensor_size6.*found 0, expected 6"):
        seen(sensor)


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_numbers_is_refused_and_forgotten(count: int) -> None:
    sensor = VectorSensor(2, name="Eyes")
    sensor.add([1.0] * count)
    with pytest.raises(SpecError, match=f"sensor Eyes.*found {count}, expected 2"):
        seen(sensor)
    sensor.add([5.0, 6.0])
    assert seen(sensor).tolist() == [5.0, 6.0]


def test_a_one_hot_index_out_of_range_is_refused() -> None:
    with pytest.raises(SpecError, match="found 3, expected 0 to 2"):
        VectorSensor(3).add_one_hot(3, 3)


def test_a_reset_forgets_what_was_added() -> None:
    vector, buffer = VectorSensor(1), BufferSensor(1, 1)
    vector.add(1.0)
    buffer.append([1.0])
    vector.reset()
    buffer.reset()
    vector.add(2.0)
    assert seen(vector).tolist() == [2.0]
    assert seen(buffer).tolist() == [[0.0]]


def test_images_of_bytes_and_of_numbers_are_the_same_where_they_travel_as_png() -> None:
    levels = np.arange(24).reshape(2, 3, 4).astype(np.uint8)
    of_bytes = seen(ImageSensor(2, 3, 4, lambda: levels))
    of_numbers = seen(ImageSensor(2, 3, 4, lambda: levels / 255.0 + 0.001))
    np.testing.assert_array_equal(of_bytes, of_numbers)
    np.testing.assert_array_equal(of_bytes, (levels / np.float32(255.0)).astype(np.float32))


def test_images_that_do_not_travel_as_png_keep_their_numbers() -> None:
    image = np.random.default_rng(0).random((1, 2, 2))
    np.testing.assert_array_equal(seen(ImageSensor(1, 2, 2, lambda: image, compressed=False)), image.astype(np.float32))


def test_an_image_of_another_shape_is_refused() -> None:
    with pytest.raises(SpecError, match=r"found \(4, 3, 2\), expected \(2, 3, 4\): channels, height, width"):
        seen(ImageSensor(2, 3, 4, lambda: np.zeros((4, 3, 2))))


def test_rays_go_from_the_middle_outwards_right_before_left() -> None:
    sensor = RaySensor(
        ["a"], lambda angles: (np.full(5, -2), np.ones(5, np.float32)), rays_per_direction=2, max_angle=60
    )
    assert sensor.angles.tolist() == [0.0, -30.0, 30.0, -60.0, 60.0]


def test_a_ray_says_what_it_hit_whether_it_hit_and_where() -> None:
    hits = np.array([1, RaySensor.NOTHING, RaySensor.UNTAGGED])
    fractions = np.array([0.5, 1.0, 0.25], np.float32)
    sensor = RaySensor(["ball", "wall"], lambda angles: (hits, fractions), rays_per_direction=1, max_angle=45.0)
    assert seen(sensor).reshape(3, 4).tolist() == [[0, 1, 0, 0.5], [0, 0, 1, 1.0], [0, 0, 0, 0.25]]


@pytest.mark.parametrize(
    ("hits", "message"), [([0], "another number of rays"), ([0, 0, 2], "a tag that the sensor does not know")]
)
def test_wrong_hits_are_refused(hits: list[int], message: str) -> None:
    sensor = RaySensor(
        ["a", "b"], lambda angles: (np.array(hits), np.ones(len(hits), np.float32)), rays_per_direction=1, max_angle=9
    )
    with pytest.raises(SpecError, match=message):
        seen(sensor)


@given(st.lists(st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2), max_size=6))
def test_entities_fill_rows_and_those_too_many_are_left_out(entities: list[list[float]]) -> None:
    sensor = BufferSensor(4, 2)
    for entity in entities:
        sensor.append(entity)
    expected = np.zeros((4, 2), np.float32)
    for row, entity in enumerate(entities[:4]):
        expected[row] = entity
    np.testing.assert_array_equal(seen(sensor), expected)
    assert not seen(sensor).any()


def test_an_entity_of_another_size_is_refused() -> None:
    with pytest.raises(SpecError, match=r"found \(3,\), expected \(2,\)"):
        BufferSensor(4, 2).append([1.0, 2.0, 3.0])


@given(st.lists(st.integers(0, 99), min_size=1, max_size=8), st.integers(1, 4))
def test_a_stack_holds_the_last_observations_oldest_first(values: list[int], stacks: int) -> None:
    inner = VectorSensor(1, name="Place")
    sensor = StackingSensor(inner, stacks)
    assert sensor.spec.name == f"StackingSensor_size{stacks}_Place"
    for value in values:
        inner.add(value)
        found = seen(sensor)
    padded = [0] * stacks + values
    assert found.tolist() == padded[-stacks:]
    sensor.reset()
    inner.add(7)
    assert seen(sensor).tolist() == [0.0] * (stacks - 1) + [7.0]


def test_stacked_images_follow_along_their_channels() -> None:
    images = iter(np.arange(16, dtype=np.uint8).reshape(2, 2, 2, 2))
    sensor = StackingSensor(ImageSensor(2, 2, 2, lambda: next(images)), 2)
    assert sensor.is_compressed
    assert sensor.spec.shape == (4, 2, 2)
    moves = DimensionProperty.TRANSLATIONAL_EQUIVARIANCE
    assert sensor.spec.dimension_property == (DimensionProperty.NONE, moves, moves)
    seen(sensor)
    np.testing.assert_allclose(seen(sensor) * 255, np.arange(16).reshape(4, 2, 2), atol=1e-4)


@pytest.mark.parametrize(("sensor", "stacks"), [(VectorSensor(1), 0), (BufferSensor(2, 2), 2)])
def test_what_can_not_be_stacked_is_refused(sensor: Sensor, stacks: int) -> None:
    with pytest.raises(SpecError, match="can't be stacked"):
        StackingSensor(sensor, stacks)


def test_a_goal_stays_a_goal_when_it_is_stacked() -> None:
    class Goal(VectorSensor):
        @property
        def spec(self) -> ObservationSpec:
            return goal(1, name="Goal")

    assert StackingSensor(Goal(1), 3).spec.observation_type == goal(1).observation_type
