"""The fixed geometry of a planar arena: one closed chain of walls, and the posts where it sticks inwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outline"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outline:
    """The inner faces of an arena's walls as one polygon, counterclockwise, the arena on the left.

    Attributes:
        corners: (x, z) in meters; side k runs from corner k to corner k + 1, the last one back to the first.
        things: what side k is made of, as the number ray sensors report.
        clear: half extents (x, z) of a rectangle around the origin that no wall cuts; discs wholly in it need not be
            compared with walls.
    """

    corners: tuple[tuple[float, float], ...]
    things: tuple[int, ...]
    clear: tuple[float, float]

    def walls(self) -> FloatArray:
        """One row a side, `[sides, 8]`: start x, z · inward normal x, z · direction x, z · length · thing."""
        start = np.asarray(self.corners, np.float64)
        along = np.roll(start, -1, axis=0) - start
        length = np.hypot(along[:, 0], along[:, 1])[:, None]
        along /= length
        inward = np.stack([-along[:, 1], along[:, 0]], axis=1)
        thing = np.asarray(self.things, np.float64)[:, None]
        return np.concatenate([start, inward, along, length, thing], axis=1)

    def posts(self) -> FloatArray:
        """The corners that stick into the arena, `[posts, 3]`: x, z · thing (the lower number of its two sides)."""
        walls = self.walls()
        before = np.roll(walls, 1, axis=0)
        turn = before[:, 4] * walls[:, 5] - before[:, 5] * walls[:, 4]
        thing = np.minimum(before[:, 7], walls[:, 7])
        return np.column_stack([walls[:, 0], walls[:, 1], thing])[turn < 0.0]

    def contains(self, x: FloatArray, z: FloatArray) -> NDArray[np.bool_]:
        """Whether points lie inside or on the polygon; `x` and `z` have one shape, so has the answer."""
        inside = np.zeros(np.shape(x), np.bool_)
        corners = self.corners
        for (x0, z0), (x1, z1) in zip(corners, corners[1:] + corners[:1], strict=True):
            if z0 == z1:
                continue
            crosses = (z0 > z) != (z1 > z)
            inside ^= crosses & (x < x0 + (z - z0) * (x1 - x0) / (z1 - z0))
        return inside
