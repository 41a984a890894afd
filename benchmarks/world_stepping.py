"""How many agent decisions a second the built-in worlds play on one thread, as one line of JSON.

    python benchmarks/world_stepping.py [--arenas 64] [--rounds 15]

A decision is everything a trainer pays for: setting actions, five ticks, all rays, the stacked observations and
reading them out. `random` is uniform actions from the first match on; `active` puts everyone around the ball before
each measurement, so that all discs keep colliding. Rounds of all cases are interleaved, so that a busy machine slows
all of them alike; the medians are what to compare.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import numpy as np

from sparring.steps import ActionBatch
from sparring.worlds import create_world

WORLDS = ("soccer_twos", "strikers_vs_goalie")
STEPS = 40


def gather_around_the_ball(world: Any, rng: np.random.Generator) -> None:
    """Puts the ball in the middle and the agents on a circle around it, all facing it."""
    state = world.save_state()
    bodies, heading = state["arenas"]["bodies"], state["arenas"]["heading"]
    arenas, agents = heading.shape
    angle = rng.uniform(0.0, 2.0 * np.pi, (arenas, 1)) + np.arange(agents) * 2.0 * np.pi / agents
    bodies[:] = 0.0
    bodies[:, :-1, 0], bodies[:, :-1, 1] = 2.0 * np.cos(angle), 2.0 * np.sin(angle)
    heading[:] = (angle + 2.0 * np.pi) % (2.0 * np.pi) - np.pi
    state["arenas"]["touching"][:] = False
    world.restore_state(state)


def actions_of(world: Any, rng: np.random.Generator, *, forward: float) -> dict[str, list[ActionBatch]]:
    """Actions for `STEPS` steps by behavior: uniform, or mostly forward."""
    actions = {}
    for name, spec in world.behavior_specs.items():
        agents = len(world.get_steps(name)[0])
        actions[name] = [ActionBatch.random(spec.action_spec, agents, rng) for _ in range(STEPS)]
        for batch in actions[name]:
            batch.discrete[:, 0] = np.where(rng.random(agents) < forward, 1, batch.discrete[:, 0])
            batch.discrete[:, 1] = np.where(rng.random(agents) < forward, 0, batch.discrete[:, 1])
    return actions


def decisions_per_s(world: Any, actions: dict[str, list[ActionBatch]]) -> float:
    decisions = STEPS * sum(len(batches[0]) for batches in actions.values())
    start = time.perf_counter()
    for step in range(STEPS):
        for name, batches in actions.items():
            world.set_actions(name, batches[step])
        world.step()
        for name in actions:
            world.get_steps(name)
    return decisions / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arenas", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    worlds = {name: create_world(name, num_arenas=options.arenas) for name in WORLDS}
    measured: dict[str, list[float]] = {f"{name} {play}": [] for name in worlds for play in ("random", "active")}
    for _ in range(options.rounds + 1):
        for name, world in worlds.items():
            measured[f"{name} random"].append(decisions_per_s(world, actions_of(world, rng, forward=0.0)))
            gather_around_the_ball(world, rng)
            measured[f"{name} active"].append(decisions_per_s(world, actions_of(world, rng, forward=0.8)))
    for world in worlds.values():
        world.close()
    figures = {
        case: {"median": round(statistics.median(values[1:])), "best": round(max(values[1:]))}
        for case, values in measured.items()
    }
    print(json.dumps({"unit": "agent decisions/s per thread", "arenas": options.arenas, **figures}))


if __name__ == "__main__":
    main()
