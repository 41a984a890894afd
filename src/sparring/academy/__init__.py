"""The game's side: with it a Python game becomes an environment, for any trainer or for none.

A game is a function that is given an `Academy`, makes its agents and returns its own update, called once every step::

    class Runner(Agent):
        def __init__(self, academy: Academy) -> None:
            super().__init__(academy, "Runner", actions=ActionSpec.create_continuous(1), vector_size=1, max_step=200)
            self.place = 0.0
            DecisionRequester(self, 5)

        def on_episode_begin(self) -> None:
            self.place = 0.0

        def collect_observations(self, sensor: VectorSensor) -> None:
            sensor.add(self.place)

        def on_action_received(self, actions: Actions) -> None:
            self.place += float(actions.continuous[0])
            if self.place > 10.0:
                self.add_reward(1.0)
                self.end_episode()

    def make_game(academy: Academy) -> Update:
        runners = [Runner(academy) for _ in range(academy.num_areas)]
        return lambda: None

    world = as_world(make_game)         # sparring train runner.py:world

    if __name__ == "__main__":
        play(make_game)                 # sparring train settings.yaml --env "python runner.py", or alone
"""

from sparring.academy.academy import Academy, AcademyClosedError, MakeGame, Update
from sparring.academy.actuators import ActionMask, Actions, Actuator
from sparring.academy.agent import Agent, AgentGroup, BehaviorType, DecisionRequester
from sparring.academy.environment import AcademyEnvironment, CreateGame, LoopEnvironment, as_world, loop_as_world
from sparring.academy.models import Chosen, Model, OnnxModel
from sparring.academy.parameters import EnvironmentParameters
from sparring.academy.playing import play, play_loop
from sparring.academy.recorder import DemonstrationRecorder, StatsRecorder
from sparring.academy.sensors import (
    BufferSensor,
    CastRays,
    ImageSensor,
    RaySensor,
    Sensor,
    StackingSensor,
    VectorSensor,
)
from sparring.academy.serving import GameWithChannels, ServedGame, serve

__all__ = [
    "Academy",
    "AcademyClosedError",
    "AcademyEnvironment",
    "ActionMask",
    "Actions",
    "Actuator",
    "Agent",
    "AgentGroup",
    "BehaviorType",
    "BufferSensor",
    "CastRays",
    "Chosen",
    "CreateGame",
    "DecisionRequester",
    "DemonstrationRecorder",
    "EnvironmentParameters",
    "GameWithChannels",
    "ImageSensor",
    "LoopEnvironment",
    "MakeGame",
    "Model",
    "OnnxModel",
    "RaySensor",
    "Sensor",
    "ServedGame",
    "StackingSensor",
    "StatsRecorder",
    "Update",
    "VectorSensor",
    "as_world",
    "loop_as_world",
    "play",
    "play_loop",
    "serve",
]
