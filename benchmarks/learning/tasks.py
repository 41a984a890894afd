"""Small games whose best score is known: what a learner must be able to learn, one ability each.

All agents of a game are in step with each other, episodes are short, everything is drawn from one seed, and the whole
state can be saved. Tests play small versions of them, `python -m benchmarks.learning` the full ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = ["Aim", "FallenMate", "GroupBandit", "PickEntity", "Pointing", "Recall", "Task"]

Array = NDArray[Any]


class Task(Environment):
    """Episodes of `length` decisions for all agents at once; ids of agents count up, groups of `mates` share one.

    Args:
        agents: how many; a multiple of `mates`.
        seed: of everything drawn.
    """

    name = "Task?team=0"
    spec: BehaviorSpec
    length = 1
    mates = 1

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        assert agents % self.mates == 0, (agents, self.mates)
        self.agents = agents
        self.rng = np.random.default_rng(seed)
        self.time = 0
        self.scores: list[float] = []
        """Mean score of the agents in every finished episode; 1 is the best."""
        self._actions: ActionBatch | None = None
        self._steps = (DecisionSteps.empty(self.spec), TerminalSteps.empty(self.spec))

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {self.name: self.spec}

    @abstractmethod
    def begin(self) -> None:
        """Draws a new episode."""

    @abstractmethod
    def observe(self) -> Sequence[Array]:
        """What all agents see, one array a sensor."""

    @abstractmethod
    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        """Reward and group reward `[agents]` of what everybody did at `time`."""

    @abstractmethod
    def variables(self) -> dict[str, Array]:
        """The arrays an episode consists of, which are written into when a state is put back."""

    def reset(self) -> None:
        self.time = 0
        self.begin()
        self._steps = (self._decisions(np.zeros(self.agents), np.zeros(self.agents)), TerminalSteps.empty(self.spec))

    def step(self) -> None:
        assert self._actions is not None, "everybody asks at every step"
        reward, group_reward = self.play(self._actions)
        self.time += 1
        if self.time < self.length:
            self._steps = (self._decisions(reward, group_reward), TerminalSteps.empty(self.spec))
            return
        terminal = TerminalSteps(
            obs=[np.array(sensor, np.float32) for sensor in self.observe()],
            reward=np.array(reward, np.float32),
            interrupted=np.zeros(self.agents, np.bool_),
            agent_id=np.arange(self.agents, dtype=np.int32),
            group_id=self._group_id(),
            group_reward=np.array(group_reward, np.float32),
            arena_id=np.arange(self.agents, dtype=np.int32) // self.mates,
        )
        self.scores.append(float(np.mean(self.score(reward, group_reward))))
        self.time = 0
        self.begin()
        nothing = np.zeros(self.agents)
        self._steps = (self._decisions(nothing, nothing), terminal)

    def score(self, reward: Array, group_reward: Array) -> Array:
        """What the last rewards of an episode say about how well it went, 0 to 1."""
        return reward + group_reward

    def _group_id(self) -> NDArray[np.int32]:
        if self.mates == 1:
            return np.zeros(self.agents, np.int32)
        return 1 + np.arange(self.agents, dtype=np.int32) // self.mates

    def _decisions(self, reward: Array, group_reward: Array) -> DecisionSteps:
        return DecisionSteps(
            obs=[np.array(sensor, np.float32) for sensor in self.observe()],
            reward=np.array(reward, np.float32),
            agent_id=np.arange(self.agents, dtype=np.int32),
            action_mask=None,
            group_id=self._group_id(),
            group_reward=np.array(group_reward, np.float32),
            arena_id=np.arange(self.agents, dtype=np.int32) // self.mates,
        )

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        assert behavior_name == self.name, behavior_name
        return self._steps

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        action.validate(self.spec.action_spec, len(self._steps[0]), behavior=behavior_name)
        self._actions = action

    def close(self) -> None:
        """Holds nothing."""

    def save_state(self) -> dict[str, Any]:
        return {
            "rng": self.rng.bit_generator.state,
            "time": self.time,
            "variables": {name: array.copy() for name, array in self.variables().items()},
            "decision": _columns(self._steps[0]),
            "terminal": _columns(self._steps[1]),
        }

    def restore_state(self, state: dict[str, Any]) -> None:
        self.rng.bit_generator.state = state["rng"]
        self.time = int(state["time"])
        for name, array in self.variables().items():
            array[...] = state["variables"][name]
        decision, terminal = (_columns_back(state[kind]) for kind in ("decision", "terminal"))
        self._steps = (DecisionSteps(action_mask=None, **decision), TerminalSteps(**terminal))


def _columns(steps: DecisionSteps | TerminalSteps) -> dict[str, Any]:
    names = ["reward", "agent_id", "group_id", "group_reward"]
    names += ["interrupted"] if isinstance(steps, TerminalSteps) else []
    columns: dict[str, Any] = {name: getattr(steps, name).copy() for name in names}
    columns["obs"] = {str(index): sensor.copy() for index, sensor in enumerate(steps.obs)}
    arena = steps.arena_id
    columns["arena_id"] = np.zeros(0, np.int32) if arena is None else arena.copy()
    return columns


def _columns_back(state: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: np.array(column) for name, column in state.items() if name != "obs"}
    columns["obs"] = [np.array(state["obs"][str(index)]) for index in range(len(state["obs"]))]
    return columns


class Recall(Task):
    """A bit is shown at the first of six decisions and asked for at the last, five steps later: 1 if it is right.

    Without memory the best score is 0.5.
    """

    spec = BehaviorSpec((ObservationSpec.vector(2, name="BitAndQuestion"),), ActionSpec.create_discrete((2,)))
    length = 6

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        self._bit = np.zeros(agents, np.int64)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        self._bit[:] = self.rng.integers(0, 2, self.agents)

    def observe(self) -> Sequence[Array]:
        shown = (2.0 * self._bit - 1.0) * (self.time == 0)
        return [np.stack([shown, np.full(self.agents, float(self.time == self.length - 1))], axis=1)]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        right = (action.discrete[:, 0] == self._bit) & (self.time == self.length - 1)
        return right.astype(np.float32), np.zeros(self.agents)

    def variables(self) -> dict[str, Array]:
        return {"bit": self._bit}


class Aim(Task):
    """A place on a line is shown: say on which side it lies, and point to it; half of the score for each.

    Pointing to the middle and guessing the side gives about 0.5.
    """

    spec = BehaviorSpec((ObservationSpec.vector(1, name="Place"),), ActionSpec.create_hybrid(1, (2,)))

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        self._place = np.zeros(agents)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        self._place[:] = self.rng.uniform(-0.9, 0.9, self.agents)

    def observe(self) -> Sequence[Array]:
        return [self._place[:, None]]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        side = action.discrete[:, 0] == (self._place > 0)
        near = np.maximum(0.0, 1.0 - np.abs(action.continuous[:, 0] - self._place))
        return 0.5 * side + 0.5 * near, np.zeros(self.agents)

    def variables(self) -> dict[str, Array]:
        return {"place": self._place}


class GroupBandit(Task):
    """Three mates each see a sign of two and choose; only the group is paid, with the share that answered its sign."""

    spec = BehaviorSpec((ObservationSpec.vector(2, name="Sign"),), ActionSpec.create_discrete((2,)))
    mates = 3

    def __init__(self, *, agents: int = 33, seed: int = 0) -> None:
        self._sign = np.zeros(agents, np.int64)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        self._sign[:] = self.rng.integers(0, 2, self.agents)

    def observe(self) -> Sequence[Array]:
        return [np.eye(2)[self._sign]]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        right = (action.discrete[:, 0] == self._sign).reshape(-1, self.mates).mean(axis=1)
        return np.zeros(self.agents), np.repeat(right, self.mates)

    def variables(self) -> dict[str, Array]:
        return {"sign": self._sign}


class Pointing(Task):
    """A bright square of 4 x 4 on a noisy picture of 20 x 20: which quarter is it in?"""

    spec = BehaviorSpec((ObservationSpec.image(1, 20, 20, name="Picture"),), ActionSpec.create_discrete((2, 2)))

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        self._place = np.zeros((agents, 2), np.int64)
        self._noise = np.zeros((agents, 1, 20, 20), np.float32)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        # Not across the middle, so that there is one right answer.
        self._place[:] = self.rng.choice([0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16], (self.agents, 2))
        self._noise[:] = self.rng.uniform(0.0, 0.2, self._noise.shape)

    def observe(self) -> Sequence[Array]:
        picture = self._noise.copy()
        for agent, (row, column) in enumerate(self._place):
            picture[agent, 0, row : row + 4, column : column + 4] = 1.0
        return [picture]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        right = (action.discrete == (self._place >= 10)).mean(axis=1)
        return right, np.zeros(self.agents)

    def variables(self) -> dict[str, Array]:
        return {"place": self._place, "noise": self._noise}


class PickEntity(Task):
    """One to five entities, each with a brightness and a number of three; name the number of the brightest."""

    most = 5
    spec = BehaviorSpec((ObservationSpec.entities(5, 4, name="Things"),), ActionSpec.create_discrete((3,)))

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        self._things = np.zeros((agents, self.most, 4), np.float32)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        number = self.rng.integers(0, 3, (self.agents, self.most))
        # Ranks, well apart from each other, in an order of their own for every agent.
        brightness = self.rng.permuted(np.tile(np.linspace(-1.0, 1.0, self.most), (self.agents, 1)), axis=1)
        self._things[..., :3] = np.eye(3)[number]
        self._things[..., 3] = brightness
        count = self.rng.integers(1, self.most + 1, self.agents)
        self._things[np.arange(self.most) >= count[:, None]] = 0.0

    def observe(self) -> Sequence[Array]:
        return [self._things.copy()]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        absent = ~self._things.any(axis=2)
        brightest = np.where(absent, -9.0, self._things[..., 3]).argmax(axis=1)
        number = self._things[np.arange(self.agents), brightest, :3].argmax(axis=1)
        return (action.discrete[:, 0] == number).astype(np.float32), np.zeros(self.agents)

    def variables(self) -> dict[str, Array]:
        return {"things": self._things}


class FallenMate(Task):
    """The first of two mates sees a sign, presses one of two buttons and falls; two steps later the group is paid 1 if
    the button was the right one, which the other mate sees from then on.

    Whoever counts only what a member was given until it fell learns nothing: the best it gets is 0.5.
    """

    spec = BehaviorSpec((ObservationSpec.vector(4, name="RoleSignAndDoor"),), ActionSpec.create_discrete((2,)))
    length = 3
    mates = 2

    def __init__(self, *, agents: int = 32, seed: int = 0) -> None:
        self._sign = np.zeros(agents // 2, np.int64)
        self._is_open = np.zeros(agents // 2, np.bool_)
        super().__init__(agents=agents, seed=seed)

    def begin(self) -> None:
        self._sign[:] = self.rng.integers(0, 2, self.agents // 2)
        self._is_open[:] = False

    def observe(self) -> Sequence[Array]:
        seen = np.zeros((self.agents, 4))
        seen[0::2, 0] = 1.0
        seen[0::2, 1] = (2.0 * self._sign - 1.0) * (self.time == 0)
        seen[1::2, 2] = self._is_open
        seen[1::2, 3] = self.time / self.length
        return [seen]

    def play(self, action: ActionBatch) -> tuple[Array, Array]:
        if self.time == 0:
            self._is_open[:] = action.discrete[0::2, 0] == self._sign
        paid = np.zeros(self.agents)
        if self.time == self.length - 1:
            paid[1::2] = self._is_open
        return np.zeros(self.agents), paid

    def score(self, reward: Array, group_reward: Array) -> Array:
        return (reward + group_reward)[1::2]

    def variables(self) -> dict[str, Array]:
        return {"sign": self._sign, "open": self._is_open}

    def step(self) -> None:
        was = self.time
        super().step()
        decision, terminal = self._steps
        first = decision.agent_id % 2 == 0
        if was == 0:  # the first mates fall, and ask for nothing any more
            fallen = TerminalSteps(
                obs=[decision.obs[0][first]],
                interrupted=np.zeros(int(first.sum()), np.bool_),
                **{name: getattr(decision, name)[first] for name in _IDENTITY},
            )
            self._steps = (_rows(decision, ~first), fallen)
        elif self.time:
            self._steps = (_rows(decision, ~first), terminal)
        else:  # only the second mates are there to see the end
            seen = terminal.agent_id % 2 == 1
            ended = TerminalSteps(
                obs=[terminal.obs[0][seen]],
                interrupted=terminal.interrupted[seen],
                **{name: getattr(terminal, name)[seen] for name in _IDENTITY},
            )
            self._steps = (decision, ended)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        decision = self._steps[0]
        action.validate(self.spec.action_spec, len(decision), behavior=behavior_name)
        discrete = np.zeros((self.agents, 1), np.int32)
        discrete[decision.agent_id] = action.discrete
        self._actions = ActionBatch(np.zeros((self.agents, 0), np.float32), discrete)


_IDENTITY = ("reward", "group_reward", "agent_id", "group_id", "arena_id")


def _rows(decision: DecisionSteps, rows: Array) -> DecisionSteps:
    columns = {name: getattr(decision, name)[rows] for name in _IDENTITY}
    return DecisionSteps(obs=[decision.obs[0][rows]], action_mask=None, **columns)
