"""Compiled motion of discs among walls and each other: swept, so that nothing passes through anything at any speed.

A disc is a row of `bodies [discs, 4]` (x, z, velocity x, velocity z) and of `traits [discs, 4]` (`RADIUS`,
`INVERSE_MASS`, `BOUNCE`, `DRAG`). Within a tick velocities change only at contacts, so all discs move straight to the
earliest contact, that contact is resolved by exact impulses, and so on. Discs wedged between others would meet
infinitely often in one tick: after `MAX_CONTACTS` contacts the touching ones are resolved together without bounce,
and each disc makes the rest of its way alone up to whatever it meets.

There is no friction. The last disc is the ball: who strikes it, and how far it comes, is recorded.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import compiled

__all__ = ["BOUNCE", "DRAG", "INVERSE_MASS", "MAX_TOGETHER", "RADIUS", "move", "separate"]

FloatArray = NDArray[np.float64]

RADIUS, INVERSE_MASS, BOUNCE, DRAG = range(4)

MAX_CONTACTS = 8
"""Contacts resolved one by one in a tick; ordinary play needs one to four."""
NO_BOUNCE_BELOW = 2.0
"""Relative speed along the normal, m/s, below which nothing bounces."""
RESTING = 1e-9
"""Approach speed, m/s, that counts as none: what rounding leaves after a contact without bounce."""
SETTLED = 1e-4
"""Approach speed, m/s, that counts as none among discs that were resolved together."""
WEDGED = 1e-3
"""Gap in meters up to which discs are resolved together; without it the ball would rattle on in the last gap."""
OVERLAP = 1e-7
"""Meters that discs may overlap at the start of an episode."""
SWEEPS = 48
"""Most passes over the contacts that are resolved together."""
OVER_RELAXATION = 1.6
"""Near the best factor for a 3 kg ball between a 50 kg agent and a wall (a plain pass would remove only 6 %)."""
MAX_TOGETHER = 32
"""Most contacts resolved together."""
NEVER = math.inf


@compiled
def _disc_contact_time(dx: float, dz: float, vx: float, vz: float, reach: float, rest: float) -> float:
    """When a point at (dx, dz) moving with (vx, vz) comes within `reach` of the origin; infinity if never."""
    closing = -(dx * vx + dz * vz)
    apart = dx * dx + dz * dz - reach * reach
    if apart <= 0.0:
        return 0.0 if closing > rest * reach else NEVER
    if closing <= 0.0:
        return NEVER
    square = closing * closing - (vx * vx + vz * vz) * apart
    limit = rest * reach
    if square <= limit * limit:
        return NEVER  # passes by, or only grazes
    return apart / (closing + math.sqrt(square))


@compiled
def _wall_contact_time(
    px: float,
    pz: float,
    vx: float,
    vz: float,
    radius: float,
    walls: FloatArray,
    side: int,
    horizon: float,
    rest: float,
) -> float:
    """When a disc touches the face of a side from inside; infinity if not within `horizon`."""
    speed = -(walls[side, 2] * vx + walls[side, 3] * vz)
    if speed <= rest:
        return NEVER
    dx = px - walls[side, 0]
    dz = pz - walls[side, 1]
    distance = walls[side, 2] * dx + walls[side, 3] * dz
    if distance < 0.0 or distance - radius >= speed * horizon:
        return NEVER  # behind this face, where it is some other wall's matter, or too far
    time: float = max(distance - radius, 0.0) / speed
    place = walls[side, 4] * (dx + vx * time) + walls[side, 5] * (dz + vz * time)
    return time if 0.0 <= place <= walls[side, 6] else NEVER


@compiled
def _first_wall(
    disc: int,
    bodies: FloatArray,
    radius: float,
    walls: FloatArray,
    posts: FloatArray,
    clear: FloatArray,
    horizon: float,
    rest: float,
) -> tuple[float, int]:
    """The first wall or post a disc touches within `horizon`: when, and its number (posts follow walls; -1: none)."""
    px, pz, vx, vz = bodies[disc, 0], bodies[disc, 1], bodies[disc, 2], bodies[disc, 3]
    clear_x, clear_z = clear[0] - radius, clear[1] - radius
    far_x = max(abs(px), abs(px + vx * horizon))
    far_z = max(abs(pz), abs(pz + vz * horizon))
    first, which = horizon, -1
    if far_x < clear_x and far_z < clear_z:
        return first, which
    for side in range(walls.shape[0]):
        time = _wall_contact_time(px, pz, vx, vz, radius, walls, side, first, rest)
        if time < first:
            first, which = time, side
    for post in range(posts.shape[0]):
        time = _disc_contact_time(px - posts[post, 0], pz - posts[post, 1], vx, vz, radius, rest)
        if time < first:
            first, which = time, walls.shape[0] + post
    return first, which


@compiled
def _first_contact(
    bodies: FloatArray, traits: FloatArray, walls_ahead: FloatArray, horizon: float
) -> tuple[float, int, int]:
    """The earliest contact within `horizon`: when, which disc, and with what.

    With what is a later disc, the number of discs plus that of a wall or post, or -1 for no contact at all.
    """
    discs = bodies.shape[0]
    first, one, other = horizon, 0, -1
    for i in range(discs):
        if walls_ahead[i, 0] < first:
            first, one, other = walls_ahead[i, 0], i, discs + int(walls_ahead[i, 1])
        for j in range(i + 1, discs):
            time = _disc_contact_time(
                bodies[j, 0] - bodies[i, 0],
                bodies[j, 1] - bodies[i, 1],
                bodies[j, 2] - bodies[i, 2],
                bodies[j, 3] - bodies[i, 3],
                traits[i, RADIUS] + traits[j, RADIUS],
                RESTING,
            )
            if time < first:
                first, one, other = time, i, j
    return first, one, other


@compiled
def _look_ahead(
    disc: int,
    bodies: FloatArray,
    traits: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    clear: FloatArray,
    horizon: float,
    walls_ahead: FloatArray,
) -> None:
    """Keeps when a disc will touch which wall; this holds until another contact changes its velocity."""
    time, wall = _first_wall(disc, bodies, traits[disc, RADIUS], walls, posts, clear, horizon, RESTING)
    walls_ahead[disc, 0] = time if wall >= 0 else NEVER
    walls_ahead[disc, 1] = wall


@compiled
def _contact(
    one: int, other: int, bodies: FloatArray, traits: FloatArray, walls: FloatArray, posts: FloatArray
) -> tuple[float, float, float]:
    """Unit normal from what is touched to disc `one`, and the gap (negative: overlap)."""
    discs, sides = bodies.shape[0], walls.shape[0]
    px, pz = bodies[one, 0], bodies[one, 1]
    reach = traits[one, RADIUS]
    if discs <= other < discs + sides:
        side = other - discs
        nx, nz = walls[side, 2], walls[side, 3]
        return nx, nz, nx * (px - walls[side, 0]) + nz * (pz - walls[side, 1]) - reach
    if other < discs:
        dx, dz = px - bodies[other, 0], pz - bodies[other, 1]
        reach += traits[other, RADIUS]
    else:
        dx, dz = px - posts[other - discs - sides, 0], pz - posts[other - discs - sides, 1]
    distance = math.sqrt(dx * dx + dz * dz)
    if distance < 1e-12:
        return -1.0, 0.0, -reach  # one on the other: any direction will do, as long as it is always the same
    return dx / distance, dz / distance, distance - reach


@compiled
def _approach(one: int, other: int, bodies: FloatArray, nx: float, nz: float) -> float:
    """Speed at which disc `one` closes in on what it touches, along the normal."""
    vx, vz = bodies[one, 2], bodies[one, 3]
    if other < bodies.shape[0]:
        vx -= bodies[other, 2]
        vz -= bodies[other, 3]
    return float(-(nx * vx + nz * vz))


@compiled
def _give(one: int, other: int, traits: FloatArray) -> float:
    """How much faster a contact opens for each unit of impulse: the sum of inverse masses, walls having none."""
    give: float = traits[one, INVERSE_MASS]
    if other < traits.shape[0]:
        give += traits[other, INVERSE_MASS]
    return give


@compiled
def _push(
    one: int, other: int, bodies: FloatArray, traits: FloatArray, nx: float, nz: float, impulse: float, column: int
) -> None:
    """Shares `impulse` along the normal out by mass; column 2 changes velocities, column 0 positions."""
    mine = impulse * traits[one, INVERSE_MASS]
    bodies[one, column] += mine * nx
    bodies[one, column + 1] += mine * nz
    if other < bodies.shape[0]:
        others = impulse * traits[other, INVERSE_MASS]
        bodies[other, column] -= others * nx
        bodies[other, column + 1] -= others * nz


@compiled
def _resolve(
    one: int, other: int, bodies: FloatArray, traits: FloatArray, walls: FloatArray, posts: FloatArray
) -> None:
    """Newton's impact law for one contact; the bounce is the greater one of the two."""
    nx, nz, gap = _contact(one, other, bodies, traits, walls, posts)
    give = _give(one, other, traits)
    if gap < 0.0:  # what rounding left
        _push(one, other, bodies, traits, nx, nz, -gap / give, 0)
    approach = _approach(one, other, bodies, nx, nz)
    bounce = traits[one, BOUNCE]
    if other < bodies.shape[0]:
        bounce = max(bounce, traits[other, BOUNCE])
    if approach < NO_BOUNCE_BELOW:
        bounce = 0.0
    _push(one, other, bodies, traits, nx, nz, (1.0 + bounce) * approach / give, 2)


@compiled
def _faces(one: int, side: int, bodies: FloatArray, walls: FloatArray) -> bool:
    """Whether a disc's center lies in front of a side, between its ends."""
    dx, dz = bodies[one, 0] - walls[side, 0], bodies[one, 1] - walls[side, 1]
    place = walls[side, 4] * dx + walls[side, 5] * dz
    return bool(walls[side, 2] * dx + walls[side, 3] * dz >= 0.0 and 0.0 <= place <= walls[side, 6])


@compiled
def _gather(
    bodies: FloatArray, traits: FloatArray, walls: FloatArray, posts: FloatArray, gap: float, pairs: NDArray[np.int64]
) -> int:
    """Writes every contact with at most this gap to `pairs [MAX_TOGETHER, 2]`; gives their number."""
    discs, sides = bodies.shape[0], walls.shape[0]
    count = 0
    for one in range(discs):
        for other in range(one + 1, discs + sides + posts.shape[0]):
            if discs <= other < discs + sides and not _faces(one, other - discs, bodies, walls):
                continue
            if _contact(one, other, bodies, traits, walls, posts)[2] <= gap and count < MAX_TOGETHER:
                pairs[count, 0] = one
                pairs[count, 1] = other
                count += 1
    return count


@compiled
def _settle(
    bodies: FloatArray,
    traits: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    pairs: NDArray[np.int64],
    impulse: FloatArray,
) -> None:
    """Resolves all contacts together without bounce (projected successive over-relaxation on the impulses)."""
    count = _gather(bodies, traits, walls, posts, WEDGED, pairs)
    impulse[:count] = 0.0
    for _ in range(SWEEPS):
        largest = 0.0
        for k in range(count):
            one, other = pairs[k, 0], pairs[k, 1]
            nx, nz, _gap = _contact(one, other, bodies, traits, walls, posts)
            give = _give(one, other, traits)
            wanted = impulse[k] + OVER_RELAXATION * _approach(one, other, bodies, nx, nz) / give
            change = max(wanted, 0.0) - impulse[k]
            impulse[k] += change
            _push(one, other, bodies, traits, nx, nz, change, 2)
            largest = max(largest, abs(change) * give)
        if largest < 0.1 * SETTLED:
            return


@compiled
def _go_alone(
    disc: int,
    bodies: FloatArray,
    traits: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    clear: FloatArray,
    horizon: float,
) -> None:
    """Moves one disc on until it meets a wall or another disc, all others standing still; keeps its velocity."""
    time, _ = _first_wall(disc, bodies, traits[disc, RADIUS], walls, posts, clear, horizon, SETTLED)
    for other in range(bodies.shape[0]):
        if other != disc:
            dx, dz = bodies[disc, 0] - bodies[other, 0], bodies[disc, 1] - bodies[other, 1]
            reach = traits[disc, RADIUS] + traits[other, RADIUS]
            time = min(time, _disc_contact_time(dx, dz, bodies[disc, 2], bodies[disc, 3], reach, SETTLED))
    bodies[disc, 0] += bodies[disc, 2] * time
    bodies[disc, 1] += bodies[disc, 3] * time


@compiled
def _note_strike(one: int, other: int, bodies: FloatArray, struck: FloatArray) -> None:
    """Keeps the direction from an agent to the ball at their first contact of the tick."""
    ball = bodies.shape[0] - 1
    if other != ball or struck[one, 0] > 0.0:
        return
    dx, dz = bodies[ball, 0] - bodies[one, 0], bodies[ball, 1] - bodies[one, 1]
    distance = max(math.sqrt(dx * dx + dz * dz), 1e-12)
    struck[one, 0] = 1.0
    struck[one, 1] = dx / distance
    struck[one, 2] = dz / distance


@compiled
def move(
    bodies: FloatArray,
    traits: FloatArray,
    walls: FloatArray,
    posts: FloatArray,
    clear: FloatArray,
    duration: float,
    struck: FloatArray,
    walls_ahead: FloatArray,
    pairs: NDArray[np.int64],
    impulse: FloatArray,
) -> tuple[float, float]:
    """Moves all discs for `duration` seconds.

    Args:
        bodies: `[discs, 4]`, changed in place.
        traits: `[discs, 4]`.
        walls, posts, clear: of an `Outline`.
        duration: seconds.
        struck: `[discs - 1, 3]`, written: 1 if the disc met the ball, and the unit vector towards it then.
        walls_ahead: `[discs, 2]`, room for times and numbers of walls.
        pairs, impulse: `[MAX_TOGETHER, 2]` and `[MAX_TOGETHER]`, room for contacts.

    Returns:
        The least and the greatest x of the ball's center on its way.
    """
    ball = bodies.shape[0] - 1
    left, right = bodies[ball, 0], bodies[ball, 0]
    for disc in range(ball + 1):
        _look_ahead(disc, bodies, traits, walls, posts, clear, duration, walls_ahead)
    struck[:, 0] = 0.0
    for _ in range(MAX_CONTACTS):
        time, one, other = _first_contact(bodies, traits, walls_ahead, duration)
        for disc in range(ball + 1):
            bodies[disc, 0] += bodies[disc, 2] * time
            bodies[disc, 1] += bodies[disc, 3] * time
            walls_ahead[disc, 0] = max(walls_ahead[disc, 0] - time, 0.0)
        left, right = min(left, bodies[ball, 0]), max(right, bodies[ball, 0])
        if other < 0:
            return left, right
        duration -= time
        _note_strike(one, other, bodies, struck)
        _resolve(one, other, bodies, traits, walls, posts)
        _look_ahead(one, bodies, traits, walls, posts, clear, duration, walls_ahead)
        if other <= ball:
            _look_ahead(other, bodies, traits, walls, posts, clear, duration, walls_ahead)
    _settle(bodies, traits, walls, posts, pairs, impulse)
    for disc in range(ball + 1):
        _go_alone(disc, bodies, traits, walls, posts, clear, duration)
    return min(left, bodies[ball, 0]), max(right, bodies[ball, 0])


@compiled
def separate(
    bodies: FloatArray, traits: FloatArray, walls: FloatArray, posts: FloatArray, pairs: NDArray[np.int64]
) -> None:
    """Moves discs that overlap at the start of an episode apart, the lighter one farther; velocities stay."""
    for _ in range(SWEEPS):
        count = _gather(bodies, traits, walls, posts, -OVERLAP, pairs)
        if count == 0:
            return
        for k in range(count):
            one, other = pairs[k, 0], pairs[k, 1]
            nx, nz, gap = _contact(one, other, bodies, traits, walls, posts)
            _push(one, other, bodies, traits, nx, nz, max(-gap, 0.0) / _give(one, other, traits), 0)
