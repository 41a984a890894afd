"""Builders of steps and of games that play from a script, for tests of whatever reads steps.

An exchange is written in the notation of the cases: `D[1 r=0.5, 4] T[2 r=1 end]` means that agents 1 and 4 ask for a
decision, agent 1 with a reward of 0.5, and that agent 2 ends its episode with a reward of 1. Words of an agent:
`r=` reward, `g=` group reward, `G5` group 5, `a1` arena 1, `s=` match score, and of an ended one `end` or `int`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparring.environments import Environment
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = ["TRACED", "ScriptedGame", "decisions", "exchange", "terminals"]

TRACED = BehaviorSpec((ObservationSpec.vector(2, name="Trace"),), ActionSpec.create_discrete((2,)))
"""Observations of two numbers, agent and time, so that a test can tell where a row came from."""


def decisions(
    agent_id: Sequence[int],
    *,
    spec: BehaviorSpec = TRACED,
    obs: Sequence[Any] | None = None,
    reward: Sequence[float] | None = None,
    group_reward: Sequence[float] | None = None,
    group_id: Sequence[int] | None = None,
    arena_id: Sequence[int] | None = None,
    action_mask: Sequence[Any] | None = None,
) -> DecisionSteps:
    """Agents that ask for an action; what is not given is zero."""
    count = len(agent_id)
    return DecisionSteps(
        obs=_observations(spec, count, obs),
        reward=_column(reward, count, np.float32),
        agent_id=np.array(agent_id, np.int32),
        action_mask=None if action_mask is None else [np.array(branch, np.bool_) for branch in action_mask],
        group_id=_column(group_id, count, np.int32),
        group_reward=_column(group_reward, count, np.float32),
        arena_id=None if arena_id is None else np.array(arena_id, np.int32),
    )


def terminals(
    agent_id: Sequence[int],
    *,
    spec: BehaviorSpec = TRACED,
    obs: Sequence[Any] | None = None,
    reward: Sequence[float] | None = None,
    interrupted: Sequence[bool] | None = None,
    group_reward: Sequence[float] | None = None,
    group_id: Sequence[int] | None = None,
    arena_id: Sequence[int] | None = None,
    match_score: Sequence[float] | None = None,
) -> TerminalSteps:
    """Agents whose episode ended; what is not given is zero."""
    count = len(agent_id)
    return TerminalSteps(
        obs=_observations(spec, count, obs),
        reward=_column(reward, count, np.float32),
        interrupted=_column(interrupted, count, np.bool_),
        agent_id=np.array(agent_id, np.int32),
        group_id=_column(group_id, count, np.int32),
        group_reward=_column(group_reward, count, np.float32),
        arena_id=None if arena_id is None else np.array(arena_id, np.int32),
        match_score=None if match_score is None else np.array(match_score, np.float32),
    )


def _observations(spec: BehaviorSpec, count: int, obs: Sequence[Any] | None) -> list[Any]:
    if obs is not None:
        return [np.array(sensor, np.float32) for sensor in obs]
    return [np.zeros((count, *sensor.shape), np.float32) for sensor in spec.observation_specs]


def _column(values: Sequence[Any] | None, count: int, dtype: type) -> Any:
    return np.zeros(count, dtype) if values is None else np.array(values, dtype)


@dataclass(frozen=True)
class _Agent:
    agent: int
    reward: float = 0.0
    group_reward: float = 0.0
    group: int = 0
    arena: int = 0
    interrupted: bool = False
    score: float = float("nan")


_WORDS = {"r": "reward", "g": "group_reward", "s": "score"}


def _agents(text: str) -> list[_Agent]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        number, *words = part.split()
        fields: dict[str, Any] = {}
        for word in words:
            key, is_assigned, value = word.partition("=")
            if is_assigned:
                fields[_WORDS[key]] = float(value)
            elif word in ("end", "int"):
                fields["interrupted"] = word == "int"
            else:
                fields["group" if word[0] == "G" else "arena"] = int(word[1:])
        found.append(_Agent(int(number), **fields))
    return found


def exchange(text: str, *, time: float = 0.0) -> tuple[DecisionSteps, TerminalSteps]:
    """The columns of one exchange in the notation of the cases, with observations `TRACED`.

    An agent that asks sees (agent, time), one that ends (agent, time + 0.5).
    """
    parts = {kind: _agents(inside) for kind, inside in re.findall(r"([DT])\[(.*?)\]", text)}
    asking, ending = parts.get("D", []), parts.get("T", [])
    decision = decisions(
        [each.agent for each in asking],
        obs=[np.array([[each.agent, time] for each in asking], np.float32).reshape(-1, 2)],
        **_columns_of(asking),
    )
    states_result = any(not np.isnan(each.score) for each in ending)
    terminal = terminals(
        [each.agent for each in ending],
        obs=[np.array([[each.agent, time + 0.5] for each in ending], np.float32).reshape(-1, 2)],
        interrupted=[each.interrupted for each in ending],
        match_score=[each.score for each in ending] if states_result else None,
        **_columns_of(ending),
    )
    return decision, terminal


def _columns_of(agents: Sequence[_Agent]) -> dict[str, Any]:
    return {
        "reward": [each.reward for each in agents],
        "group_reward": [each.group_reward for each in agents],
        "group_id": [each.group for each in agents],
        "arena_id": [each.arena for each in agents],
    }


class ScriptedGame(Environment):
    """Gives the exchanges of a script in turn, whatever it is told to do; after the last, nobody is there.

    Args:
        scripts: by full behavior name, the exchanges as text (see `exchange`) or as columns.
        spec: of all behaviors.
    """

    def __init__(
        self,
        scripts: Mapping[str, Sequence[str | tuple[DecisionSteps, TerminalSteps]]],
        *,
        spec: BehaviorSpec = TRACED,
    ) -> None:
        self._spec = spec
        self._scripts = {
            name: [exchange(entry, time=time) if isinstance(entry, str) else entry for time, entry in enumerate(script)]
            for name, script in scripts.items()
        }
        self.time = 0
        self.actions: dict[int, dict[str, ActionBatch]] = defaultdict(dict)
        """What was set at each exchange, by full name."""
        self.is_closed = False

    @property
    def length(self) -> int:
        """Exchanges of the longest script."""
        return max(len(script) for script in self._scripts.values())

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict.fromkeys(self._scripts, self._spec)

    def reset(self) -> None:
        self.time = 0

    def step(self) -> None:
        assert self.time < 2 * self.length + 10, "whoever plays this does not notice that it is over"
        self.time += 1

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        script = self._scripts[behavior_name]
        if self.time < len(script):
            return script[self.time]
        return DecisionSteps.empty(self._spec), TerminalSteps.empty(self._spec)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        action.validate(self._spec.action_spec, len(self.get_steps(behavior_name)[0]), behavior=behavior_name)
        self.actions[self.time][behavior_name] = action

    def close(self) -> None:
        self.is_closed = True
