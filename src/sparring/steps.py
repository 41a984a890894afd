"""Batches of agents as columns: what the game gives at a step and what it is given back.

An agent is in `DecisionSteps` when it asks for an action and in `TerminalSteps` when its episode ended; in one
step it may be in both (the old episode ended, the new one began under the same id). The leading axis of every
array is agents. Rewards are those gathered since the agent's last decision.

The names are those of the low-level API Unity users know. Two columns are ours: `arena_id` tells which agents
share one copy of the game (None: unknown), `match_score` is the explicit result of a finished match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.errors import SpecError
from sparring.specs import ActionSpec, BehaviorSpec

__all__ = ["ActionBatch", "DecisionStep", "DecisionSteps", "TerminalStep", "TerminalSteps"]

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]


class DecisionStep(NamedTuple):
    """One agent's row of a `DecisionSteps`."""

    obs: list[FloatArray]
    reward: float
    agent_id: int
    action_mask: list[BoolArray] | None
    group_id: int
    group_reward: float


class TerminalStep(NamedTuple):
    """One agent's row of a `TerminalSteps`."""

    obs: list[FloatArray]
    reward: float
    interrupted: bool
    agent_id: int
    group_id: int
    group_reward: float


@dataclass(slots=True)
class _AgentRows:
    """Looks up rows by agent id; the mapping is built at the first look-up."""

    agent_id: IntArray
    _row: dict[int, int] | None = field(default=None, init=False, repr=False)

    def index(self) -> dict[int, int]:
        if self._row is None:
            self._row = {int(agent): row for row, agent in enumerate(self.agent_id)}
        return self._row


@dataclass(frozen=True, slots=True)
class DecisionSteps(Mapping[int, DecisionStep]):
    """The agents that ask for an action, as columns.

    Attributes:
        obs: one float32 array `[agents, *sensor shape]` a sensor, in the order of the spec.
        reward, group_reward: float32 `[agents]`, gathered since the last decision.
        agent_id: int32 `[agents]`, unique within the step.
        group_id: int32 `[agents]`; 0 means no group.
        action_mask: one bool array `[agents, branch size]` a branch, True where a choice is *not* available;
            None when everything is available.
        arena_id: int32 `[agents]`, the copy of the game an agent lives in; None when the game does not tell.
    """

    obs: Sequence[FloatArray]
    reward: FloatArray
    agent_id: IntArray
    action_mask: Sequence[BoolArray] | None
    group_id: IntArray
    group_reward: FloatArray
    arena_id: IntArray | None = None
    _rows: _AgentRows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", _AgentRows(self.agent_id))

    @property
    def agent_id_to_index(self) -> dict[int, int]:
        """The row of each agent."""
        return self._rows.index()

    def __len__(self) -> int:
        return len(self.agent_id)

    def __iter__(self) -> Iterator[int]:
        return iter(int(agent) for agent in self.agent_id)

    def __getitem__(self, agent_id: int) -> DecisionStep:
        row = self.agent_id_to_index[agent_id]
        mask = None if self.action_mask is None else [branch[row] for branch in self.action_mask]
        return DecisionStep(
            [sensor[row] for sensor in self.obs],
            float(self.reward[row]),
            agent_id,
            mask,
            int(self.group_id[row]),
            float(self.group_reward[row]),
        )

    @classmethod
    def empty(cls, spec: BehaviorSpec) -> DecisionSteps:
        """Nobody asks for an action."""
        return cls(
            obs=[np.zeros((0, *sensor.shape), np.float32) for sensor in spec.observation_specs],
            reward=np.zeros(0, np.float32),
            agent_id=np.zeros(0, np.int32),
            action_mask=None,
            group_id=np.zeros(0, np.int32),
            group_reward=np.zeros(0, np.float32),
        )


@dataclass(frozen=True, slots=True)
class TerminalSteps(Mapping[int, TerminalStep]):
    """The agents whose episode ended, as columns.

    Attributes are those of `DecisionSteps` without the mask, and:

    Attributes:
        interrupted: bool `[agents]`; True when a step limit or something outside the rules ended the episode.
        match_score: float32 `[agents]`, the explicit result of the agent's team in its match, compared between
            teams (higher is better, equal is a draw); NaN where a row has none, None when the game gives none.
    """

    obs: Sequence[FloatArray]
    reward: FloatArray
    interrupted: BoolArray
    agent_id: IntArray
    group_id: IntArray
    group_reward: FloatArray
    arena_id: IntArray | None = None
    match_score: FloatArray | None = None
    _rows: _AgentRows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", _AgentRows(self.agent_id))

    @property
    def agent_id_to_index(self) -> dict[int, int]:
        """The row of each agent."""
        return self._rows.index()

    def __len__(self) -> int:
        return len(self.agent_id)

    def __iter__(self) -> Iterator[int]:
        return iter(int(agent) for agent in self.agent_id)

    def __getitem__(self, agent_id: int) -> TerminalStep:
        row = self.agent_id_to_index[agent_id]
        return TerminalStep(
            [sensor[row] for sensor in self.obs],
            float(self.reward[row]),
            bool(self.interrupted[row]),
            agent_id,
            int(self.group_id[row]),
            float(self.group_reward[row]),
        )

    @classmethod
    def empty(cls, spec: BehaviorSpec) -> TerminalSteps:
        """Nobody's episode ended."""
        return cls(
            obs=[np.zeros((0, *sensor.shape), np.float32) for sensor in spec.observation_specs],
            reward=np.zeros(0, np.float32),
            interrupted=np.zeros(0, np.bool_),
            agent_id=np.zeros(0, np.int32),
            group_id=np.zeros(0, np.int32),
            group_reward=np.zeros(0, np.float32),
        )


@dataclass(frozen=True, slots=True)
class ActionBatch:
    """Actions for a batch of agents, as columns.

    Attributes:
        continuous: float32 `[agents, continuous size]`.
        discrete: int32 `[agents, branches]`, the choice in each branch.
    """

    continuous: FloatArray
    discrete: IntArray

    def __len__(self) -> int:
        return len(self.continuous)

    @classmethod
    def zeros(cls, spec: ActionSpec, agents: int) -> ActionBatch:
        """Zeros and first choices."""
        return cls(
            np.zeros((agents, spec.continuous_size), np.float32),
            np.zeros((agents, spec.discrete_size), np.int32),
        )

    @classmethod
    def random(
        cls,
        spec: ActionSpec,
        agents: int,
        rng: np.random.Generator,
        *,
        action_mask: Sequence[BoolArray] | None = None,
    ) -> ActionBatch:
        """Uniform in [-1, 1] and uniform over the available choices (over all, where none is available)."""
        continuous = rng.uniform(-1.0, 1.0, (agents, spec.continuous_size)).astype(np.float32)
        discrete = np.empty((agents, spec.discrete_size), np.int32)
        for branch, size in enumerate(spec.discrete_branches):
            score = rng.random((agents, size))
            if action_mask is not None:
                score -= action_mask[branch]
            discrete[:, branch] = score.argmax(axis=1)
        return cls(continuous, discrete)

    def validate(self, spec: ActionSpec, agents: int, *, behavior: str = "") -> None:
        """Checks shapes and values against the spec.

        Raises:
            SpecError: a wrong number of agents or actions, a choice outside its branch, or a non-finite number.
        """
        where = f"actions for {behavior}" if behavior else "actions"
        for kind, found, expected in (
            ("continuous", self.continuous.shape, (agents, spec.continuous_size)),
            ("discrete", self.discrete.shape, (agents, spec.discrete_size)),
        ):
            if found != expected:
                raise SpecError(f"wrong shape of {kind} actions", where=where, found=str(found), expected=str(expected))
        if not np.isfinite(self.continuous).all():
            agent, index = np.argwhere(~np.isfinite(self.continuous))[0]
            raise SpecError(f"continuous action {index} of row {agent} is not finite", where=where)
        sizes = np.asarray(spec.discrete_branches, np.int32)
        outside = (self.discrete < 0) | (self.discrete >= sizes)
        if outside.any():
            row, branch = np.argwhere(outside)[0]
            raise SpecError(
                f"choice out of range in branch {branch} of row {row}",
                where=where,
                found=str(self.discrete[row, branch]),
                expected=f"0 to {sizes[branch] - 1}",
            )
