"""Small parts for the tests of self-play: settings, policies that differ, games that follow a script."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms import Learner, PPOLearner
from sparring.environments import Environment, EnvironmentStatistic
from sparring.networks import ActionParameters, Actor
from sparring.networks.policy import Policy
from sparring.rollouts import Rollout
from sparring.selfplay import Lineup
from sparring.settings import BehaviorSettings, RunSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.statistics import Statistics, Timers
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.training.collector import Collector

__all__ = [
    "LEARNER",
    "STAMPED",
    "Ask",
    "End",
    "ScriptedGame",
    "StampedActor",
    "Stamper",
    "change_weights",
    "collector_of",
    "plan",
    "policy_of",
    "run_plan",
    "stamp_of",
    "steps_of",
]

_SPEC = BehaviorSpec((ObservationSpec.vector(3, name="Line"),), ActionSpec.create_discrete((3,)))


def plan(max_steps: int = 10**9, **self_play: Any) -> BehaviorSettings:
    """Settings of a behavior with a tiny network, and `self_play` unless it is switched off with `off=True`."""
    return BehaviorSettings.model_validate(
        {
            "hyperparameters": {"batch_size": 32, "buffer_size": 64, "num_epoch": 1},
            "network_settings": {"hidden_units": 4, "num_layers": 1},
            "max_steps": max_steps,
            "self_play": None if self_play.pop("off", False) else self_play,
        }
    )


def run_plan(**behaviors: BehaviorSettings) -> RunSettings:
    """Settings of a run with these behaviors."""
    return RunSettings.model_validate({"behaviors": behaviors})


def policy_of(*, seed: int = 0) -> Policy:
    """A policy of its own weights; one seed gives one policy."""
    return PPOLearner("Duel", _SPEC, plan(), device=torch.device("cpu"), seed=seed, parallel=False).policy


def change_weights(policy: Policy) -> None:
    """Makes a learner's policy another one, as an update does."""
    with torch.no_grad():
        for parameter in policy.actor.parameters():
            parameter.add_(0.01)


_STAMPS = 1024
STAMPED = BehaviorSpec((ObservationSpec.vector(3, name="Line"),), ActionSpec.create_discrete((_STAMPS, _STAMPS)))
"""What agents of a stamped policy see and do."""

LEARNER = 1
"""The number of the policy that learns; its copies have higher ones, and 0 is nobody."""


class StampedActor(torch.nn.Module):
    """Acts so that the game sees who acted: the number of the copy, and how often it had been updated."""

    squash = False
    memory_size = 0

    def __init__(self) -> None:
        super().__init__()
        self.stamp: Tensor
        self.register_buffer("stamp", torch.tensor([LEARNER, 0]))
        self._copies = itertools.count(LEARNER + 1)

    def forward(self, inputs: Sequence[Tensor]) -> tuple[ActionParameters, None]:
        logits = torch.nn.functional.one_hot(self.stamp, _STAMPS).flatten() * 1e4
        return ActionParameters(None, None, logits.expand(len(inputs[0]), -1)), None

    def __deepcopy__(self, memory: dict[int, Any]) -> StampedActor:
        copy = StampedActor()
        copy.stamp[:] = torch.stack([torch.tensor(next(self._copies)), self.stamp[1]])
        return copy


def stamp_of(policy: Policy) -> tuple[int, int]:
    """The number of the copy and its updates."""
    copy, updates = policy.state()["stamp"].tolist()
    return copy, updates


class Stamper(Learner):
    """A learner that learns nothing: an update only changes the stamp of its policy."""

    def __init__(self, name: str, spec: BehaviorSpec, settings: BehaviorSettings) -> None:
        del name
        self._settings = settings
        self._actor = StampedActor()
        self.policy = Policy(spec, cast("Actor", self._actor), device=torch.device("cpu"))

    def make_rollout(self) -> Rollout:
        return Rollout(self.policy.layout.input_shapes, self.policy.spec.action_spec, capacity=64)

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        del step
        return rollout.num_complete >= self._settings.hyperparameters.buffer_size

    def update(self, rollout: Rollout, *, step: int) -> Mapping[str, float]:
        del rollout, step
        self._actor.stamp[1] += 1
        return {}

    def state(self) -> dict[str, Any]:
        return self.policy.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._actor.stamp[:] = torch.from_numpy(np.array(state["stamp"]))

    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        del networks
        return []


def collector_of(
    game: Environment, settings: RunSettings, *, statistics: Statistics | None = None, seed: int = 0
) -> Collector:
    """The real collector and lineup around a game, with learners that only stamp."""
    game.reset()
    return Collector(
        game,
        settings,
        make_learner=Stamper,
        lineup=Lineup(rng=np.random.default_rng(seed)),
        statistics=Statistics({}) if statistics is None else statistics,
        timers=Timers(),
        generator=torch.Generator().manual_seed(seed),
    )


@dataclass(frozen=True)
class Ask:
    """An agent asks for an action."""

    agent: int
    reward: float = 0.0
    arena: int = 0


@dataclass(frozen=True)
class End:
    """An agent's episode ends."""

    agent: int
    reward: float = 0.0
    arena: int = 0
    interrupted: bool = False
    score: float | None = None


Exchange = Mapping[str, Sequence[Ask | End]]


class ScriptedGame(Environment):
    """Sends what a script says, exchange by exchange, over and over; a behavior is announced when it first appears."""

    def __init__(self, *script: Exchange, statistics: Sequence[EnvironmentStatistic] = ()) -> None:
        self._script = script
        self._statistics = statistics
        self._next = 0
        self._announced: dict[str, BehaviorSpec] = {}
        self._now: Exchange = {}
        self.sent: list[tuple[str, int]] = []
        """Behavior and number of actions of every call of `set_actions`."""

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict(self._announced)

    def reset(self) -> None:
        self._next = 0
        self.step()

    def step(self) -> None:
        self._now = self._script[self._next % len(self._script)]
        self._next += 1
        self._announced |= dict.fromkeys(self._now, STAMPED)

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        return steps_of(self._now.get(behavior_name, ()))

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        self.sent.append((behavior_name, len(action)))

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        return self._statistics

    def close(self) -> None:
        """Nothing to end."""


def steps_of(rows: Sequence[Ask | End]) -> tuple[DecisionSteps, TerminalSteps]:
    """The rows as the columns that a game gives."""
    asks = [row for row in rows if isinstance(row, Ask)]
    ends = [row for row in rows if isinstance(row, End)]
    scores = None
    if any(end.score is not None for end in ends):
        scores = np.array([np.nan if end.score is None else end.score for end in ends], np.float32)
    interrupted = np.array([end.interrupted for end in ends], np.bool_)
    return (
        DecisionSteps(**_columns(asks), action_mask=None),
        TerminalSteps(**_columns(ends), interrupted=interrupted, match_score=scores),
    )


def _columns(rows: Sequence[Ask | End]) -> dict[str, Any]:
    return {
        "obs": [np.zeros((len(rows), 3), np.float32)],
        "reward": np.array([row.reward for row in rows], np.float32),
        "agent_id": np.array([row.agent for row in rows], np.int32),
        "group_id": np.zeros(len(rows), np.int32),
        "group_reward": np.zeros(len(rows), np.float32),
        "arena_id": np.array([row.arena for row in rows], np.int32),
    }
