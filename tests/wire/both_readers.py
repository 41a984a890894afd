"""One list of agents read by compiled code and by the protobuf runtime, and what they make of it compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparring.errors import WireError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.wire import WireBehavior, decoded_agents
from sparring.wire.agents import _by_protobuf
from sparring.wire.messages import message_class

__all__ = ["BEHAVIOR", "assert_equal", "assert_read_alike", "listed"]

SPEC = BehaviorSpec((ObservationSpec.vector(3), ObservationSpec.entities(2, 2)), ActionSpec(1, (3, 2)))
BEHAVIOR = WireBehavior(SPEC, ((3,), (2, 2)), (False, False))


def listed(agents: list[Any]) -> bytes:
    encoded: bytes = message_class("UnityRLOutputProto.ListAgentInfoProto")(value=agents).SerializeToString()
    return encoded


def outcome(read: Any, data: bytes) -> Any:
    try:
        return read(data, BEHAVIOR, name="B")
    except WireError as error:
        return str(error)


def assert_equal(one: tuple[DecisionSteps, TerminalSteps], other: tuple[DecisionSteps, TerminalSteps]) -> None:
    for ours, theirs in ((one[0], other[0]), (one[1], other[1])):
        assert isinstance(ours, DecisionSteps | TerminalSteps)
        assert isinstance(theirs, DecisionSteps | TerminalSteps)
        for name in ("reward", "group_reward", "agent_id", "group_id"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), strict=True)
        for mine, yours in zip(ours.obs, theirs.obs, strict=True):
            np.testing.assert_array_equal(mine, yours, strict=True)
    np.testing.assert_array_equal(one[1].interrupted, other[1].interrupted)
    masks = [
        None if steps[0].action_mask is None else np.concatenate(steps[0].action_mask, 1) for steps in (one, other)
    ]
    if masks[0] is None or masks[1] is None:
        assert masks[0] is masks[1]
    else:
        np.testing.assert_array_equal(masks[0], masks[1])


def assert_read_alike(data: bytes) -> bool:
    """Both readers give the same agents or the same error; True if there were agents."""
    ours, theirs = outcome(decoded_agents, data), outcome(_by_protobuf, data)
    if isinstance(theirs, str):
        assert ours == theirs
        return False
    assert_equal(ours, theirs)
    return True
