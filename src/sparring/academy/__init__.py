"""The game's side: with it a Python game becomes an environment, for any trainer or for none.

A game is a function that is given an `Academy`, makes its agents and returns its own update, called once every step.
`as_world` makes a world of it for `sparring train FILE.py:NAME`, `play` a program for any trainer or for none. How to
write one is told in docs/games.md.
"""

from sparring.academy.academy import Academy, AcademyClosedError, MakeGame, Update
from sparring.academy.actuators import ActionMask, Actions, Actuator
from sparring.academy.agent import Agent, AgentGroup, BehaviorType, DecisionRequester
from sparring.academy.environment import AcademyEnvironment, LoopEnvironment, as_world, loop_as_world
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
