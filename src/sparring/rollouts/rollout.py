"""A rollout: what was experienced since the last update, one row a decision.

Rows are appended in the order decisions are made, whichever agents make them and whenever; `next_row` links a
decision to the one that followed it in the same trajectory. Agents may come, go and pause as they like, no slot
is padded, and one pass from the last row to the first walks every trajectory backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.specs import ActionSpec

__all__ = ["Rollout", "RowStatus"]


class RowStatus(IntEnum):
    """What a row holds."""

    PENDING = 0
    """A decision whose outcome has not arrived."""
    COMPLETE = 1
    """A decision with its reward: it is learned from."""
    TAIL = 2
    """Only an observation, for the value of a trajectory that was cut there."""
    DROPPED = 3
    """A decision of an episode that was thrown away."""


class Rollout:
    """Columns over rows; see the module's text.

    Args:
        input_shapes: of the network inputs, without the leading axis.
        action_spec: the actions.
        capacity: rows there is room for at first.
        memory_size: numbers of memory the actor carries from decision to decision; 0 without memory.
        critic_memory_size: as memory_size, of a critic with a memory of its own.
        keeps_ends: whether the last observation of an episode that the rules ended is kept too, as a tail.
        records_groups: whether the columns that tell who was with whom are kept.

    Attributes:
        inputs: float32 `[rows, …]`, one array a network input.
        blocked: bool `[rows, choices of all branches]`, True where a choice was not available; None until a game
            sends a mask.
        continuous: float32 `[rows, continuous size]`, as sampled.
        discrete: int64 `[rows, branches]`.
        log_prob: float32 `[rows]`, joint log-probability under the acting policy.
        reward: float32 `[rows]`, individual plus group reward up to the next decision.
        next_row: int64 `[rows]`, -1 where the rules ended the trajectory, unless `keeps_ends`.
        terminated: bool `[rows]`, the rules ended the episode after this decision.
        cut: bool `[rows]`, the time horizon ends the trajectory here although it goes on in `next_row`.
        trajectory: int64 `[rows]`.
        status: int8 `[rows]`, a `RowStatus`.
        memory: float32 `[rows, memory_size]`, the actor's memory before the decision; None without memory.
        critic_memory: float32 `[rows, critic_memory_size]`; the learner fills it, and it follows a pending row into the
            next rollout. None without memory.
        group: int64 `[rows]`, the group of the agent, 0 where it has none; None unless `records_groups`, as are
        moment, ended_at: int64 `[rows]`, the step of the game of the decision and the one its outcome came with, and
        group_reward: float32 `[rows]`, the part of `reward` that the group was given.
    """

    def __init__(
        self,
        input_shapes: Sequence[tuple[int, ...]],
        action_spec: ActionSpec,
        *,
        capacity: int,
        memory_size: int = 0,
        critic_memory_size: int = 0,
        keeps_ends: bool = False,
        records_groups: bool = False,
    ) -> None:
        self._action_spec = action_spec
        self.keeps_ends = keeps_ends
        self.memory = np.zeros((capacity, memory_size), np.float32) if memory_size else None
        self.critic_memory = np.zeros((capacity, critic_memory_size), np.float32) if critic_memory_size else None
        self.group = np.zeros(capacity, np.int64) if records_groups else None
        self.moment = np.zeros(capacity, np.int64) if records_groups else None
        self.ended_at = np.zeros(capacity, np.int64) if records_groups else None
        self.group_reward = np.zeros(capacity, np.float32) if records_groups else None
        self.inputs = [np.zeros((capacity, *shape), np.float32) for shape in input_shapes]
        self.blocked: NDArray[np.bool_] | None = None
        self.continuous = np.zeros((capacity, action_spec.continuous_size), np.float32)
        self.discrete = np.zeros((capacity, action_spec.discrete_size), np.int64)
        self.log_prob = np.zeros(capacity, np.float32)
        self.reward = np.zeros(capacity, np.float32)
        self.next_row = np.full(capacity, -1, np.int64)
        self.terminated = np.zeros(capacity, np.bool_)
        self.cut = np.zeros(capacity, np.bool_)
        self.trajectory = np.zeros(capacity, np.int64)
        self.status = np.zeros(capacity, np.int8)
        self.size = 0
        self.num_complete = 0
        self._next_trajectory = 0

    @property
    def capacity(self) -> int:
        """Rows there is room for; grows by itself."""
        return len(self.reward)

    def begin_trajectories(self, count: int) -> NDArray[np.int64]:
        """Numbers for new trajectories; no two trajectories of a rollout's life share one, whoever's they are."""
        first = self._next_trajectory
        self._next_trajectory += count
        return np.arange(first, self._next_trajectory)

    def append(
        self,
        inputs: Sequence[NDArray[np.float32]],
        blocked: NDArray[np.bool_] | None,
        trajectory: NDArray[np.int64],
        *,
        status: RowStatus = RowStatus.PENDING,
        memory: NDArray[np.float32] | None = None,
        group: NDArray[np.integer[Any]] | None = None,
        moment: int = 0,
    ) -> NDArray[np.int64]:
        """Adds observations whose actions are still to come; gives their rows.

        Args:
            inputs, blocked, trajectory: columns of the same names.
            status: of all of them.
            memory: column of the same name; zeros if not given. Ignored without memory.
            group, moment: columns of the same names. Ignored unless groups are recorded.
        """
        count = len(trajectory)
        if self.size + count > self.capacity:
            self._resize(max(2 * self.capacity, self.size + count))
        start, stop = self.size, self.size + count
        for column, values in zip(self.inputs, inputs, strict=True):
            column[start:stop] = values
        if blocked is not None and self.blocked is None:
            self.blocked = np.zeros((self.capacity, self._action_spec.total_choices), np.bool_)
        if self.blocked is not None:
            self.blocked[start:stop] = False if blocked is None else blocked
        # What is not known yet is zero, not what an earlier rollout left: equal histories give equal bits.
        self.continuous[start:stop] = 0.0
        self.discrete[start:stop] = 0
        self.log_prob[start:stop] = 0.0
        self.reward[start:stop] = 0.0
        self.next_row[start:stop] = -1
        self.terminated[start:stop] = False
        self.cut[start:stop] = False
        self.trajectory[start:stop] = trajectory
        self.status[start:stop] = status
        if self.memory is not None:
            self.memory[start:stop] = 0.0 if memory is None else memory
        if self.critic_memory is not None:
            self.critic_memory[start:stop] = 0.0
        if self.group is not None:
            self._begin_group_columns(slice(start, stop), group, moment)
        self.size = stop
        return np.arange(start, stop)

    def _begin_group_columns(self, rows: slice, group: NDArray[np.integer[Any]] | None, moment: int) -> None:
        columns = self._optional_columns()
        columns["group"][rows] = 0 if group is None else group
        columns["moment"][rows] = moment
        columns["ended_at"][rows] = -1
        columns["group_reward"][rows] = 0.0

    def set_actions(
        self,
        rows: NDArray[np.int64],
        *,
        continuous: NDArray[np.float32],
        discrete: NDArray[np.int64],
        log_prob: NDArray[np.float32],
    ) -> None:
        """Enters what the policy chose in the rows."""
        self.continuous[rows] = continuous
        self.discrete[rows] = discrete
        self.log_prob[rows] = log_prob

    def complete(
        self,
        rows: NDArray[np.int64],
        reward: NDArray[np.float32],
        *,
        next_row: NDArray[np.int64] | None = None,
        terminated: NDArray[np.bool_] | None = None,
        cut: NDArray[np.bool_] | None = None,
        group_reward: NDArray[np.float32] | None = None,
        moment: int = 0,
    ) -> None:
        """Enters the outcome of the decisions in the rows: what followed, or that the rules ended the episode.

        Args:
            rows: where.
            reward, next_row, terminated, cut, group_reward: columns of the same names.
            moment: the step of the game the outcome came with, `ended_at`.
        """
        self.reward[rows] = reward
        self.status[rows] = RowStatus.COMPLETE
        if next_row is not None:
            self.next_row[rows] = next_row
        if terminated is not None:
            self.terminated[rows] = terminated
        if cut is not None:
            self.cut[rows] = cut
        if self.ended_at is not None:
            self.ended_at[rows] = moment
        if self.group_reward is not None and group_reward is not None:
            self.group_reward[rows] = group_reward
        self.num_complete += len(rows)

    def abandon(self, rows: NDArray[np.int64]) -> None:
        """Makes pending rows the tails of their trajectories: their outcome will not be recorded."""
        self.status[rows] = RowStatus.TAIL

    def drop(self, trajectories: NDArray[np.int64]) -> int:
        """Throws whole trajectories away; gives how many finished decisions were lost."""
        rows = np.flatnonzero(np.isin(self.trajectory[: self.size], trajectories))
        lost = int(np.count_nonzero(self.status[rows] == RowStatus.COMPLETE))
        self.status[rows] = RowStatus.DROPPED
        self.num_complete -= lost
        return lost

    def complete_rows(self) -> NDArray[np.int64]:
        """The rows to learn from, in order."""
        return np.flatnonzero(self.status[: self.size] == RowStatus.COMPLETE)

    def carry_over(self) -> NDArray[np.int64]:
        """Empties the rollout but for pending rows, which move to the front.

        Returns:
            `new_row[old]`, -1 where a row is gone.
        """
        pending = np.flatnonzero(self.status[: self.size] == RowStatus.PENDING)
        new_row = np.full(self.size, -1, np.int64)
        count = len(pending)
        new_row[pending] = np.arange(count)
        for column in self._columns().values():
            column[:count] = column[pending]
        self.size = count
        self.num_complete = 0
        return new_row

    def state(self) -> dict[str, Any]:
        """Copies of the rows in use."""
        return {
            "size": self.size,
            "next_trajectory": self._next_trajectory,
            "columns": {name: column[: self.size].copy() for name, column in self._columns().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        size = int(state["size"])
        self._next_trajectory = int(state["next_trajectory"])
        self.blocked = None
        if "blocked" in state["columns"]:
            self.blocked = np.zeros((self.capacity, self._action_spec.total_choices), np.bool_)
        if size > self.capacity:
            self._resize(size)
        for name, column in self._columns().items():
            column[:size] = state["columns"][name]
        self.size = size
        self.num_complete = int(np.count_nonzero(self.status[:size] == RowStatus.COMPLETE))

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {f"input_{index}": column for index, column in enumerate(self.inputs)}
        if self.blocked is not None:
            columns["blocked"] = self.blocked
        for name in _PLAIN_COLUMNS:
            columns[name] = getattr(self, name)
        return columns | self._optional_columns()

    def _optional_columns(self) -> dict[str, NDArray[Any]]:
        columns = {name: getattr(self, name) for name in _OPTIONAL_COLUMNS}
        return {name: column for name, column in columns.items() if column is not None}

    def _resize(self, capacity: int) -> None:
        def grown(column: NDArray[Any]) -> NDArray[Any]:
            larger = np.zeros((capacity, *column.shape[1:]), column.dtype)
            larger[: self.size] = column[: self.size]
            return larger

        self.inputs = [grown(column) for column in self.inputs]
        if self.blocked is not None:
            self.blocked = grown(self.blocked)
        for name in (*_PLAIN_COLUMNS, *self._optional_columns()):
            setattr(self, name, grown(getattr(self, name)))


_PLAIN_COLUMNS = (
    "continuous",
    "discrete",
    "log_prob",
    "reward",
    "next_row",
    "terminated",
    "cut",
    "trajectory",
    "status",
)
_OPTIONAL_COLUMNS = ("memory", "critic_memory", "group", "moment", "ended_at", "group_reward")
