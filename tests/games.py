"""Small games for tests: cheap, deterministic given a seed, and fully saved and restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.environments import Environment, EnvironmentStatistic
from sparring.settings import Sampler
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.worlds.arena_parameters import ArenaParameters, ParameterRange

__all__ = ["Role", "WalkGame", "duel", "two_roles"]


@dataclass(frozen=True)
class Role:
    """One behavior on one team, with its agents an arena and the end of the line it wants to reach."""

    full_name: str
    goal: int
    agents: int = 1


class WalkGame(Environment):
    """Agents walk on a line of `2 * half + 1` places from near the middle; the first to reach its end scores.

    Observation: place, goal, ticks left. Action: one branch of three, left, stay, right. A step costs the environment
    parameter `cost`, 0.05 by default; reaching the goal gives 1 and ends the match for everybody in the arena; `limit`
    steps interrupt it. With `states_result` the match score tells who reached its goal.
    """

    def __init__(
        self,
        roles: tuple[Role, ...],
        *,
        num_arenas: int = 2,
        seed: int = 0,
        half: int = 3,
        limit: int = 12,
        states_result: bool = False,
    ) -> None:
        self._roles = roles
        self._half = half
        self._limit = limit
        self._states_result = states_result
        self._rng = np.random.default_rng(seed)
        self._arenas = num_arenas
        self._spec = BehaviorSpec((ObservationSpec.vector(3, name="Line"),), ActionSpec.create_discrete((3,)))
        self._place = [np.zeros((num_arenas, role.agents), np.int64) for role in roles]
        self._tick = np.zeros(num_arenas, np.int64)
        self._cost = np.zeros(num_arenas)
        self._parameters = ArenaParameters({"cost": ParameterRange(0.05, 0.0, 1.0)}, num_arenas=num_arenas)
        self._steps: dict[str, tuple[DecisionSteps, TerminalSteps]] = {}
        self._moves: dict[str, NDArray[Any]] = {}
        self.closed = False

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {role.full_name: self._spec for role in self._roles}

    def reset(self) -> None:
        self._begin(np.arange(self._arenas))
        for role in self._roles:
            self._steps[role.full_name] = (self._decisions(role, None), TerminalSteps.empty(self._spec))

    def _begin(self, arenas: NDArray[Any]) -> None:
        self._tick[arenas] = 0
        self._cost[arenas] = self._parameters.next_values[arenas, 0]
        self._parameters.begin(arenas)
        for place in self._place:
            place[arenas] = self._rng.integers(-1, 2, (len(arenas), place.shape[1]))

    def step(self) -> None:
        self._tick += 1
        reached = np.zeros((self._arenas, len(self._roles)), bool)
        for index, role in enumerate(self._roles):
            moves = self._moves.get(role.full_name, np.ones(self._place[index].size, np.int64))
            self._place[index] += moves.reshape(self._place[index].shape) - 1
            np.clip(self._place[index], -self._half, self._half, out=self._place[index])
            reached[:, index] = (self._place[index] == role.goal * self._half).any(axis=1)
        self._moves = {}
        won = reached.any(axis=1)
        over = won | (self._tick >= self._limit)
        ended = np.flatnonzero(over)
        terminals = [self._terminals(index, reached, ended, interrupted=~won) for index in range(len(self._roles))]
        self._begin(ended)
        for role, terminal in zip(self._roles, terminals, strict=True):
            self._steps[role.full_name] = (self._decisions(role, over), terminal)

    def _observations(self, index: int, arenas: NDArray[Any]) -> NDArray[Any]:
        place = self._place[index][arenas]
        columns = [
            place / self._half,
            np.full(place.shape, float(self._roles[index].goal)),
            np.broadcast_to(1.0 - self._tick[arenas, None] / self._limit, place.shape),
        ]
        return np.stack(columns, axis=-1).reshape(-1, 3).astype(np.float32)

    def _identity(self, index: int, arenas: NDArray[Any]) -> dict[str, Any]:
        agents = self._roles[index].agents
        first = sum(role.agents for role in self._roles[:index]) * self._arenas
        ids = first + arenas[:, None] * agents + np.arange(agents)
        count = ids.size
        return {
            "agent_id": ids.reshape(-1).astype(np.int32),
            "group_id": np.zeros(count, np.int32),
            "group_reward": np.zeros(count, np.float32),
            "arena_id": np.repeat(arenas, agents).astype(np.int32),
        }

    def _decisions(self, role: Role, begun: NDArray[Any] | None) -> DecisionSteps:
        index = self._roles.index(role)
        arenas = np.arange(self._arenas)
        reward = -self._cost.astype(np.float32)
        reward[arenas if begun is None else begun] = 0.0
        return DecisionSteps(
            obs=[self._observations(index, arenas)],
            reward=np.repeat(reward, role.agents),
            action_mask=None,
            **self._identity(index, arenas),
        )

    def _terminals(self, index: int, reached: NDArray[Any], ended: NDArray[Any], *, interrupted: Any) -> TerminalSteps:
        agents = self._roles[index].agents
        reward = np.where(reached[ended, index], 1.0, -self._cost[ended]).astype(np.float32)
        return TerminalSteps(
            obs=[self._observations(index, ended)],
            reward=np.repeat(reward, agents),
            interrupted=np.repeat(interrupted[ended], agents),
            match_score=np.repeat(reached[ended, index].astype(np.float32), agents) if self._states_result else None,
            **self._identity(index, ended),
        )

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        return self._steps[behavior_name]

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        action.validate(self._spec.action_spec, len(self._steps[behavior_name][0]), behavior=behavior_name)
        self._moves[behavior_name] = action.discrete[:, 0].astype(np.int64)

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        self._parameters.set_numbers(parameters)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        self._parameters.set_samplers(samplers)

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        return self._parameters.take_statistics()

    def close(self) -> None:
        self.closed = True

    def save_state(self) -> dict[str, Any]:
        return {
            "place": {str(index): place.copy() for index, place in enumerate(self._place)},
            "tick": self._tick.copy(),
            "cost": self._cost.copy(),
            "parameters": self._parameters.save_state(),
            "rng": self._rng.bit_generator.state,
            "begun": {name: steps[0].reward.copy() for name, steps in self._steps.items()},
            "terminal": {name: _terminal_state(steps[1]) for name, steps in self._steps.items()},
        }

    def restore_state(self, state: dict[str, Any]) -> None:
        self._place = [np.array(state["place"][str(index)]) for index in range(len(self._roles))]
        self._tick = np.array(state["tick"])
        self._cost = np.array(state["cost"])
        self._parameters.restore_state(self._parameters.checked_state(state["parameters"]))
        self._rng.bit_generator.state = state["rng"]
        for index, role in enumerate(self._roles):
            decision = DecisionSteps(
                obs=[self._observations(index, np.arange(self._arenas))],
                reward=np.array(state["begun"][role.full_name]),
                action_mask=None,
                **self._identity(index, np.arange(self._arenas)),
            )
            stored = state["terminal"][role.full_name]
            score = stored.get("match_score")
            terminal = TerminalSteps(
                obs=[np.array(stored["obs"])],
                match_score=None if score is None else np.array(score),
                **{name: np.array(stored[name]) for name in _TERMINAL_COLUMNS},
            )
            self._steps[role.full_name] = (decision, terminal)


_TERMINAL_COLUMNS = ("reward", "interrupted", "agent_id", "group_id", "group_reward", "arena_id")


def _terminal_state(terminal: TerminalSteps) -> dict[str, Any]:
    state: dict[str, Any] = {
        name: np.array(getattr(terminal, name)) for name in _TERMINAL_COLUMNS if name != "arena_id"
    }
    state["arena_id"] = np.zeros(0, np.int32) if terminal.arena_id is None else terminal.arena_id.copy()
    state["obs"] = terminal.obs[0].copy()
    if terminal.match_score is not None:
        state["match_score"] = terminal.match_score.copy()
    return state


def two_roles(*, num_arenas: int = 2, seed: int = 0, threads: int = 1) -> WalkGame:
    """Two behaviors that want to reach opposite ends."""
    del threads
    return WalkGame((Role("Left?team=0", -1), Role("Right?team=1", 1)), num_arenas=num_arenas, seed=seed)


def duel(*, num_arenas: int = 2, seed: int = 0, threads: int = 1, agents: int = 1) -> WalkGame:
    """One behavior on two teams, whose result the game states."""
    del threads
    roles = (Role("Duel?team=0", 1, agents), Role("Duel?team=1", 1, agents))
    return WalkGame(roles, num_arenas=num_arenas, seed=seed, states_result=True)
