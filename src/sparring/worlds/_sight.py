"""Compiled ray sensors: a sphere is swept along each ray, exactly, and the stacked observation is written in place.

A ray reports the nearest thing its sphere meets on its way. The loops run over all rays of one agent for one obstacle
at a time. They become a few vector instructions because they count in single precision, have no branch, and keep
distance and thing of a hit in one number, of which the smaller is the nearer: the distance in steps of 15 µm, times
eight, plus the number of the thing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import compiled

__all__ = ["LANES", "LONGEST_RAY", "MOST_THINGS", "NOTHING", "aim", "meet_circles", "meet_walls", "write_view"]

FloatArray = NDArray[np.float64]
RayArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

LANES = 16
"""Rays are handled in blocks of this fixed size."""
MOST_THINGS = 8
"""Numbers for what can be met; the last one stands for nothing."""
NOTHING = MOST_THINGS - 1
OVERLAP = 1e-6
"""Meters a sphere must reach into a thing to count as overlapping it; touching is not overlapping."""

LONGEST_RAY = 31.0
"""Meters up to which single precision holds the number of a hit exactly."""
STEPS, THINGS, NO_HIT = np.float32(2**16), np.float32(MOST_THINGS), np.float32(2**25)
ZERO = np.float32(0.0)
HEADS_TOWARDS = np.float32(1e-6)
"""Least cosine between a ray and the way to a wall; a ray along a wall does not meet it."""


@compiled
def aim(
    cosine: float,
    sine: float,
    fans: RayArray,
    seat: int,
    blocks: int,
    length: float,
    rays: RayArray,
    hits: RayArray,
) -> None:
    """Turns the fan of an agent's rays by its heading and forgets what they hit.

    Args:
        cosine, sine: of the heading.
        fans: `[seats, 2, blocks, LANES]`, unit directions for heading zero.
        seat: the agent's.
        blocks: of rays in use.
        length: of every ray in meters.
        rays: `[2, blocks, LANES]`, written: unit directions.
        hits: `[blocks, LANES]`, written: nothing, at the end of the ray.
    """
    c, s = np.float32(cosine), np.float32(sine)
    none = np.float32(length) * STEPS * THINGS + np.float32(NOTHING)
    for block in range(blocks):
        for lane in range(LANES):
            x, z = fans[seat, 0, block, lane], fans[seat, 1, block, lane]
            rays[0, block, lane] = c * x - s * z
            rays[1, block, lane] = s * x + c * z
        for lane in range(LANES):
            hits[block, lane] = none


@compiled
def meet_walls(
    px: float,
    pz: float,
    radius: float,
    length: float,
    walls: FloatArray,
    rays: RayArray,
    blocks: int,
    hits: RayArray,
    sees_overlaps: bool,
) -> None:
    """Keeps the hits on the faces of walls that are nearer than what `hits` holds.

    Args:
        px, pz: the agent's position.
        radius: of the sphere.
        length: of every ray.
        walls: of an `Outline`.
        rays, blocks, hits: as in `aim`.
        sees_overlaps: whether rays towards something that overlaps the sphere report it at distance zero.
    """
    for side in range(walls.shape[0]):
        dx, dz = px - walls[side, 0], pz - walls[side, 1]
        distance = walls[side, 2] * dx + walls[side, 3] * dz
        if distance < 0.0 or distance > length + radius or (distance < radius - OVERLAP and not sees_overlaps):
            continue
        gap = np.float32(max(distance - radius, 0.0))
        start, extent = np.float32(walls[side, 4] * dx + walls[side, 5] * dz), np.float32(walls[side, 6])
        nx, nz = np.float32(walls[side, 2]), np.float32(walls[side, 3])
        thing = np.float32(walls[side, 7])
        for block in range(blocks):
            for lane in range(LANES):
                x, z = rays[0, block, lane], rays[1, block, lane]
                towards = -(nx * x + nz * z)
                way = gap / towards
                place = start + way * (nz * x - nx * z)
                meets = (towards > HEADS_TOWARDS) & (place >= ZERO) & (place <= extent)
                hit = np.floor(way * STEPS) * THINGS + thing if meets else NO_HIT
                hits[block, lane] = min(hits[block, lane], hit)


@compiled
def meet_circles(
    px: float,
    pz: float,
    length: float,
    circles: FloatArray,
    own: int,
    rays: RayArray,
    blocks: int,
    hits: RayArray,
    sees_overlaps: bool,
) -> None:
    """Keeps the hits on round things where they are nearer than what `hits` holds.

    Args:
        px, pz: the agent's position.
        length: of every ray.
        circles: `[circles, 4]`, x, z · distance at which the sphere touches · thing.
        own: the row of the agent itself.
        rays, blocks, hits: as in `aim`.
        sees_overlaps: whether rays towards something that overlaps the sphere report it at distance zero.
    """
    for circle in range(circles.shape[0]):
        dx, dz, reach = circles[circle, 0] - px, circles[circle, 1] - pz, circles[circle, 2]
        square = dx * dx + dz * dz
        farthest, inside = length + reach, reach - OVERLAP
        hidden = square < inside * inside and not sees_overlaps
        if circle == own or square > farthest * farthest or hidden:
            continue
        wx, wz, thing = np.float32(dx), np.float32(dz), np.float32(circles[circle, 3])
        reach_square = np.float32(reach * reach)
        for block in range(blocks):
            for lane in range(LANES):
                x, z = rays[0, block, lane], rays[1, block, lane]
                along, aside = wx * x + wz * z, wx * z - wz * x
                half = reach_square - aside * aside
                way = max(along - math.sqrt(max(half, ZERO)), ZERO)
                meets = (half > ZERO) & (along > ZERO)
                hit = np.floor(way * STEPS) * THINGS + thing if meets else NO_HIT
                hits[block, lane] = min(hits[block, lane], hit)


@compiled
def write_view(
    arena: int,
    views: NDArray[np.float32],
    hits: RayArray,
    sensors: IntArray,
    sensor: int,
    marks: IntArray,
    length: float,
) -> None:
    """Shifts a sensor's stack by one frame and writes the newest one last.

    Args:
        arena: row of `views`.
        views: `[arenas, …]`; a sensor's part has the oldest frame first, and in a frame for each ray its one-hot tag,
            then 1 if nothing was hit, then the fraction of the length.
        hits: `[rays]`, all of the agent's.
        sensors: `[sensors, 6]`: agent, first ray, rays, tags, frames, where the sensor's part of a view begins.
        sensor: which one.
        marks: `[sensors, MOST_THINGS]`, which of a ray's numbers each thing sets to 1; a thing without a tag marks
            the place of the fraction, which is written afterwards.
        length: of the rays.
    """
    first, count, tags, begin = sensors[sensor, 1], sensors[sensor, 2], sensors[sensor, 3], sensors[sensor, 5]
    frame = count * (tags + 2)
    for _ in range(sensors[sensor, 4] - 1):
        for k in range(frame):
            views[arena, begin + k] = views[arena, begin + frame + k]
        begin += frame
    for k in range(frame):
        views[arena, begin + k] = 0.0
    for ray in range(count):
        hit = int(hits[first + ray])
        views[arena, begin + marks[sensor, hit % MOST_THINGS]] = 1.0
        views[arena, begin + tags + 1] = float(hit // MOST_THINGS) / (float(STEPS) * length)
        begin += tags + 2
