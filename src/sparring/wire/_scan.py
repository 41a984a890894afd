"""Compiled reading of agent infos: from the bytes of a list to columns, without a Python object an agent.

The kernels take only the plain form that every known game writes. Anything else, malformed bytes included, makes
`scan_agents` give up, and the protobuf runtime decides: so both always agree. Every read is checked against the end
of what encloses it.

Field numbers and wire types are those of `communicator.proto` (protobuf encoding: a tag is number * 8 + type).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparring.compilation import compiled, entry

__all__ = ["FLOATS", "PNG", "count_agents", "gather", "scan_agents"]

FLOATS = 1
PNG = 2

_INFO_VALUE = 0x0A
_REWARD, _DONE, _MAX_STEP, _ID = 0x3D, 0x40, 0x48, 0x50
_MASK, _OBSERVATION, _GROUP, _GROUP_REWARD = 0x5A, 0x6A, 0x70, 0x7D
_SHAPE, _COMPRESSION, _COMPRESSED, _FLOAT_DATA = 0x0A, 0x10, 0x1A, 0x22
_MAPPING, _PROPERTIES, _TYPE, _NAME = 0x2A, 0x32, 0x38, 0x42

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Columns = tuple[NDArray[Any], ...]


@compiled
def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A number of at most 31 bits and the place behind it; the place is -1 for anything else."""
    value = 0
    shift = 0
    while at < end and shift < 35:
        byte = int(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value, at) if value < 2**31 else (0, -1)
        shift += 7
    return 0, -1


@compiled
def _span(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Begin and end of what a length announces; the begin is -1 if that does not fit."""
    length, at = _varint(data, at, end)
    if at < 0 or length > end - at:
        return -1, 0
    return at, at + length


@compiled
def _float(data: Bytes, at: int, bits: NDArray[np.uint32]) -> None:
    bits[0] = (
        np.uint32(data[at])
        | (np.uint32(data[at + 1]) << np.uint32(8))
        | (np.uint32(data[at + 2]) << np.uint32(16))
        | (np.uint32(data[at + 3]) << np.uint32(24))
    )


@compiled
def _is_plain(data: Bytes, at: int, end: int) -> bool:
    """Whether all bytes are below 128: ASCII, or numbers of one byte."""
    for place in range(at, end):
        if data[place] >= 128:
            return False
    return True


@entry
def count_agents(data: Bytes) -> int:
    """How many infos the bytes of a list hold; -1 if it is not plain."""
    at, end, count = 0, len(data), 0
    while at < end:
        if data[at] != _INFO_VALUE:
            return -1
        begin, at = _span(data, at + 1, end)
        if begin < 0:
            return -1
        count += 1
    return count


@compiled
def _scan_observation(
    data: Bytes, at: int, end: int, shape: NDArray[np.int64], rank: int
) -> tuple[int, int, int, int, int]:
    """Kind, begin and end of the data, begin and end of the mapping; kind 0 if not plain or not as declared."""
    kind, begin, stop, mapping, mapping_end = 0, 0, 0, 0, 0
    compression = 0
    dimensions = -1
    while at < end:
        tag = data[at]
        if tag == _SHAPE:
            place, last = _span(data, at + 1, end)
            if place < 0 or dimensions >= 0:
                return 0, 0, 0, 0, 0
            at = last
            dimensions = 0
            while place < last:
                size, place = _varint(data, place, last)
                if place < 0 or dimensions >= rank or size != shape[dimensions]:
                    return 0, 0, 0, 0, 0
                dimensions += 1
        elif tag == _COMPRESSION or tag == _TYPE:
            value, at = _varint(data, at + 1, end)
            if at < 0:
                return 0, 0, 0, 0, 0
            if tag == _COMPRESSION:
                compression = value
        elif tag == _COMPRESSED:
            begin, stop = _span(data, at + 1, end)
            if begin < 0 or kind != 0:
                return 0, 0, 0, 0, 0
            kind, at = PNG, stop
        elif tag == _FLOAT_DATA:
            place, last = _span(data, at + 1, end)
            if place < 0 or kind != 0 or place >= last or data[place] != _SHAPE:
                return 0, 0, 0, 0, 0
            begin, stop = _span(data, place + 1, last)
            if begin < 0 or stop != last or (stop - begin) % 4 != 0:
                return 0, 0, 0, 0, 0
            kind, at = FLOATS, last
        elif tag == _MAPPING or tag == _PROPERTIES or tag == _NAME:
            place, last = _span(data, at + 1, end)
            if place < 0:
                return 0, 0, 0, 0, 0
            if tag == _MAPPING:  # may hold negative numbers; read elsewhere
                if mapping_end > 0:
                    return 0, 0, 0, 0, 0
                mapping, mapping_end = place, last
            elif not _is_plain(data, place, last):
                return 0, 0, 0, 0, 0
            at = last
        else:
            return 0, 0, 0, 0, 0
    if dimensions != rank or (kind == FLOATS) != (compression == 0) or (kind == PNG) != (compression == 1):
        return 0, 0, 0, 0, 0
    return kind, begin, stop, mapping, mapping_end


@compiled
def _scan_agent(
    data: Bytes,
    at: int,
    end: int,
    agent: int,
    shapes: NDArray[np.int64],
    ranks: NDArray[np.int64],
    floats: NDArray[np.uint32],
    numbers: NDArray[np.int32],
    mask: NDArray[np.bool_],
    places: NDArray[np.int64],
) -> bool:
    sensors = len(ranks)
    sensor = 0
    has_mask = False
    while at < end:
        tag = data[at]
        if tag == _REWARD or tag == _GROUP_REWARD:
            if end - at < 5:
                return False
            _float(data, at + 1, floats[agent, (0 if tag == _REWARD else 1) :])
            at += 5
        elif tag == _DONE or tag == _MAX_STEP or tag == _ID or tag == _GROUP:
            value, at = _varint(data, at + 1, end)
            if at < 0:
                return False
            if tag == _ID:
                numbers[agent, 0] = value
            elif tag == _GROUP:
                numbers[agent, 1] = value
            elif tag == _DONE:
                numbers[agent, 2] = 1 if value else 0
            else:
                numbers[agent, 3] = 1 if value else 0
        elif tag == _MASK:
            place, last = _span(data, at + 1, end)
            if place < 0 or has_mask:
                return False
            has_mask = True
            if not _is_plain(data, place, last):
                return False
            if last - place == mask.shape[1]:  # of any other length it says nothing (spec 6.5)
                numbers[agent, 4] = 1
                for choice in range(last - place):
                    mask[agent, choice] = data[place + choice] != 0
            at = last
        elif tag == _OBSERVATION:
            place, last = _span(data, at + 1, end)
            if place < 0 or sensor >= sensors:
                return False
            kind, begin, stop, mapping, mapping_end = _scan_observation(
                data, place, last, shapes[sensor], ranks[sensor]
            )
            if kind == 0:
                return False
            size = 4
            for dimension in range(ranks[sensor]):
                size *= shapes[sensor, dimension]
            if kind == FLOATS and stop - begin != size:
                return False
            places[agent, sensor, 0] = kind
            places[agent, sensor, 1] = begin
            places[agent, sensor, 2] = stop
            places[agent, sensor, 3] = mapping
            places[agent, sensor, 4] = mapping_end
            sensor += 1
            at = last
        else:
            return False
    return sensor == sensors


@entry
def scan_agents(
    data: Bytes,
    shapes: NDArray[np.int64],
    ranks: NDArray[np.int64],
    floats: NDArray[np.uint32],
    numbers: NDArray[np.int32],
    mask: NDArray[np.bool_],
    places: NDArray[np.int64],
) -> bool:
    """Fills the columns of all agents of a list; False where it is not plain or an observation not as declared.

    Args:
        data: the bytes of a `ListAgentInfoProto`.
        shapes, ranks: `[sensors, largest rank]` and `[sensors]`, what each sensor's shape has to be.
        floats: `[agents, 2]`, filled with the bits of reward and group reward.
        numbers: `[agents, 5]`, filled with id, group, done, max step reached, and whether there is a mask.
        mask: `[agents, choices]`, filled where there is one of that length.
        places: `[agents, sensors, 5]`, filled with kind, begin and end of the data, begin and end of the mapping.
    """
    at, end, agent = 0, len(data), 0
    while at < end:
        begin, stop = _span(data, at + 1, end)
        if begin < 0 or data[at] != _INFO_VALUE or agent >= len(numbers):
            return False
        if not _scan_agent(data, begin, stop, agent, shapes, ranks, floats, numbers, mask, places):
            return False
        at = stop
        agent += 1
    return agent == len(numbers)


@entry
def gather(data: Bytes, begins: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    """Copies `out.shape[1]` bytes from each place into the rows of `out`."""
    for row in range(len(begins)):
        out[row] = data[begins[row] : begins[row] + out.shape[1]]
