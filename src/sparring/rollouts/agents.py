"""The agents of one behavior on one team, by slot: their ids, open episodes and pending decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_ROW", "AgentTable"]

NO_ROW = -1
"""Marks a slot without a pending decision."""

_FREE = -1
_INITIAL_SLOTS = 16


class AgentTable:
    """Columns over slots; an agent keeps its slot from its first step to its last.

    Args:
        memory_size: numbers of memory an agent carries from one decision to the next; 0 without memory.

    Attributes:
        agent_id: int64 `[slots]`, -1 where the slot is free.
        arena: int64 `[slots]`, the copy of the game the agent lives in.
        is_open: bool `[slots]`, the agent's episode is under way.
        returns, group_returns: float64 `[slots]`, individual and group reward of the episode so far.
        length: int64 `[slots]`, decisions of the episode so far.
        row: int64 `[slots]`, the rollout's row of the agent's last decision, `NO_ROW` where none is recorded.
        segment: int64 `[slots]`, recorded decisions since the trajectory was last cut.
        trajectory: int64 `[slots]`, the rollout's number of the recorded trajectory.
        is_dropped: bool `[slots]`, the rest of the episode is not recorded.
        is_outdated: bool `[slots]`, the episode began before the environment parameters were what they are now.
        memory: float32 `[slots, memory_size]`, before the agent's next decision; zeros where an episode begins.
    """

    def __init__(self, *, memory_size: int = 0) -> None:
        # Never empty: what was looked up and not found, slot -1, can be used as an index and masked after.
        self.agent_id = np.full(_INITIAL_SLOTS, _FREE, np.int64)
        self.arena = np.zeros(_INITIAL_SLOTS, np.int64)
        self.is_open = np.zeros(_INITIAL_SLOTS, np.bool_)
        self.returns = np.zeros(_INITIAL_SLOTS, np.float64)
        self.group_returns = np.zeros(_INITIAL_SLOTS, np.float64)
        self.length = np.zeros(_INITIAL_SLOTS, np.int64)
        self.row = np.full(_INITIAL_SLOTS, NO_ROW, np.int64)
        self.segment = np.zeros(_INITIAL_SLOTS, np.int64)
        self.trajectory = np.zeros(_INITIAL_SLOTS, np.int64)
        self.is_dropped = np.zeros(_INITIAL_SLOTS, np.bool_)
        self.is_outdated = np.zeros(_INITIAL_SLOTS, np.bool_)
        self.memory = np.zeros((_INITIAL_SLOTS, memory_size), np.float32)
        self._seen_ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._seen_slots: NDArray[np.int64] = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.agent_id != _FREE))

    def find(self, agent_id: NDArray[np.int32]) -> NDArray[np.int64]:
        """The slot of each agent, -1 for agents that have none."""
        if np.array_equal(agent_id, self._seen_ids):
            return self._seen_slots
        used = np.flatnonzero(self.agent_id != _FREE)
        if len(used) == 0:
            return np.full(len(agent_id), -1, np.int64)
        by_id = used[np.argsort(self.agent_id[used])]
        place = np.minimum(np.searchsorted(self.agent_id[by_id], agent_id), len(by_id) - 1)
        slots = by_id[place]
        return np.where(self.agent_id[slots] == agent_id, slots, -1)

    def find_or_add(self, agent_id: NDArray[np.int32], arena: NDArray[np.int32] | None) -> NDArray[np.int64]:
        """The slot of each agent; agents that have none get one. Ids must be unique and not negative."""
        slots = self.find(agent_id)
        missing = slots < 0
        if missing.any():
            slots = slots.copy()
            slots[missing] = self._take_free(int(missing.sum()))
            self.agent_id[slots[missing]] = agent_id[missing]
            self.arena[slots[missing]] = 0 if arena is None else arena[missing]
        # The same agents mostly ask at every step: remember their slots rather than search again.
        self._seen_ids, self._seen_slots = agent_id.astype(np.int64), slots
        return slots

    def _take_free(self, count: int) -> NDArray[np.int64]:
        free = np.flatnonzero(self.agent_id == _FREE)
        if len(free) < count:
            self._resize(max(2 * len(self.agent_id), len(self.agent_id) + count))
            free = np.flatnonzero(self.agent_id == _FREE)
        return free[:count]

    def _resize(self, slots: int) -> None:
        if not self.memory.shape[1]:
            self.memory = np.zeros((slots, 0), np.float32)
        for name, column in self._columns().items():
            fill = {"agent_id": _FREE, "row": NO_ROW}.get(name, 0)
            grown = np.full((slots, *column.shape[1:]), fill, column.dtype)
            grown[: len(column)] = column
            setattr(self, name, grown)

    def open_episodes(self, slots: NDArray[np.int64], arena: NDArray[np.int32] | None = None) -> NDArray[np.bool_]:
        """Opens the episodes of slots that have none under way; True where one was opened.

        Args:
            slots: of agents that ask.
            arena: where each of them plays now; an agent may begin elsewhere than where it ended.
        """
        opened = ~self.is_open[slots]
        if opened.any():
            new = slots[opened]
            if arena is not None:
                self.arena[new] = arena[opened]
            self.is_open[new] = True
            self.returns[new] = 0.0
            self.group_returns[new] = 0.0
            self.length[new] = 0
            self.row[new] = NO_ROW
            self.is_dropped[new] = False
            self.is_outdated[new] = False
            self.memory[new] = 0.0
        return opened

    def close_episodes(self, slots: NDArray[np.int64]) -> None:
        """Ends the episodes of slots; those that do not open again in the same step are freed by `free_closed`."""
        self.is_open[slots] = False
        self.row[slots] = NO_ROW

    def begin_trajectories(self, slots: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Begins new recorded trajectories, which the rollout has numbered."""
        self.segment[slots] = 0
        self.trajectory[slots] = numbers

    def free_closed(self) -> None:
        """Frees the slots whose agents have gone."""
        gone = (self.agent_id != _FREE) & ~self.is_open
        if gone.any():
            self.agent_id[gone] = _FREE
            self._seen_ids = self._seen_ids[:0]
            self._seen_slots = self._seen_slots[:0]

    def move_rows(self, new_row: NDArray[np.int64]) -> None:
        """Renames pending rows: `new_row[old]` is where row `old` went, `NO_ROW` where it is gone."""
        pending = self.row != NO_ROW
        self.row[pending] = new_row[self.row[pending]]

    def state(self) -> dict[str, Any]:
        """Copies of all columns."""
        return {"columns": {name: column.copy() for name, column in self._columns().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        for name in self._columns():
            setattr(self, name, np.array(state["columns"][name]))
        if not self.memory.shape[1]:
            self.memory = np.zeros((len(self.agent_id), 0), np.float32)
        self._seen_ids = np.zeros(0, np.int64)
        self._seen_slots = np.zeros(0, np.int64)

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {
            "agent_id": self.agent_id,
            "arena": self.arena,
            "is_open": self.is_open,
            "returns": self.returns,
            "group_returns": self.group_returns,
            "length": self.length,
            "row": self.row,
            "segment": self.segment,
            "trajectory": self.trajectory,
            "is_dropped": self.is_dropped,
            "is_outdated": self.is_outdated,
        }
        if self.memory.shape[1]:
            columns["memory"] = self.memory
        return columns
