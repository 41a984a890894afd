"""What a ray sensor is: where its rays point, what they can tell apart and how it is laid out. No casting here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.specs import ObservationSpec

__all__ = ["RaySensor"]


@dataclass(frozen=True, slots=True)
class RaySensor:
    """A fan of sphere sweeps around an agent, its last frames stacked.

    Attributes:
        name: without the prefix that stacking adds.
        rays_per_direction: rays on either side of the middle one.
        max_angle: degrees from the middle to the outermost ray.
        tags: the things it tells apart, as the numbers of the world, in the order of the one-hot code.
        turned: degrees the middle ray is turned from straight ahead.
        length: of a ray in meters.
        radius: of the sphere that is swept, in meters.
        stack: frames in an observation, oldest first.
    """

    name: str
    rays_per_direction: int
    max_angle: float
    tags: tuple[int, ...]
    turned: float = 0.0
    length: float = 20.0
    radius: float = 0.5
    stack: int = 3

    @property
    def count(self) -> int:
        """The number of rays."""
        return 2 * self.rays_per_direction + 1

    @property
    def width(self) -> int:
        """Numbers a ray gives: its one-hot tag, whether nothing was hit, the fraction of its length."""
        return len(self.tags) + 2

    @property
    def size(self) -> int:
        """Numbers in a whole observation."""
        return self.count * self.width * self.stack

    @property
    def spec(self) -> ObservationSpec:
        """The flat stacked observation, under the name that sorts sensors."""
        return ObservationSpec.vector(self.size, name=f"StackingSensor_size{self.stack}_{self.name}")

    def directions(self) -> NDArray[np.float64]:
        """Unit vectors `[2, rays]` (x, z) for an agent that faces +x; to the right is -z.

        The middle ray first, then from the inside out one to the right and one to the left.
        """
        step = self.max_angle / self.rays_per_direction
        degrees = [self.turned]
        for ray in range(1, self.rays_per_direction + 1):
            degrees += [self.turned - ray * step, self.turned + ray * step]
        radians = [math.radians(angle) for angle in degrees]
        return np.array([[math.cos(angle) for angle in radians], [math.sin(angle) for angle in radians]])
