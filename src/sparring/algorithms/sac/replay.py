"""The replay: decisions of earlier policies as columns over whole sequences.

Without memory a sequence is one decision. With memory it is up to `length` consecutive decisions of one trajectory; it
is written decision by decision, can be learned from before it is full, and is never cut apart: the oldest sequence
makes room for a new one. Every sequence also holds the observation behind its last decision, so what followed a
decision is always the real next observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparring.algorithms.signals import Transitions
from sparring.errors import CheckpointError
from sparring.rollouts import Rollout, RowStatus
from sparring.specs import ActionSpec

__all__ = ["Replay", "ReplayBatch"]


@dataclass(frozen=True, slots=True)
class ReplayBatch:
    """Some sequences of a replay on the learner's device.

    Attributes:
        inputs: of the networks, `[sequences, length + 1, …]`: the observation of every decision and the one behind the
            last. Zeros where there is none.
        places: int64, which of the `sequences * length` decisions are real; None if all are.
        memory: `[sequences, memory_size]`, the actor's before the first decision; None without memory.
        blocked: bool `[rows, choices]` of the real decisions, True where a choice was not available; None if none was.
        transitions: the real decisions and what followed.
    """

    inputs: list[Tensor]
    places: Tensor | None
    memory: Tensor | None
    blocked: Tensor | None
    transitions: Transitions

    @property
    def length(self) -> int:
        """Decisions a sequence has room for."""
        return self.inputs[0].shape[1] - 1

    def features(self, body: nn.Module, memory: Tensor | None = None) -> Tensor:
        """Features `[rows, features]` of the real decisions by a body with its memory before the sequences."""
        seen = [column[:, :-1].flatten(0, 1) for column in self.inputs]
        features, _ = body.forward(seen, memory, self.length)
        return _chosen(features, self.places)

    def following_features(self, body: nn.Module) -> Tensor:
        """Features `[rows, features]` of what followed the real decisions; memory begins with the sequences."""
        if getattr(body, "memory_size", 0):
            whole = [column.flatten(0, 1) for column in self.inputs]
            features, _ = body.forward(whole, None, self.length + 1)
            features = features.view(-1, self.length + 1, features.shape[1])[:, 1:].flatten(0, 1)
        else:
            features, _ = body.forward([column[:, 1:].flatten(0, 1) for column in self.inputs], None, 1)
        return _chosen(features, self.places)


class Replay:
    """Sequences in a ring; see the module's text.

    Args:
        input_shapes: of the network inputs, without the leading axis.
        action_spec: the actions.
        capacity: decisions there is room for.
        length: decisions of a sequence.
        memory_size: numbers of the actor's memory; 0 without.
    """

    def __init__(
        self,
        input_shapes: Sequence[tuple[int, ...]],
        action_spec: ActionSpec,
        *,
        capacity: int,
        length: int = 1,
        memory_size: int = 0,
    ) -> None:
        self.length = length
        self.capacity = max(1, capacity // length)
        self._choices = action_spec.total_choices
        shape = (self.capacity, length)
        # Pages of zeros are not touched, and so take no room, until sequences are written there.
        self._inputs = [np.zeros((self.capacity, length + 1, *each), np.float32) for each in input_shapes]
        self._blocked: NDArray[np.bool_] | None = None
        self._continuous = np.zeros((*shape, action_spec.continuous_size), np.float32)
        self._discrete = np.zeros((*shape, action_spec.discrete_size), np.int64)
        self._reward = np.zeros(shape, np.float32)
        self._terminated = np.zeros(shape, np.bool_)
        self._memory = np.zeros((self.capacity, memory_size), np.float32) if memory_size else None
        self._filled = np.zeros(self.capacity, np.int64)
        self._trajectory = np.zeros(self.capacity, np.int64)
        self._is_open = np.zeros(self.capacity, np.bool_)
        self._oldest = 0
        self._size = 0

    def __len__(self) -> int:
        """Decisions held."""
        return int(self._filled.sum())

    def add(self, rollout: Rollout) -> None:
        """Takes in the complete rows of a rollout, in order."""
        rows = rollout.complete_rows()
        for part in _one_of_each(rows, rollout.trajectory[rows]) if self.length > 1 else [rows]:
            for start in range(0, len(part), self.capacity):
                self._write(rollout, part[start : start + self.capacity])
        if self.length > 1:
            size = rollout.size
            going = rollout.trajectory[:size][rollout.status[:size] == RowStatus.PENDING]
            places = np.flatnonzero(self._is_open)
            self._is_open[places] = np.isin(self._trajectory[places], going) & (self._filled[places] < self.length)

    def sample(self, count: int, *, rng: np.random.Generator, device: torch.device) -> ReplayBatch:
        """Sequences drawn with equal chances, with replacement."""
        # By age, so that what is drawn does not depend on where the ring began.
        return self.batch((self._oldest + rng.integers(0, self._size, count)) % self.capacity, device=device)

    def newest(self, count: int, *, device: torch.device) -> ReplayBatch:
        """The sequences that were begun last, as many of them as there are."""
        count = min(count, self._size)
        return self.batch((self._oldest + np.arange(self._size - count, self._size)) % self.capacity, device=device)

    def batch(self, places: NDArray[np.int64], *, device: torch.device) -> ReplayBatch:
        """The sequences in some places of the ring."""

        def tensor(column: NDArray[Any]) -> Tensor:
            return torch.from_numpy(column).to(device)

        filled = self._filled[places]
        sequence, step = np.nonzero(np.arange(self.length) < filled[:, None])
        at = (places[sequence], step)
        real = None if len(sequence) == len(places) * self.length else tensor(sequence * self.length + step)
        inputs = [tensor(column[places]) for column in self._inputs]
        return ReplayBatch(
            inputs=inputs,
            places=real,
            memory=None if self._memory is None else tensor(self._memory[places]),
            blocked=None if self._blocked is None else tensor(self._blocked[at]),
            transitions=Transitions(
                inputs=[_chosen(column[:, :-1].flatten(0, 1), real) for column in inputs],
                next_inputs=[_chosen(column[:, 1:].flatten(0, 1), real) for column in inputs],
                continuous=tensor(self._continuous[at]),
                discrete=tensor(self._discrete[at]),
                terminated=tensor(self._terminated[at]),
                reward=tensor(self._reward[at]),
            ),
        )

    def _write(self, rollout: Rollout, rows: NDArray[np.int64]) -> None:
        """Enters rows of different trajectories."""
        places = self._places_for(rollout, rows)
        at = (places, self._filled[places])
        behind = (places, at[1] + 1)
        following = rollout.next_row[rows]
        for column, source in zip(self._inputs, rollout.inputs, strict=True):
            column[at] = source[rows]
            column[behind] = source[following]
            column[places[following < 0], behind[1][following < 0]] = 0.0
        if rollout.blocked is not None and self._blocked is None:
            self._blocked = np.zeros((self.capacity, self.length, self._choices), np.bool_)
        if self._blocked is not None:
            self._blocked[at] = False if rollout.blocked is None else rollout.blocked[rows]
        self._continuous[at] = rollout.continuous[rows]
        self._discrete[at] = rollout.discrete[rows]
        self._reward[at] = rollout.reward[rows]
        self._terminated[at] = rollout.terminated[rows]
        self._filled[places] += 1

    def _places_for(self, rollout: Rollout, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The open sequences of the rows' trajectories, and new ones where there is none."""
        places = np.full(len(rows), -1, np.int64)
        if self.length > 1:
            places = self._open_places(rollout.trajectory[rows])
        new = np.flatnonzero(places < 0)
        begun = (self._oldest + self._size + np.arange(len(new))) % self.capacity
        overwritten = max(0, self._size + len(new) - self.capacity)
        self._oldest = (self._oldest + overwritten) % self.capacity
        self._size = min(self._size + len(new), self.capacity)
        places[new] = begun
        self._filled[begun] = 0
        self._trajectory[begun] = rollout.trajectory[rows[new]]
        self._is_open[begun] = self.length > 1
        for column in self._inputs:
            column[begun] = 0.0
        if self._memory is not None and rollout.memory is not None:
            self._memory[begun] = rollout.memory[rows[new]]
        return places

    def _open_places(self, trajectory: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where each trajectory is being written, -1 where it is not; forgets those that are full."""
        self._is_open &= self._filled < self.length
        places = np.flatnonzero(self._is_open)
        if not len(places):
            return np.full(len(trajectory), -1, np.int64)
        places = places[np.argsort(self._trajectory[places])]
        near = places[np.minimum(np.searchsorted(self._trajectory[places], trajectory), len(places) - 1)]
        return np.where(self._trajectory[near] == trajectory, near, -1)

    def state(self) -> dict[str, Any]:
        """Copies of the sequences, the oldest first."""
        order = (self._oldest + np.arange(self._size)) % self.capacity
        return {"columns": {name: column[order] for name, column in self._columns().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave, the newest that there is room for.

        Raises:
            CheckpointError: the sequences are of another length.
        """
        columns = state["columns"]
        length = np.shape(columns["reward"])[1]
        if length != self.length:
            raise CheckpointError(
                "the stored replay has sequences of another length",
                where="network_settings.memory.sequence_length",
                found=str(length),
                expected=str(self.length),
                cure="resume with the settings the run was made with, or start a new run with --initialize-from",
            )
        if "blocked" in columns:
            self._blocked = np.zeros((self.capacity, self.length, self._choices), np.bool_)
        self._oldest = 0
        self._size = min(len(columns["reward"]), self.capacity)
        for name, column in self._columns().items():
            column[: self._size] = np.asarray(columns[name])[len(columns[name]) - self._size :]
            column[self._size :] = 0

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {f"input_{index}": column for index, column in enumerate(self._inputs)}
        optional = {"blocked": self._blocked, "memory": self._memory}
        columns |= {name: column for name, column in optional.items() if column is not None}
        names = ("continuous", "discrete", "reward", "terminated", "filled", "trajectory", "is_open")
        return columns | {name: getattr(self, f"_{name}") for name in names}


def _one_of_each(rows: NDArray[np.int64], trajectory: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows split so that no part has two of one trajectory: the first ones, the second ones, and so on."""
    order = np.argsort(trajectory, kind="stable")
    begins = np.searchsorted(trajectory[order], trajectory[order])
    rank = np.empty(len(rows), np.int64)
    rank[order] = np.arange(len(rows)) - begins
    return [rows[rank == place] for place in range(int(rank.max(initial=-1)) + 1)]


def _chosen(rows: Tensor, places: Tensor | None) -> Tensor:
    """The rows in some places; all where there are none given."""
    return rows if places is None else rows.index_select(0, places)
