"""Lists of agent infos as columns: those that ask for an action, and those whose episode ended.

The usual form is read by compiled code straight from the bytes; where that gives up, the protobuf runtime reads the
message, and what is wrong with it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from sparring.errors import WireError
from sparring.specs import ActionSpec
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.wire.behaviors import WireBehavior
from sparring.wire.framing import delimited
from sparring.wire.images import decoded_image
from sparring.wire.messages import message_class

__all__ = ["decoded_agents", "parsed"]

_IMAGE_RANK = 3


@dataclass(frozen=True, slots=True)
class _Agents:
    """The columns of all agents of a list, in message order."""

    floats: NDArray[np.float32]
    numbers: NDArray[np.int32]
    mask: NDArray[np.bool_]


def decoded_agents(data: bytes, behavior: WireBehavior, *, name: str) -> tuple[DecisionSteps, TerminalSteps]:
    """The columns of the bytes of a `ListAgentInfoProto`, both parts in message order (wire spec 6.2).

    Args:
        data: the bytes.
        behavior: what was announced.
        name: the behavior's full name, for messages.

    Raises:
        WireError: malformed bytes, or an observation that is not as announced; names agent and sensor.
    """
    from sparring.wire import _scan  # noqa: PLC0415 - Numba takes its time, and a game that is served needs none

    raw = np.frombuffer(data, np.uint8)
    count = _scan.count_agents(raw)
    if count < 0:
        return _by_protobuf(data, behavior, name=name)
    sensors = len(behavior.wire_shapes)
    agents = _empty(count, behavior.spec.action_spec)
    places = np.zeros((count, sensors, 5), np.int64)
    is_plain = _scan.scan_agents(
        raw, behavior.shapes, behavior.ranks, agents.floats.view(np.uint32), agents.numbers, agents.mask, places
    )
    if not is_plain:
        return _by_protobuf(data, behavior, name=name)

    def observation(sensor: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        shape = behavior.wire_shapes[sensor]
        own = places[:, sensor] if len(rows) == count else places[rows, sensor]
        kind, begin, end, mapping, mapping_end = own.T
        if (kind == _scan.FLOATS).all():
            out = np.empty((len(rows), 4 * behavior.sizes[sensor]), np.uint8)
            _scan.gather(raw, np.ascontiguousarray(begin), out)
            return _laid_out(
                out.view("<f4").astype(np.float32, copy=False).reshape(len(rows), *shape), behavior, sensor
            )
        columns = np.empty((len(rows), *behavior.spec.observation_specs[sensor].shape), np.float32)
        for row in range(len(rows)):
            agent = int(agents.numbers[rows[row], 0])
            if kind[row] == _scan.FLOATS:
                values = np.frombuffer(data, "<f4", (end[row] - begin[row]) // 4, begin[row])
                columns[row] = _laid_out(values.reshape(1, *shape), behavior, sensor)[0]
                continue
            proto = message_class("ObservationProto").FromString(delimited(5, data[mapping[row] : mapping_end[row]]))
            columns[row] = _image(
                data[begin[row] : end[row]], behavior, sensor, proto.compressed_channel_mapping, name=name, agent=agent
            )
        return columns

    return _split(agents, behavior, observation)


def parsed(message: str, data: bytes, *, where: str) -> Any:  # noqa: ANN401 - a run-time message class
    """A message from its bytes.

    Raises:
        WireError: they are malformed.
    """
    try:
        return message_class(message).FromString(data)
    except DecodeError as error:
        raise WireError(
            f"malformed bytes where a {message} should be", where=where, found=f"{len(data)} bytes ({error})"
        ) from None


def _by_protobuf(data: bytes, behavior: WireBehavior, *, name: str) -> tuple[DecisionSteps, TerminalSteps]:
    infos = parsed("UnityRLOutputProto.ListAgentInfoProto", data, where=name).value
    agents = _empty(len(infos), behavior.spec.action_spec)
    for row, info in enumerate(infos):
        agents.floats[row] = info.reward, info.group_reward
        agents.numbers[row, :4] = info.id, info.group_id, info.done, info.max_step_reached
        if len(info.action_mask) == agents.mask.shape[1]:
            agents.mask[row] = info.action_mask
            agents.numbers[row, 4] = 1
        if len(info.observations) != len(behavior.wire_shapes):
            raise WireError(
                "an agent has another number of observations than its behavior",
                where=f"{name}, agent {info.id}",
                found=str(len(info.observations)),
                expected=str(len(behavior.wire_shapes)),
            )

    def observation(sensor: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        columns = np.empty((len(rows), *behavior.spec.observation_specs[sensor].shape), np.float32)
        for place, row in enumerate(rows):
            columns[place] = _observation(
                infos[row].observations[sensor], behavior, sensor, name=name, agent=infos[row].id
            )
        return columns

    return _split(agents, behavior, observation)


def _observation(proto: Any, behavior: WireBehavior, sensor: int, *, name: str, agent: int) -> NDArray[np.float32]:  # noqa: ANN401
    shape = behavior.wire_shapes[sensor]
    where = f"{name}, agent {agent}, sensor {proto.name or sensor}"
    if tuple(proto.shape) != shape:
        raise WireError(
            "an observation has another shape than announced",
            where=where,
            found=str(tuple(proto.shape)),
            expected=str(shape),
        )
    if proto.compression_type == 1:
        return _image(proto.compressed_data, behavior, sensor, proto.compressed_channel_mapping, name=name, agent=agent)
    values = np.asarray(proto.float_data.data, np.float32)
    if proto.compression_type != 0 or values.size != behavior.sizes[sensor]:
        raise WireError(
            "an observation does not hold what its shape declares",
            where=where,
            found=f"{values.size} numbers, compression {proto.compression_type}",
            expected=f"{behavior.sizes[sensor]} numbers",
        )
    laid_out: NDArray[np.float32] = _laid_out(values.reshape(1, *shape), behavior, sensor)[0]
    return laid_out


def _image(
    data: bytes, behavior: WireBehavior, sensor: int, mapping: Sequence[int], *, name: str, agent: int
) -> NDArray[np.float32]:
    spec = behavior.spec.observation_specs[sensor]
    where = f"{name}, agent {agent}, sensor {spec.name or sensor}"
    if len(spec.shape) != _IMAGE_RANK:
        raise WireError("an observation that is no image is compressed", where=where, found=f"shape {spec.shape}")
    channels, height, width = spec.shape
    try:
        return decoded_image(data, channels, height, width, tuple(mapping))
    except WireError as error:
        finding = error.findings[0]
        raise WireError(
            finding.what, where=where, found=finding.found, expected=finding.expected, cure=finding.cure
        ) from None


def _laid_out(columns: NDArray[np.float32], behavior: WireBehavior, sensor: int) -> NDArray[np.float32]:
    """Images channels first; anything else as it came."""
    if behavior.channels_last[sensor]:
        return np.ascontiguousarray(columns.transpose(0, 3, 1, 2))
    return columns


def _empty(agents: int, spec: ActionSpec) -> _Agents:
    return _Agents(
        np.zeros((agents, 2), np.float32),
        np.zeros((agents, 5), np.int32),
        np.zeros((agents, spec.total_choices), np.bool_),
    )


def _split(agents: _Agents, behavior: WireBehavior, observation: Any) -> tuple[DecisionSteps, TerminalSteps]:  # noqa: ANN401
    done = agents.numbers[:, 2] != 0
    sensors = range(len(behavior.wire_shapes))
    asking, ended = np.flatnonzero(~done), np.flatnonzero(done)
    has_mask = agents.numbers[asking, 4].any() if behavior.spec.action_spec.total_choices else False
    mask = None
    if has_mask:
        edges = np.cumsum(behavior.spec.action_spec.discrete_branches)[:-1]
        mask = np.split(agents.mask[asking], edges, axis=1)
    decision = DecisionSteps(
        obs=[observation(sensor, asking) for sensor in sensors],
        reward=agents.floats[asking, 0],
        agent_id=agents.numbers[asking, 0],
        action_mask=mask,
        group_id=agents.numbers[asking, 1],
        group_reward=agents.floats[asking, 1],
    )
    if len(ended) == 0:  # as in most exchanges
        return decision, TerminalSteps.empty(behavior.spec)
    terminal = TerminalSteps(
        obs=[observation(sensor, ended) for sensor in sensors],
        reward=agents.floats[ended, 0],
        interrupted=agents.numbers[ended, 3] != 0,
        agent_id=agents.numbers[ended, 0],
        group_id=agents.numbers[ended, 1],
        group_reward=agents.floats[ended, 1],
    )
    return decision, terminal
