"""Whole messages of an exchange: what a game asks with, and what its trainer answers (wire spec 1.3 and 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparring.errors import WireError
from sparring.steps import ActionBatch
from sparring.wire.actions import encoded_actions
from sparring.wire.agents import parsed
from sparring.wire.framing import LENGTH_DELIMITED, delimited, read_varint
from sparring.wire.messages import message_class
from sparring.wire.protocol import capabilities_of

__all__ = [
    "CLOSING",
    "Introduction",
    "Request",
    "close_message",
    "initialization_reply",
    "read_request",
    "reset_reply",
    "step_reply",
]

_RUNNING = 200
CLOSING = 400


@dataclass(frozen=True, slots=True)
class Introduction:
    """How one side introduces itself.

    Attributes:
        communication_version: of the protocol, such as `1.5.0`; empty where a game only announces a behavior.
        package_version: of the package that speaks.
        capabilities: the names of what it can do.
    """

    communication_version: str
    package_version: str
    capabilities: frozenset[str]


@dataclass(slots=True)
class Request:
    """What a game asks with.

    Attributes:
        is_closing: the game says good-bye.
        introduction: in its first request.
        brain_parameters: `BrainParametersProto`s of behaviors that appear in this request.
        agents: the bytes of the agents' list, by full behavior name.
        side_channel: the framed messages of side channels.
    """

    is_closing: bool = False
    introduction: Introduction | None = None
    brain_parameters: list[Any] = field(default_factory=list)
    agents: dict[str, bytes] = field(default_factory=dict)
    side_channel: bytes = b""


def read_request(data: bytes) -> Request:
    """A request from its bytes; the agents' lists are taken out without being read.

    Raises:
        WireError: malformed bytes.
    """
    request = Request()
    for number, content in _fields(data, "UnityMessageProto"):
        if number == 1:
            request.is_closing = parsed("HeaderProto", content, where="header").status != _RUNNING
        elif number == 2:
            for part, inner in _fields(content, "UnityOutputProto"):
                if part == 1:
                    _read_step(inner, request)
                elif part == 2:
                    _read_introduction(inner, request)
    return request


def _read_step(data: bytes, request: Request) -> None:
    for number, content in _fields(data, "UnityRLOutputProto"):
        if number == 2:
            name, agents = "", b""
            for part, inner in _fields(content, "UnityRLOutputProto.AgentInfosEntry"):
                if part == 1:
                    try:
                        name = inner.decode()
                    except UnicodeDecodeError:
                        raise WireError(
                            "a behavior's name is not UTF-8", where="UnityRLOutputProto.agentInfos"
                        ) from None
                elif part == 2:
                    agents += inner
            request.agents[name] = agents
        elif number == 3:
            request.side_channel = content


def _read_introduction(data: bytes, request: Request) -> None:
    output = parsed("UnityRLInitializationOutputProto", data, where="rl_initialization_output")
    request.brain_parameters.extend(output.brain_parameters)
    if output.communication_version or output.package_version or not output.brain_parameters:
        request.introduction = Introduction(
            output.communication_version, output.package_version, capabilities_of(output.capabilities)
        )


def _fields(data: bytes, message: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of each length-delimited field; others are skipped.

    Raises:
        WireError: a tag, a length or a value goes beyond the end.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at, message)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise WireError("malformed bytes", where=message, found="a field numbered 0")
        if kind == LENGTH_DELIMITED:
            size, at = read_varint(data, at, message)
            if size > end - at:
                raise WireError(
                    "malformed bytes",
                    where=f"{message}, field {number}",
                    found=f"a length of {size} with {end - at} left",
                )
            yield number, data[at : at + size]
            at += size
        elif kind == 0:
            _, at = read_varint(data, at, message)
        elif kind in {1, 5}:
            at += 8 if kind == 1 else 4
            if at > end:
                raise WireError("malformed bytes", where=f"{message}, field {number}", found="a number cut short")
        else:
            raise WireError("malformed bytes", where=f"{message}, field {number}", found=f"wire type {kind}")


# -- the trainer's answers ---------------------------------------------------------------------------------------


def initialization_reply(introduction: Introduction, *, seed: int, num_areas: int) -> bytes:
    """The first answer: who the trainer is, the seed and how many areas the game should make."""
    message = message_class("UnityMessageProto")()
    message.header.status = _RUNNING
    first = message.unity_input.rl_initialization_input
    first.seed = seed
    first.communication_version = introduction.communication_version
    first.package_version = introduction.package_version
    first.num_areas = num_areas
    first.capabilities.SetInParent()  # games dereference it even when nothing is set
    for name in introduction.capabilities:
        setattr(first.capabilities, name, True)
    encoded: bytes = message.SerializeToString()
    return encoded


def reset_reply(side_channel: bytes) -> bytes:
    """The order to begin every episode anew."""
    message = message_class("UnityMessageProto")()
    message.header.status = _RUNNING
    message.unity_input.rl_input.command = 1
    message.unity_input.rl_input.side_channel = side_channel
    encoded: bytes = message.SerializeToString()
    return encoded


def step_reply(actions: Mapping[str, ActionBatch], side_channel: bytes) -> bytes:
    """Actions for all agents that asked, by full behavior name; behaviors without such agents are left out."""
    step = b""
    for name, action in actions.items():
        if len(action):
            step += delimited(1, delimited(1, name.encode()) + delimited(2, encoded_actions(action)))
    if side_channel:
        step += delimited(5, side_channel)
    header = message_class("HeaderProto")(status=_RUNNING).SerializeToString()
    # Present even when empty: games dereference it.
    return delimited(1, header) + delimited(3, delimited(1, step))


def close_message() -> bytes:
    """Good-bye, from either side."""
    message = message_class("UnityMessageProto")()
    message.header.status = CLOSING
    encoded: bytes = message.SerializeToString()
    return encoded
