"""How the sensors of a behavior become the inputs of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparring.errors import Finding, SpecError
from sparring.specs import BehaviorSpec, DimensionProperty, ObservationSpec, ObservationType

__all__ = ["ObservationLayout"]

_MOVES = DimensionProperty.TRANSLATIONAL_EQUIVARIANCE
_IMAGE_PROPERTIES = (
    (DimensionProperty.NONE, _MOVES, _MOVES),
    (DimensionProperty.UNSPECIFIED,) * 3,
)
_ENTITY_PROPERTIES = (DimensionProperty.VARIABLE_SIZE, DimensionProperty.NONE)


@dataclass(frozen=True)
class ObservationLayout:
    """Which sensors are joined and which are inputs of their own.

    All rank-1 sensors are joined, in order, into one block, the first input; every other sensor is an input of its
    own, in order. A behavior without rank-1 sensors has no such block.

    Attributes:
        spec: the behavior this is the layout of.
        vector_sensors: indices of the sensors joined into the block.
        other_sensors: indices of the sensors that are inputs of their own.
        vector_size: width of the joined block; 0 without rank-1 sensors.
        input_shapes: shape of each input without its batch axis.

    Raises:
        SpecError: a sensor is neither a vector, an image nor a list of entities, or a goal is a list of entities.
    """

    spec: BehaviorSpec
    vector_sensors: tuple[int, ...] = field(init=False)
    other_sensors: tuple[int, ...] = field(init=False)
    vector_size: int = field(init=False)
    input_shapes: tuple[tuple[int, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        sensors = self.spec.observation_specs
        findings = [finding for index in range(len(sensors)) if (finding := self._unusable(index)) is not None]
        if findings:
            raise SpecError(findings)
        vectors = tuple(index for index, sensor in enumerate(sensors) if len(sensor.shape) == 1)
        others = tuple(index for index, sensor in enumerate(sensors) if len(sensor.shape) > 1)
        size = sum(sensors[index].size for index in vectors)
        block: tuple[tuple[int, ...], ...] = ((size,),) if vectors else ()
        for name, value in (
            ("vector_sensors", vectors),
            ("other_sensors", others),
            ("vector_size", size),
            ("input_shapes", block + tuple(sensors[index].shape for index in others)),
        ):
            object.__setattr__(self, name, value)

    @property
    def image_inputs(self) -> tuple[int, ...]:
        """Positions, among the inputs, of the images."""
        return tuple(position for position, shape in enumerate(self.input_shapes) if len(shape) == 3)

    @property
    def entity_inputs(self) -> tuple[int, ...]:
        """Positions, among the inputs, of the lists of entities."""
        return tuple(position for position, shape in enumerate(self.input_shapes) if len(shape) == 2)

    @property
    def goal_columns(self) -> tuple[int, ...]:
        """Columns of the joined block that are goals."""
        columns: list[int] = []
        start = 0
        for index in self.vector_sensors:
            size = self.spec.observation_specs[index].size
            if self._is_goal(index):
                columns.extend(range(start, start + size))
            start += size
        return tuple(columns)

    @property
    def goal_images(self) -> tuple[int, ...]:
        """Positions, among the images, of those that are goals."""
        images = [index for index in self.other_sensors if len(self.spec.observation_specs[index].shape) == 3]
        return tuple(position for position, index in enumerate(images) if self._is_goal(index))

    def sensor_of_input(self, position: int) -> int:
        """Index of the sensor behind an input that is not the joined block."""
        return self.other_sensors[position - (1 if self.vector_sensors else 0)]

    def title(self, index: int) -> str:
        """What to call a sensor in a message: its name, or its place where it has none."""
        name = self.spec.observation_specs[index].name
        return f"sensor {name!r}" if name else f"sensor {index}"

    def inputs(self, obs: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Joins the rank-1 sensors.

        Args:
            obs: one array a sensor, `[..., *sensor shape]`; all leading axes are equal.

        Returns:
            Float32 `[..., *input shape]` for each input; shares memory with `obs` wherever nothing had to be joined
            or converted.
        """
        columns: list[NDArray[np.float32]] = []
        if len(self.vector_sensors) == 1:
            columns.append(np.asarray(obs[self.vector_sensors[0]], np.float32))
        elif self.vector_sensors:
            joined = np.concatenate([obs[index] for index in self.vector_sensors], axis=-1)
            columns.append(np.asarray(joined, np.float32))
        columns.extend(np.asarray(obs[index], np.float32) for index in self.other_sensors)
        return columns

    def _is_goal(self, index: int) -> bool:
        return self.spec.observation_specs[index].observation_type == ObservationType.GOAL_SIGNAL

    def _unusable(self, index: int) -> Finding | None:
        sensor = self.spec.observation_specs[index]
        if not _is_known(sensor):
            return Finding(
                "no encoder fits this observation",
                where=self.title(index),
                found=f"shape {sensor.shape} with properties {tuple(int(p) for p in sensor.dimension_property)}",
                expected="a vector (rank 1), an image (rank 3, channels first) or a list of entities (rank 2)",
                cure="give entities the properties (4, 1), images (1, 2, 2) or (0, 0, 0); make anything else a vector",
            )
        if len(sensor.shape) == 2 and self._is_goal(index):
            return Finding(
                "a list of entities cannot be a goal",
                where=self.title(index),
                cure="send the goal as a vector or an image, or mark the list as an ordinary observation",
            )
        return None


def _is_known(sensor: ObservationSpec) -> bool:
    rank = len(sensor.shape)
    if rank == 1:
        return True
    if rank == 2:
        return sensor.dimension_property == _ENTITY_PROPERTIES
    return rank == 3 and sensor.dimension_property in _IMAGE_PROPERTIES
