"""What an agent perceives: sensors that write its observations (wire spec 6.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparring.errors import SpecError
from sparring.specs import DimensionProperty, ObservationSpec

__all__ = ["BufferSensor", "CastRays", "ImageSensor", "RaySensor", "Sensor", "StackingSensor", "VectorSensor"]

FloatArray: TypeAlias = NDArray[np.float32]


class Sensor(ABC):
    """One of the things an agent perceives with. Subclass it for a sensor of your own.

    An agent's sensors are put in the order of their names; `obs_0` of a model is the first of them.
    """

    @property
    @abstractmethod
    def spec(self) -> ObservationSpec:
        """Name, shape and meaning of an observation, the same for ever."""

    @abstractmethod
    def write(self, out: FloatArray) -> None:
        """Writes what is perceived now.

        Called once for every decision, and once more when an episode ends.

        Args:
            out: float32 zeros of the spec's shape.
        """

    def reset(self) -> None:  # noqa: B027 - most sensors remember nothing
        """Forgets what belongs to the episode that ended."""

    @property
    def is_compressed(self) -> bool:
        """Whether an image travels as PNG; its values must be multiples of 1/255 then."""
        return False


class VectorSensor(Sensor):
    """A flat list of numbers, filled anew for every decision.

    Args:
        size: how many numbers.
        name: `VectorSensor_size<size>` without one.
    """

    def __init__(self, size: int, *, name: str | None = None) -> None:
        self._spec = ObservationSpec.vector(size, name=name or f"VectorSensor_size{size}")
        self._values: list[float] = []

    @property
    def spec(self) -> ObservationSpec:
        """Name and shape of an observation."""
        return self._spec

    def add(self, values: ArrayLike) -> None:
        """Appends a number, or the numbers of an array in its order."""
        self._values.extend(np.asarray(values, np.float32).reshape(-1).tolist())

    def add_one_hot(self, index: int, size: int) -> None:
        """Appends `size` zeros, with a one at `index`.

        Raises:
            SpecError: there is no such index.
        """
        if not 0 <= index < size:
            raise SpecError(
                "a one-hot index is out of range",
                where=f"sensor {self._spec.name}",
                found=str(index),
                expected=f"0 to {size - 1}",
            )
        self._values.extend(1.0 if place == index else 0.0 for place in range(size))

    def write(self, out: FloatArray) -> None:
        """Writes what was added since the last time.

        Raises:
            SpecError: more or fewer numbers were added than the sensor has.
        """
        values, self._values = self._values, []
        if len(values) != len(out):
            raise SpecError(
                "an agent added another number of observations than its sensor has",
                where=f"sensor {self._spec.name}",
                found=str(len(values)),
                expected=str(len(out)),
                cure="add as many in every call of collect_observations as the sensor's size says",
            )
        out[:] = values

    def reset(self) -> None:
        """Forgets what was added."""
        self._values.clear()


class ImageSensor(Sensor):
    """A picture.

    Args:
        channels, height, width: of the picture.
        render: gives it: `[channels, height, width]`, bytes (uint8) or numbers between 0 and 1.
        name: of the sensor.
        compressed: it travels as PNG over the wire, and has 256 levels everywhere. Otherwise as float32.
    """

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        render: Callable[[], NDArray[Any]],
        *,
        name: str = "CameraSensor",
        compressed: bool = True,
    ) -> None:
        self._spec = ObservationSpec.image(channels, height, width, name=name)
        self._render = render
        self._compressed = compressed

    @property
    def spec(self) -> ObservationSpec:
        """Name and shape of an observation."""
        return self._spec

    @property
    def is_compressed(self) -> bool:
        """Whether it travels as PNG."""
        return self._compressed

    def write(self, out: FloatArray) -> None:
        """Writes the picture as it is now.

        Raises:
            SpecError: it has another shape than the sensor.
        """
        image = self._render()
        if image.shape != out.shape:
            raise SpecError(
                "a picture has another shape than its sensor",
                where=f"sensor {self._spec.name}",
                found=str(image.shape),
                expected=f"{out.shape}: channels, height, width",
            )
        if image.dtype == np.uint8:
            np.divide(image, np.float32(255.0), out=out, dtype=np.float32)
        elif self._compressed:
            np.divide(np.rint(image.clip(0.0, 1.0) * 255.0), np.float32(255.0), out=out, dtype=np.float32)
        else:
            out[:] = image


class CastRays(Protocol):
    """Casts the rays of a `RaySensor`."""

    def __call__(self, angles: NDArray[np.float64], /) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """What each ray hits and where.

        Args:
            angles: `[rays]`, degrees from straight ahead, to the left is positive.

        Returns:
            `[rays]` the index of the tag that was hit, `RaySensor.UNTAGGED` for something without one of the tags,
            `RaySensor.NOTHING`; and `[rays]` the fraction of the ray's length up to there, 1 for nothing.
        """
        ...


class RaySensor(Sensor):
    """A fan of rays: each gives a one-hot tag, whether nothing was hit, and the fraction of its length.

    Args:
        tags: names of what it tells apart.
        cast: casts the rays in the game.
        rays_per_direction: rays on either side of the middle one.
        max_angle: degrees from the middle to the outermost ray.
        name: of the sensor.
    """

    NOTHING = -2
    UNTAGGED = -1

    def __init__(
        self,
        tags: Sequence[str],
        cast: CastRays,
        *,
        rays_per_direction: int,
        max_angle: float,
        name: str = "RayPerceptionSensor",
    ) -> None:
        if rays_per_direction < 0:
            raise SpecError(
                "a fan has no negative number of rays", where=f"sensor {name}", found=str(rays_per_direction)
            )
        self.tags = tuple(tags)
        sides = np.arange(1, rays_per_direction + 1) * (max_angle / max(1, rays_per_direction))
        # The middle ray first, then from the inside out one to the right and one to the left, as Unity has them.
        self.angles: NDArray[np.float64] = np.concatenate([[0.0], np.stack([-sides, sides], axis=1).reshape(-1)])
        self._cast = cast
        self._spec = ObservationSpec.vector(len(self.angles) * (len(self.tags) + 2), name=name)

    @property
    def spec(self) -> ObservationSpec:
        """Name and shape of an observation."""
        return self._spec

    def write(self, out: FloatArray) -> None:
        """Casts the rays and writes what they hit.

        Raises:
            SpecError: the game gave another number of hits, or a tag that is not there.
        """
        hit, fraction = self._cast(self.angles)
        rays, known = len(self.angles), len(self.tags)
        if hit.shape != (rays,) or fraction.shape != (rays,):
            raise SpecError(
                "the game cast another number of rays",
                where=f"sensor {self._spec.name}",
                found=f"{hit.shape} and {fraction.shape}",
                expected=f"({rays},) twice",
            )
        if ((hit < self.NOTHING) | (hit >= known)).any():
            raise SpecError(
                "a ray hit a tag that the sensor does not know",
                where=f"sensor {self._spec.name}",
                found=str(hit.tolist()),
                expected=f"{self.NOTHING} to {known - 1}",
            )
        columns = out.reshape(rays, known + 2)
        tagged = np.flatnonzero(hit >= 0)
        columns[tagged, hit[tagged]] = 1.0
        columns[:, known] = hit == self.NOTHING
        columns[:, known + 1] = fraction


class BufferSensor(Sensor):
    """A list of entities of changing length, filled anew for every decision.

    Rows that are not there are zeros, and networks take rows of zeros for not there: give entities a number that is
    never zero. Entities beyond the most the sensor holds are left out, so append the nearest first.

    Args:
        most: entities at most.
        size: numbers an entity.
        name: of the sensor.
    """

    def __init__(self, most: int, size: int, *, name: str = "BufferSensor") -> None:
        self._spec = ObservationSpec.entities(most, size, name=name)
        self._rows: list[NDArray[np.float32]] = []

    @property
    def spec(self) -> ObservationSpec:
        """Name and shape of an observation."""
        return self._spec

    def append(self, entity: ArrayLike) -> None:
        """Adds an entity.

        Raises:
            SpecError: it has another number of values than the sensor's entities.
        """
        row = np.asarray(entity, np.float32)
        most, size = self._spec.shape
        if row.shape != (size,):
            raise SpecError(
                "an entity has another size than its sensor's",
                where=f"sensor {self._spec.name}",
                found=str(row.shape),
                expected=f"({size},)",
            )
        if len(self._rows) < most:
            self._rows.append(row)

    def write(self, out: FloatArray) -> None:
        """Writes the entities that were appended since the last time."""
        rows, self._rows = self._rows, []
        if rows:
            out[: len(rows)] = rows

    def reset(self) -> None:
        """Forgets what was appended."""
        self._rows.clear()


class StackingSensor(Sensor):
    """The last observations of another sensor in one, oldest first; zeros before there were enough.

    Vectors are put one behind the other, images along their channels.

    Args:
        sensor: the other one, of numbers or of an image.
        stacks: how many observations, the newest included.

    Raises:
        SpecError: the sensor's observations can't be stacked.
    """

    def __init__(self, sensor: Sensor, stacks: int) -> None:
        inner = sensor.spec
        if stacks < 1 or DimensionProperty.VARIABLE_SIZE in inner.dimension_property:
            raise SpecError(
                "observations of this sensor can't be stacked",
                where=f"sensor {inner.name}",
                found=f"{stacks} of shape {inner.shape}",
                expected="1 or more, of vectors or images",
            )
        self._sensor = sensor
        self._frames = np.zeros((stacks, *inner.shape), np.float32)
        self._spec = ObservationSpec(
            (stacks * inner.shape[0], *inner.shape[1:]),
            inner.dimension_property,
            inner.observation_type,
            f"StackingSensor_size{stacks}_{inner.name}",
        )

    @property
    def spec(self) -> ObservationSpec:
        """Name and shape of an observation."""
        return self._spec

    @property
    def is_compressed(self) -> bool:
        """Whether it travels as PNG."""
        return self._sensor.is_compressed

    def write(self, out: FloatArray) -> None:
        """Writes the earlier observations and the one of now."""
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = 0.0
        self._sensor.write(self._frames[-1])
        out[:] = self._frames.reshape(out.shape)

    def reset(self) -> None:
        """Forgets the earlier observations."""
        self._frames[:] = 0.0
        self._sensor.reset()
