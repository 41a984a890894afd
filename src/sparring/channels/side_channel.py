"""Side channels: what a game and its trainer tell each other beside observations and actions."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod

from sparring.channels.messages import IncomingMessage, OutgoingMessage

__all__ = ["FloatPropertiesChannel", "RawBytesChannel", "SideChannel"]


class SideChannel(ABC):
    """One channel, the same on both sides by its id. Subclass it for a channel of your own.

    Attributes:
        channel_id: tells channels apart; both sides have to know it.
        message_queue: what is sent with the next exchange, oldest first.
    """

    def __init__(self, channel_id: uuid.UUID) -> None:
        self.channel_id = channel_id
        self.message_queue: list[bytes] = []

    def queue_message_to_send(self, msg: OutgoingMessage) -> None:
        """Sends a message with the next exchange."""
        self.message_queue.append(bytes(msg.buffer))

    @abstractmethod
    def on_message_received(self, msg: IncomingMessage) -> None:
        """Takes in a message of the other side."""

    def say_again(self) -> None:  # noqa: B027 - most channels tell of events, which are over
        """The other side is a new one: what still holds is sent once more. Does nothing by default."""


class RawBytesChannel(SideChannel):
    """Bytes whose meaning only the user knows."""

    def __init__(self, channel_id: uuid.UUID) -> None:
        super().__init__(channel_id)
        self._received: list[bytes] = []

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Keeps the bytes until they are asked for."""
        self._received.append(msg.get_raw_bytes())

    def get_and_clear_received_messages(self) -> list[bytes]:
        """What was received since the last call, oldest first."""
        received, self._received = self._received, []
        return received

    def send_raw_data(self, data: bytes) -> None:
        """Sends bytes with the next exchange."""
        msg = OutgoingMessage()
        msg.set_raw_bytes(data)
        self.queue_message_to_send(msg)


class FloatPropertiesChannel(SideChannel):
    """Numbers by name that both sides may set; games of communicator 0.15 take their reset parameters here."""

    def __init__(self, channel_id: uuid.UUID | None = None) -> None:
        super().__init__(channel_id or uuid.UUID("60ccf7d0-4f7e-11ea-b238-784f4387d1f7"))
        self._properties: dict[str, float] = {}

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Takes over what the other side set."""
        key = msg.read_string()
        self._properties[key] = msg.read_float32()

    def set_property(self, key: str, value: float) -> None:
        """Sets a number on both sides."""
        self._properties[key] = value
        msg = OutgoingMessage()
        msg.write_string(key)
        msg.write_float32(value)
        self.queue_message_to_send(msg)

    def get_property(self, key: str) -> float | None:
        """A number, None if nobody set it."""
        return self._properties.get(key)

    def list_properties(self) -> list[str]:
        """The names that were set."""
        return list(self._properties)

    def get_property_dict_copy(self) -> dict[str, float]:
        """All numbers by name."""
        return dict(self._properties)
