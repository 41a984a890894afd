"""All side channels of one side: framing, delivery, and look-up by type (wire spec 5.1 and 5.2)."""

from __future__ import annotations

import logging
import struct
import uuid
from collections.abc import Iterable, Iterator
from typing import TypeVar

from sparring.channels.messages import IncomingMessage
from sparring.channels.side_channel import SideChannel
from sparring.errors import SpecError, WireError

__all__ = ["SideChannels", "framed", "unframed"]

_log = logging.getLogger(__name__)

_HEAD = struct.Struct("<16si")
_Channel = TypeVar("_Channel", bound=SideChannel)


def framed(channel_id: uuid.UUID, message: bytes) -> bytes:
    """A message with its channel's id, as .NET orders the bytes, and its length."""
    return _HEAD.pack(channel_id.bytes_le, len(message)) + message


def unframed(data: bytes) -> Iterator[tuple[uuid.UUID, bytes]]:
    """The messages in the bytes of an exchange, in order.

    Raises:
        WireError: an id, a length or a message is cut short, or a length is negative.
    """
    at = 0
    while at < len(data):
        if len(data) - at < _HEAD.size:
            raise WireError("a side channel's frame is cut short", found=f"{len(data) - at} bytes at {at}")
        raw, length = _HEAD.unpack_from(data, at)
        channel_id = uuid.UUID(bytes_le=raw)
        at += _HEAD.size
        if not 0 <= length <= len(data) - at:
            raise WireError(
                "a side channel's message does not have its length",
                where=f"channel {channel_id}",
                found=f"a length of {length} with {len(data) - at} bytes left",
            )
        yield channel_id, data[at : at + length]
        at += length


class SideChannels:
    """The channels of one side, in the order in which they were registered.

    Args:
        channels: the first ones.
        keeps_unknown: on a game's side a message for a channel nobody registered is kept for one exchange, so that a
            channel registered late still gets it; on a trainer's side it is dropped with a warning.

    Raises:
        SpecError: two channels have one id.
    """

    def __init__(self, channels: Iterable[SideChannel] = (), *, keeps_unknown: bool = False) -> None:
        self._channels: dict[uuid.UUID, SideChannel] = {}
        self._keeps_unknown = keeps_unknown
        self._kept: list[tuple[uuid.UUID, bytes]] = []
        self._warned: set[uuid.UUID] = set()
        for channel in channels:
            self.register(channel)

    def register(self, channel: SideChannel) -> None:
        """Adds a channel and hands it the messages that were kept for it.

        Raises:
            SpecError: its id is taken.
        """
        if channel.channel_id in self._channels:
            raise SpecError(
                "two side channels have one id",
                where=type(channel).__name__,
                found=str(channel.channel_id),
                cure="give each channel an id of its own",
            )
        self._channels[channel.channel_id] = channel
        kept, self._kept = self._kept, []
        for channel_id, message in kept:
            if channel_id == channel.channel_id:
                channel.on_message_received(IncomingMessage(message))
            else:
                self._kept.append((channel_id, message))

    def unregister(self, channel: SideChannel) -> None:
        """Takes a channel out; one that is not in is no error."""
        self._channels.pop(channel.channel_id, None)

    def find(self, kind: type[_Channel]) -> _Channel | None:
        """The first channel of a type, None if there is none."""
        return next(iter(self.find_all(kind)), None)

    def find_all(self, kind: type[_Channel]) -> list[_Channel]:
        """All channels of a type, in the order of registration."""
        return [channel for channel in self._channels.values() if isinstance(channel, kind)]

    def find_or_make(self, kind: type[_Channel]) -> _Channel:
        """The first channel of a built-in type, which has an id of its own; made and registered if there is none."""
        found = self.find(kind)
        if found is None:
            found = kind()  # type: ignore[call-arg]
            self.register(found)
        return found

    def say_again(self) -> None:
        """Lets every channel send what still holds to a new other side."""
        for channel in self._channels.values():
            channel.say_again()

    def take_outgoing(self) -> bytes:
        """The framed messages of all channels; their queues are empty afterwards."""
        out = bytearray()
        for channel in self._channels.values():
            while channel.message_queue:  # taken one by one: another thread may be adding some
                out += framed(channel.channel_id, channel.message_queue.pop(0))
        return bytes(out)

    def deliver(self, data: bytes) -> None:
        """Hands the messages of an exchange to their channels.

        Raises:
            WireError: the bytes are malformed, or a channel refuses a message.
        """
        earlier, self._kept = self._kept, []
        for channel_id, message in earlier:
            self._hand_out(channel_id, message, is_late=True)
        for channel_id, message in unframed(data):
            self._hand_out(channel_id, message, is_late=False)

    def _hand_out(self, channel_id: uuid.UUID, message: bytes, *, is_late: bool) -> None:
        channel = self._channels.get(channel_id)
        if channel is not None:
            channel.on_message_received(IncomingMessage(message))
        elif self._keeps_unknown and not is_late:
            self._kept.append((channel_id, message))
        elif channel_id not in self._warned:
            self._warned.add(channel_id)
            _log.warning("dropped messages for the side channel %s, which nobody registered", channel_id)
