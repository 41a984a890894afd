"""Small games written with the academy, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparring.academy import (
    Academy,
    ActionMask,
    Actions,
    Agent,
    AgentGroup,
    BufferSensor,
    DecisionRequester,
    ImageSensor,
    Update,
    VectorSensor,
)
from sparring.channels import StatsAggregationMethod
from sparring.specs import ActionSpec

GOAL = 3
"""Places from the start to the goal of a `Walker`."""


class Walker(Agent):
    """Walks along a line by one branch of three: left, stay, right; a `GOAL` to the right ends its episode with 1.

    It sees its place, and writes down what is called.
    """

    def __init__(self, academy: Academy, name: str = "Walker", *, period: int = 1, **options: Any) -> None:
        super().__init__(
            academy, name, **{"actions": ActionSpec.create_discrete((3,)), "vector_size": 1, "max_step": 20, **options}
        )
        self.place = 0
        self.calls: list[str] = []
        if period:
            DecisionRequester(self, period)

    def on_episode_begin(self) -> None:
        self.place = 0
        self.calls.append("begin")

    def collect_observations(self, sensor: VectorSensor) -> None:
        sensor.add(self.place)

    def write_action_mask(self, mask: ActionMask) -> None:
        if self.place <= -1:
            mask.set_action_enabled(0, 0, False)

    def on_action_received(self, actions: Actions) -> None:
        move = int(actions.discrete[0]) - 1
        self.calls.append(("left", "stay", "right")[move + 1])
        self.place += move
        if self.place == GOAL:
            self.add_reward(1.0)
            self.end_episode()


class StrollingWalker(Walker):
    """Walks to the right by its own rule."""

    def heuristic(self, actions: Actions) -> None:
        actions.discrete[0] = 2


class Painter(Agent):
    """Two in an area, in a group: everything a sensor, an actuator and the wire can show at once."""

    def __init__(self, academy: Academy, area: int, number: int) -> None:
        self.entities = BufferSensor(3, 2, name="Entities")
        super().__init__(
            academy,
            "Painter",
            team=number,
            area=area,
            actions=ActionSpec.create_hybrid(2, (2, 3)),
            vector_size=2,
            vector_stacks=2,
            max_step=7 + area,
            sensors=[
                self.entities,
                ImageSensor(1, 4, 5, self.gray, name="Gray"),
                ImageSensor(4, 4, 5, self.colors, name="Wide", compressed=False),
                ImageSensor(4, 4, 5, self.colors, name="WidePng"),
            ],
        )
        self.rng = np.random.default_rng([academy.seed, area, number])
        self.brightness = 0.0
        DecisionRequester(self, 2, offset=number)

    def gray(self) -> np.ndarray[Any, Any]:
        return self.rng.integers(0, 256, (1, 4, 5)).astype(np.uint8)

    def colors(self) -> np.ndarray[Any, Any]:
        return self.rng.random((4, 4, 5), np.float32)

    def collect_observations(self, sensor: VectorSensor) -> None:
        sensor.add(self.brightness)
        sensor.add(float(self.rng.random()))
        for _ in range(int(self.rng.integers(0, 5))):
            self.entities.append(self.rng.random(2))

    def write_action_mask(self, mask: ActionMask) -> None:
        mask.set_action_enabled(1, int(self.rng.integers(0, 3)), False)

    def on_action_received(self, actions: Actions) -> None:
        self.brightness += float(actions.continuous.sum()) + float(actions.discrete.sum())
        self.add_reward(0.25 * self.brightness)


def painters(academy: Academy) -> Update:
    """Two painters an area, paid as a group; it reports statistics and reads a parameter."""
    groups = []
    for area in range(academy.num_areas):
        group = AgentGroup(academy)
        for number in range(2):
            group.register_agent(Painter(academy, area, number))
        groups.append(group)

    def update() -> None:
        for group in groups:
            group.add_group_reward(academy.environment_parameters.get("pay", 0.5))
        if academy.step_count % 5 == 0:
            groups[0].end_group_episode()
            academy.statistics.add("Painted", academy.step_count)
            academy.statistics.add("Painted", 1.0, StatsAggregationMethod.SUM)

    return update


def walkers(kind: Callable[..., Walker] = Walker, **options: Any) -> Callable[[Academy], Update]:
    """A walker an area, with nothing to be moved on."""

    def make_game(academy: Academy) -> Update:
        for area in range(academy.num_areas):
            kind(academy, area=area, **options)
        return lambda: None

    return make_game
