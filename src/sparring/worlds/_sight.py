"""Compiled ray sensors: a sphere is swept along each ray, exactly, and the stacked observation is written in place.

The loops run over all rays of one agent for one obstacle at a time and hold no branch, so that they become vector
instructions. A ray reports the nearest thing its sphere meets on its way.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparring.worlds._compiled import compiled

__all__ = ["aim", "meet_circle", "meet_walls", "write_view"]

FloatArray = NDArray[np.float64]
ViewArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

OVERLAP = 1e-6
"""Meters a sphere must reach into a thing to count as overlapping it; touching is not overlapping."""
NOTHING = -1.0


@compiled
def aim(
    cosine: float, sine: float, fan: FloatArray, count: int, length: float, rays: FloatArray, hits: FloatArray
) -> None:
    """Turns the fan of an agent's rays by its heading and forgets what they hit.

    Args:
        cosine, sine: of the heading.
        fan: `[2, rays]`, unit directions for heading zero.
        count: rays in use.
        length: of every ray in meters.
        rays: `[2, rays]`, written: unit directions.
        hits: `[2, rays]`, written: distance (`length`) and thing (nothing).
    """
    for ray in range(count):
        rays[0, ray] = cosine * fan[0, ray] - sine * fan[1, ray]
        rays[1, ray] = sine * fan[0, ray] + cosine * fan[1, ray]
        hits[0, ray] = length
        hits[1, ray] = NOTHING


@compiled
def meet_walls(
    px: float,
    pz: float,
    radius: float,
    length: float,
    walls: FloatArray,
    rays: FloatArray,
    count: int,
    hits: FloatArray,
    sees_overlaps: bool,
) -> None:
    """Keeps the hits on the faces of walls that are nearer than what `hits` holds."""
    for side in range(walls.shape[0]):
        nx, nz, ax, az = walls[side, 2], walls[side, 3], walls[side, 4], walls[side, 5]
        dx, dz = px - walls[side, 0], pz - walls[side, 1]
        distance = nx * dx + nz * dz
        gap = distance - radius
        if distance < 0.0 or gap > length or (gap < -OVERLAP and not sees_overlaps):
            continue
        gap = max(gap, 0.0)
        start, extent, thing = ax * dx + az * dz, walls[side, 6], walls[side, 7]
        for ray in range(count):
            towards = -(nx * rays[0, ray] + nz * rays[1, ray])
            way = gap / towards
            place = start + way * (ax * rays[0, ray] + az * rays[1, ray])
            nearer = (towards > 1e-9) & (way < hits[0, ray]) & (place >= 0.0) & (place <= extent)
            hits[0, ray] = way if nearer else hits[0, ray]
            hits[1, ray] = thing if nearer else hits[1, ray]


@compiled
def meet_circle(
    dx: float,
    dz: float,
    reach: float,
    length: float,
    thing: float,
    rays: FloatArray,
    count: int,
    hits: FloatArray,
    sees_overlaps: bool,
) -> None:
    """Keeps the hits on a circle of radius `reach` around (dx, dz), seen from the agent, where they are nearer."""
    square = dx * dx + dz * dz
    farthest = length + reach
    if square > farthest * farthest:
        return
    inside = reach - OVERLAP
    if square < inside * inside and not sees_overlaps:
        return
    offset = reach * reach - square
    for ray in range(count):
        along = dx * rays[0, ray] + dz * rays[1, ray]
        half = offset + along * along
        way = max(along - math.sqrt(max(half, 0.0)), 0.0)
        nearer = (half > 0.0) & (along > 0.0) & (way < hits[0, ray])
        hits[0, ray] = way if nearer else hits[0, ray]
        hits[1, ray] = thing if nearer else hits[1, ray]


@compiled
def write_view(
    view: ViewArray, hits: FloatArray, first: int, count: int, slots: IntArray, tags: int, stack: int, scale: float
) -> None:
    """Shifts a sensor's stack by one frame and writes the newest one last.

    Args:
        view: `[stack · count · (tags + 2)]`, oldest frame first.
        hits: `[2, rays]`, distances and things.
        first, count: the sensor's rays.
        slots: `[things]`, the place of a thing among the sensor's tags, -1 if it has no tag.
        tags: number of tags; a ray is one-hot tag, then 1 if nothing was hit, then the fraction of the length.
        stack: frames.
        scale: 1 / length.
    """
    width = tags + 2
    frame = count * width
    newest = (stack - 1) * frame
    for k in range(newest):
        view[k] = view[k + frame]
    view[newest:] = 0.0
    for ray in range(count):
        row = newest + ray * width
        thing = int(hits[1, first + ray])
        if thing < 0:
            view[row + tags] = 1.0
            view[row + tags + 1] = 1.0
            continue
        if slots[thing] >= 0:
            view[row + slots[thing]] = 1.0
        view[row + tags + 1] = hits[0, first + ray] * scale
