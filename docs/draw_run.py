"""Draws the picture of a run: its ratings over learned steps, and a moment of a match of its final policies.

pip install matplotlib
python docs/draw_run.py results/strikers_vs_goalie docs/images/strikers_vs_goalie.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime

from sparring.specs import BehaviorId
from sparring.steps import ActionBatch
from sparring.worlds import Scene
from sparring.worlds.soccer import SoccerTwos, StrikersVsGoalie

COLORS = {"blue": "#3b6fd4", "purple": "#8a4fc7", "white": "#f2f2f2"}
WORLDS = {"strikers_vs_goalie": StrikersVsGoalie, "soccer_twos": SoccerTwos}
STEPS_INTO_THE_MATCH = 14


def ratings(run: Path) -> dict[str, list[tuple[int, float]]]:
    """Rating by learner steps, for each behavior."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for line in (run / "statistics.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        rating = record["keys"].get("Self-play/ELO")
        if rating is not None:
            curves.setdefault(record["category"], []).append((record["step"], rating["value"]))
    return curves


def moment(run: Path, world_name: str) -> Scene:
    """The scene of one arena some steps into a match, played by the exported models."""
    with WORLDS[world_name](num_arenas=1, seed=5) as world:
        models = {
            full_name: onnxruntime.InferenceSession(str(run / f"{BehaviorId.parse(full_name).name}.onnx"))
            for full_name in world.behavior_specs
        }
        world.reset()
        for _ in range(STEPS_INTO_THE_MATCH):
            for full_name, spec in world.behavior_specs.items():
                decision, _ = world.get_steps(full_name)
                feed = {f"obs_{index}": sensor for index, sensor in enumerate(decision.obs)}
                choices = np.ones((len(decision), spec.action_spec.total_choices), np.float32)
                chosen = models[full_name].run(["deterministic_discrete_actions"], {**feed, "action_masks": choices})
                continuous = np.zeros((len(decision), 0), np.float32)
                world.set_actions(full_name, ActionBatch(continuous, chosen[0].astype(np.int32)))
            world.step()
        return world.scene(0)


def draw(run: Path, world_name: str, target: Path) -> None:
    """Writes the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(1, 1.25), layout="constrained")
    for name, points in ratings(run).items():
        left.plot(*zip(*points, strict=True), label=name)
    left.set(xlabel="learned steps", ylabel="rating")
    left.legend(frameon=False)
    left.spines[["top", "right"]].set_visible(False)
    scene = moment(run, world_name)
    for line in (*scene.walls, *scene.goals):
        right.plot(
            (line.start[0], line.end[0]), (line.start[1], line.end[1]), color=COLORS.get(line.color, "#555555"), lw=2
        )
    for disc in scene.discs:
        face = COLORS.get(disc.color, "#f2f2f2")
        right.add_patch(plt.Circle(disc.position, disc.radius, facecolor=face, edgecolor="black"))
        if disc.heading is not None:
            nose = 1.6 * disc.radius * np.array([np.cos(disc.heading), np.sin(disc.heading)])
            ends = np.stack([disc.position, np.asarray(disc.position) + nose])
            right.plot(ends[:, 0], ends[:, 1], color="black", lw=1.5)
    right.set_aspect("equal")
    right.axis("off")
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
