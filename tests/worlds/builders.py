"""Arenas in a chosen state, the engine called directly, and plain geometry that shares no code with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparring.compilation import entry
from sparring.steps import ActionBatch
from sparring.worlds import soccer
from sparring.worlds._motion import MAX_TOGETHER, move, separate
from sparring.worlds._soccer_rules import soccer_twos_rules, strikers_vs_goalie_rules
from sparring.worlds.outline import Outline

Array = NDArray[Any]
Traits = Sequence[tuple[float, float, float, float]]

# Of no particular type: tests look at more of a world than an environment promises.
SoccerTwos: Any = soccer.SoccerTwos
StrikersVsGoalie: Any = soccer.StrikersVsGoalie
AGENT = (0.5, 1 / 50, 0.0, 0.94)
BALL = (0.624, 1 / 3, 0.8, 0.98)
TWOS_PITCH = soccer_twos_rules().pitch
STRIKERS_PITCH = strikers_vs_goalie_rules().pitch


@entry
def _run(
    bodies: Array, traits: Array, walls: Array, posts: Array, clear: Array, duration: float, ticks: int, reach: Array
) -> None:
    struck, ahead = np.zeros((bodies.shape[1] - 1, 3)), np.zeros((bodies.shape[1], 2))
    pairs, impulse = np.zeros((MAX_TOGETHER, 2), np.int64), np.zeros(MAX_TOGETHER)
    for arena in range(bodies.shape[0]):
        for _ in range(ticks):
            left, right = move(bodies[arena], traits, walls, posts, clear, duration, struck, ahead, pairs, impulse)
            reach[arena, 0] = min(reach[arena, 0], left)
            reach[arena, 1] = max(reach[arena, 1], right)


@entry
def _separate(bodies: Array, traits: Array, walls: Array, posts: Array) -> None:
    pairs = np.zeros((MAX_TOGETHER, 2), np.int64)
    for arena in range(bodies.shape[0]):
        separate(bodies[arena], traits, walls, posts, pairs)


def run(
    pitch: Outline, bodies: ArrayLike, traits: Traits, *, duration: float = 0.02, ticks: int = 1
) -> tuple[Array, Array]:
    """Moves `bodies [arenas, discs, 4]`; gives them and how far left and right the last disc came."""
    bodies = np.array(bodies, np.float64)
    reach = np.repeat([[np.inf, -np.inf]], len(bodies), axis=0)
    _run(bodies, np.array(traits), pitch.walls(), pitch.posts(), np.array(pitch.clear), duration, ticks, reach)
    return bodies, reach


def pull_apart(pitch: Outline, bodies: ArrayLike, traits: Traits) -> Array:
    bodies = np.array(bodies, np.float64)
    _separate(bodies, np.array(traits), pitch.walls(), pitch.posts())
    return bodies


def clearance(pitch: Outline, x: ArrayLike, z: ArrayLike) -> Array:
    """Distance of points to the nearest side of a pitch, negative outside it."""
    corners = np.array(pitch.corners)
    start, end = corners, np.roll(corners, -1, axis=0)
    point = np.stack([x, z], axis=-1)[..., None, :]
    along = end - start
    share = np.clip(((point - start) * along).sum(-1) / (along**2).sum(-1), 0.0, 1.0)
    distance = np.linalg.norm(point - start - share[..., None] * along, axis=-1).min(-1)
    return np.asarray(np.where(winding(corners, x, z), distance, -distance))


def winding(corners: ArrayLike, x: ArrayLike, z: ArrayLike) -> Array:
    """Whether points are inside, by the angle a polygon turns around them."""
    rel = np.asarray(corners) - np.stack([x, z], axis=-1)[..., None, :]
    angle = np.arctan2(rel[..., 1], rel[..., 0])
    turn = np.diff(np.concatenate([angle, angle[..., :1]], axis=-1), axis=-1)
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    around: Array = np.abs(turn.sum(-1)) > np.pi
    return around


def scatter(pitch: Outline, traits: Traits, arenas: int, rng: np.random.Generator) -> Array:
    """Random places in the pitch, goals included, where no disc touches another or a wall: `[arenas, discs, 2]`."""
    radius = np.array([trait[0] for trait in traits])
    places = np.empty((arenas, len(traits), 2))
    for disc, own in enumerate(radius):
        todo = np.ones(arenas, bool)
        while todo.any():
            draw = rng.uniform((-17.4, -7.6), (17.4, 7.6), (todo.sum(), 2))
            free = clearance(pitch, draw[:, 0], draw[:, 1]) > own
            others = np.linalg.norm(places[todo][:, :disc] - draw[:, None], axis=-1)
            free &= (others > own + radius[:disc]).all(-1)
            which = np.flatnonzero(todo)[free]
            places[which, disc] = draw[free]
            todo[which] = False
    return places


def overlap(bodies: Array, traits: Traits) -> float:
    """The deepest overlap of two discs in any arena."""
    radius = np.array([trait[0] for trait in traits])
    gap = np.linalg.norm(bodies[:, :, None, :2] - bodies[:, None, :, :2], axis=-1) - radius[:, None] - radius
    one, other = np.triu_indices(len(radius), 1)
    return float(max(0.0, -gap[:, one, other].min())) if len(one) else 0.0


def place(
    world: Any, *, bodies: ArrayLike | None = None, heading: ArrayLike | None = None, ticks: ArrayLike | None = None
) -> None:
    """Puts a world's discs (`[arenas, discs, 4]`), headings and clocks where a test wants them."""
    state = world.save_state()
    for name, value in (("bodies", bodies), ("heading", heading), ("ticks", ticks)):
        if value is not None:
            state["arenas"][name][:] = value
    state["arenas"]["touching"][:] = False
    world.restore_state(state)


def bodies_of(world: Any) -> Array:
    bodies: Array = world.save_state()["arenas"]["bodies"]
    return bodies


def act(world: Any, behavior: str, *choices: int) -> None:
    """Sets the same three choices for all agents of a behavior."""
    agents = len(world.get_steps(behavior)[0])
    world.set_actions(
        behavior, ActionBatch(np.zeros((agents, 0), np.float32), np.tile(np.array(choices, np.int32), (agents, 1)))
    )


def act_at_random(world: Any, rng: np.random.Generator) -> None:
    for name, spec in world.behavior_specs.items():
        agents = len(world.get_steps(name)[0])
        world.set_actions(name, ActionBatch.random(spec.action_spec, agents, rng))
