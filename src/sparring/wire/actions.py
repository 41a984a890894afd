"""Actions as games read them, and the other way: both generations of fields are filled (wire spec 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparring.errors import WireError
from sparring.specs import ActionSpec
from sparring.steps import ActionBatch
from sparring.wire.messages import message_class

__all__ = ["decoded_actions", "encoded_actions"]

_LARGEST_BYTE = 127
"""A number above takes more than one byte as a varint."""


def encoded_actions(action: ActionBatch) -> bytes:
    """The bytes of a `ListAgentActionProto`, one entry a row.

    Every row is of the same length unless a choice is above 127, so all rows are filled in as one array.
    """
    rows, numbers = action.continuous.shape
    branches = action.discrete.shape[1]
    is_long = 4 * (numbers + branches) > _LARGEST_BYTE
    if is_long or (action.discrete.size and int(action.discrete.max()) > _LARGEST_BYTE):
        return _by_protobuf(action)
    old, own = 4 * (numbers + branches), 4 * numbers
    fields = [(0x0A, old, 0), (0x32, own, 2 + old), (0x3A, branches, 2 + old + (2 + own if own else 0))]
    fields = [field for field in fields if field[1]]
    width = sum(2 + size for _, size, _ in fields)
    if width > _LARGEST_BYTE:
        return _by_protobuf(action)
    entries = np.empty((rows, 2 + width), np.uint8)
    entries[:, 0], entries[:, 1] = 0x0A, width
    for tag, size, begin in fields:
        entries[:, 2 + begin], entries[:, 3 + begin] = tag, size
        content = entries[:, 4 + begin : 4 + begin + size]
        if tag == 0x0A:
            both = np.empty((rows, numbers + branches), "<f4")
            both[:, :numbers], both[:, numbers:] = action.continuous, action.discrete
            content[:] = both.view(np.uint8)
        elif tag == 0x32:
            content[:] = np.ascontiguousarray(action.continuous, "<f4").view(np.uint8)
        else:
            content[:] = action.discrete
    return entries.tobytes()


def _by_protobuf(action: ActionBatch) -> bytes:
    entries = message_class("UnityRLInputProto.ListAgentActionProto")()
    for continuous, discrete in zip(action.continuous.tolist(), action.discrete.tolist(), strict=True):
        entries.value.add(
            vector_actions_deprecated=[*continuous, *discrete], continuous_actions=continuous, discrete_actions=discrete
        )
    encoded: bytes = entries.SerializeToString()
    return encoded


def decoded_actions(entries: Sequence[Any], spec: ActionSpec, *, behavior: str, agents: int) -> ActionBatch:
    """The actions of `AgentActionProto`s, one row an entry; the old field is read where both new ones are empty.

    Raises:
        WireError: there are not as many entries as agents, or one has another number of actions than the spec.
    """
    if len(entries) != agents:
        raise WireError(
            "the trainer sent actions for another number of agents than asked",
            where=behavior,
            found=str(len(entries)),
            expected=str(agents),
        )
    batch = ActionBatch.zeros(spec, len(entries))
    for row, entry in enumerate(entries):
        continuous, discrete = entry.continuous_actions, entry.discrete_actions
        if not continuous and not discrete:
            old = entry.vector_actions_deprecated
            continuous, discrete = old[: spec.continuous_size], old[spec.continuous_size :]
        if len(continuous) != spec.continuous_size or len(discrete) != spec.discrete_size:
            raise WireError(
                "an agent was sent another number of actions than its behavior has",
                where=f"{behavior}, row {row}",
                found=f"{len(continuous)} continuous, {len(discrete)} discrete",
                expected=f"{spec.continuous_size} continuous, {spec.discrete_size} discrete",
            )
        batch.continuous[row] = continuous
        batch.discrete[row] = discrete
    return batch
