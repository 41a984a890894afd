"""Whole messages from the game's side: what it asks with, and how it reads the answers (wire spec 1.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparring.specs import BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire.actions import decoded_actions
from sparring.wire.agents import parsed
from sparring.wire.behaviors import brain_parameters
from sparring.wire.exchange import Introduction
from sparring.wire.framing import delimited
from sparring.wire.images import encoded_image
from sparring.wire.messages import message_class
from sparring.wire.protocol import capabilities_of

__all__ = ["Answer", "encoded_agents", "introduction_request", "read_answer", "ready_request", "step_request"]

_RUNNING = 200
_PNG = 1


@dataclass(slots=True)
class Answer:
    """What the trainer answers.

    Attributes:
        is_closing: it says good-bye.
        introduction: in its first answer, with the seed and the number of areas it asks for.
        command: what to do with the game.
        actions: the entries of each behavior, by full name; `actions_for` makes columns of them.
        side_channel: the framed messages of side channels.
    """

    is_closing: bool = False
    introduction: Introduction | None = None
    seed: int = 0
    num_areas: int = 1
    command: Literal["step", "reset", "quit"] = "step"
    actions: dict[str, Sequence[Any]] = field(default_factory=dict)
    side_channel: bytes = b""

    def actions_for(self, name: str, spec: BehaviorSpec, agents: int) -> ActionBatch:
        """The actions of a behavior as columns; zeros where the trainer sent none.

        Raises:
            WireError: another number of agents or actions than asked.
        """
        entries = self.actions.get(name, ())
        if not entries:
            return ActionBatch.zeros(spec.action_spec, agents)
        return decoded_actions(entries, spec.action_spec, behavior=name, agents=agents)


def read_answer(data: bytes) -> Answer:
    """An answer from its bytes.

    Raises:
        WireError: malformed bytes.
    """
    message = parsed("UnityMessageProto", data, where="the trainer's answer")
    answer = Answer(is_closing=message.header.status != _RUNNING)
    if message.unity_input.HasField("rl_initialization_input"):
        first = message.unity_input.rl_initialization_input
        capabilities = capabilities_of(first.capabilities)
        answer.introduction = Introduction(first.communication_version, first.package_version, capabilities)
        answer.seed, answer.num_areas = first.seed, max(1, first.num_areas)
    step = message.unity_input.rl_input
    answer.command = "reset" if step.command == 1 else "quit" if step.command == 2 else "step"
    answer.actions = {name: entries.value for name, entries in step.agent_actions.items()}
    answer.side_channel = step.side_channel
    return answer


def introduction_request(introduction: Introduction, *, name: str) -> bytes:
    """The game's first request."""
    message = message_class("UnityMessageProto")()
    message.header.status = _RUNNING
    first = message.unity_output.rl_initialization_output
    first.name = name
    first.communication_version = introduction.communication_version
    first.package_version = introduction.package_version
    for capability in sorted(introduction.capabilities):
        setattr(first.capabilities, capability, True)
    encoded: bytes = message.SerializeToString()
    return encoded


def ready_request() -> bytes:
    """The second request: nothing but that all is well."""
    message = message_class("UnityMessageProto")()
    message.header.status = _RUNNING
    encoded: bytes = message.SerializeToString()
    return encoded


def step_request(agents: Mapping[str, bytes], announced: Mapping[str, BehaviorSpec], side_channel: bytes) -> bytes:
    """A request with agents, and with the behaviors that are shown for the first time.

    Args:
        agents: the bytes of every behavior's list, as `encoded_agents` gives them; empty ones included.
        announced: the specs of behaviors that no request carried before.
        side_channel: framed messages.
    """
    step = b"".join(delimited(2, delimited(1, name.encode()) + delimited(2, infos)) for name, infos in agents.items())
    if side_channel:
        step += delimited(3, side_channel)
    output = delimited(1, step)
    if announced:
        initial = message_class("UnityRLInitializationOutputProto")()
        initial.brain_parameters.extend(brain_parameters(name, spec.action_spec) for name, spec in announced.items())
        output += delimited(2, initial.SerializeToString())
    return delimited(1, b"\x08\xc8\x01") + delimited(2, output)


def encoded_agents(
    spec: BehaviorSpec,
    decision: DecisionSteps,
    terminal: TerminalSteps,
    *,
    channels_first: bool = True,
    compressed: Collection[int] = (),
) -> bytes:
    """The bytes of a `ListAgentInfoProto`: ends first, then those that ask.

    Observations are copied as whole rows; only what is small goes through a message object.

    Args:
        spec: of the behavior.
        decision, terminal: the columns.
        channels_first: how images are laid out; trainers before 1.0.0 want height, width, channels.
        compressed: the sensors whose images are sent as PNG, by their place.
    """
    frames = [
        _Frame(sensor, channels_first, is_compressed=place in compressed)
        for place, sensor in enumerate(spec.observation_specs)
    ]
    mask = None if decision.action_mask is None else np.concatenate(list(decision.action_mask), axis=1)
    out = bytearray()
    for steps in (terminal, decision):
        columns = [frame.laid_out(column) for frame, column in zip(frames, steps.obs, strict=True)]
        for row in range(len(steps)):
            info = message_class("AgentInfoProto")(
                reward=steps.reward[row],
                id=steps.agent_id[row],
                group_id=steps.group_id[row],
                group_reward=steps.group_reward[row],
            )
            if isinstance(steps, TerminalSteps):
                info.done = True
                info.max_step_reached = bool(steps.interrupted[row])
            elif mask is not None:
                info.action_mask.extend(mask[row].tolist())
            body = info.SerializeToString() + b"".join(
                frame.wrapped(column[row]) for frame, column in zip(frames, columns, strict=True)
            )
            out += delimited(1, body)
    return bytes(out)


class _Frame:
    """What is written around the numbers of a sensor, the same for every agent."""

    def __init__(self, sensor: ObservationSpec, channels_first: bool, *, is_compressed: bool) -> None:
        self._is_compressed = is_compressed
        self._is_turned = len(sensor.shape) == 3 and not channels_first
        shape, properties = sensor.shape, [int(value) for value in sensor.dimension_property]
        if self._is_turned:
            shape, properties = (shape[1], shape[2], shape[0]), [properties[1], properties[2], properties[0]]
        proto = message_class("ObservationProto")(shape=shape, dimension_properties=properties, name=sensor.name)
        proto.observation_type = int(sensor.observation_type)
        if is_compressed:
            proto.compression_type = _PNG
            proto.compressed_channel_mapping.extend(_stored_channels(sensor.shape[0]))
        self._rest: bytes = proto.SerializeToString()

    def laid_out(self, column: NDArray[np.float32]) -> NDArray[np.float32]:
        turned = column.transpose(0, 2, 3, 1) if self._is_turned and not self._is_compressed else column
        return np.ascontiguousarray(turned, dtype="<f4")

    def wrapped(self, row: NDArray[np.float32]) -> bytes:
        if self._is_compressed:
            return delimited(13, self._rest + delimited(3, encoded_image(row)))
        return delimited(13, self._rest + delimited(4, delimited(1, row.tobytes())))


def _stored_channels(channels: int) -> list[int]:
    """Where each channel of the PNGs goes: one of gray is stored three times over, missing ones are dropped."""
    return [0, 0, 0] if channels == 1 else [*range(channels), *[-1] * (-channels % 3)]
