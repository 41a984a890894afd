"""Tag: a chaser must catch a runner before time runs out. A game of one's own, written with `sparring.academy`.

sparring train examples/tag/tag.py:world --config examples/tag/tag.yaml     in one process
sparring train examples/tag/tag.yaml --env "python examples/tag/tag.py"     over the wire
python examples/tag/tag.py --model results/tag/Chaser.onnx                  alone, by a model
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from sparring.academy import (
    Academy,
    Actions,
    Agent,
    DecisionRequester,
    Update,
    VectorSensor,
    as_world,
    play,
)
from sparring.specs import ActionSpec

Vector = NDArray[np.float64]

HALF = 4.0
"""From the middle of the square to its walls, in meters."""
REACH = 0.8
"""How near the chaser must come, in meters."""
LONGEST = 150
"""Steps of a match."""


class Player(Agent):
    """One of the two; pushes itself about on the ground."""

    def __init__(self, academy: Academy, behavior: str, *, team: int, area: int, push: float, flees: bool) -> None:
        super().__init__(
            academy, behavior, team=team, area=area, actions=ActionSpec.create_continuous(2), vector_size=8
        )
        self.place: Vector = np.zeros(2)
        self.velocity: Vector = np.zeros(2)
        self.other = self
        self._rng = academy.rng
        self._push = push
        self._flees = flees
        DecisionRequester(self, period=4)

    def on_episode_begin(self) -> None:
        """Starts anywhere, at rest."""
        self.place = self._rng.uniform(-HALF, HALF, 2)
        self.velocity = np.zeros(2)

    def collect_observations(self, sensor: VectorSensor) -> None:
        """Sees itself and the other one."""
        sensor.add(self.place / HALF)
        sensor.add(self.velocity)
        sensor.add((self.other.place - self.place) / HALF)
        sensor.add(self.other.velocity)

    def on_action_received(self, actions: Actions) -> None:
        """Pushes itself."""
        self.velocity += self._push * actions.continuous.clip(-1.0, 1.0)

    def heuristic(self, actions: Actions) -> None:
        """Runs straight at the other one, or away."""
        way = self.other.place - self.place
        actions.continuous[:] = way / (np.linalg.norm(way) + 1e-6) * (-1.0 if self._flees else 1.0)

    def move(self) -> None:
        """Moves one step: the ground brakes, walls stop."""
        self.velocity *= 0.9
        self.place = self.place + self.velocity
        self.velocity[np.abs(self.place) > HALF] = 0.0
        self.place = self.place.clip(-HALF, HALF)


class Match:
    """A chaser and a runner in a square of their own."""

    def __init__(self, academy: Academy, area: int) -> None:
        self._statistics = academy.statistics
        self._parameters = academy.environment_parameters
        self.chaser = Player(academy, "Chaser", team=0, area=area, push=0.05, flees=False)
        self.runner = Player(academy, "Runner", team=1, area=area, push=0.04, flees=True)
        self.chaser.other, self.runner.other = self.runner, self.chaser
        self.caught = self.played = 0

    def update(self) -> None:
        """Moves both, and ends the match when the runner is caught or got away."""
        self.chaser.move()
        self.runner.move()
        reach = self._parameters.get("reach", REACH)
        is_caught = float(np.linalg.norm(self.chaser.place - self.runner.place)) < reach
        if is_caught or self.chaser.step_count >= LONGEST:
            self.caught, self.played = self.caught + is_caught, self.played + 1
            self._statistics.add("Tag/Caught", float(is_caught))
            self.chaser.add_reward(1.0 if is_caught else -1.0)
            self.runner.add_reward(-1.0 if is_caught else 1.0)
            self.chaser.end_episode()
            self.runner.end_episode()


def make_game(academy: Academy) -> Update:
    """As many matches side by side as the trainer asks for."""
    return update_of([Match(academy, area) for area in range(academy.num_areas)])


def update_of(matches: list[Match]) -> Update:
    """What moves the matches on, once every step."""

    def update() -> None:
        for match in matches:
            match.update()

    return update


world = as_world(make_game)


def main() -> None:
    """Plays with a trainer if one listens, or else alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", help="ONNX file of the chaser, when it plays alone")
    parser.add_argument("--steps", type=int, help="environment steps when it plays alone")
    options, _ = parser.parse_known_args()

    def make(academy: Academy) -> Update:
        matches = [Match(academy, area) for area in range(academy.num_areas)]
        if options.model is not None:
            for match in matches:
                match.chaser.set_model(options.model)
        academy.on_close(lambda: report(matches))
        return update_of(matches)

    play(make, steps=options.steps)


def report(matches: list[Match]) -> None:
    """Says how it went."""
    print(f"caught {sum(match.caught for match in matches)} of {sum(match.played for match in matches)}")


if __name__ == "__main__":
    main()
