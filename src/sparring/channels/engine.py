"""The engine's configuration: window, quality, speed. Two generations of it are on the same channel id."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from sparring.channels.messages import IncomingMessage, OutgoingMessage
from sparring.channels.side_channel import SideChannel
from sparring.errors import SpecError, WireError

__all__ = ["EngineConfig", "EngineConfigurationChannel", "LegacyEngineConfigurationChannel"]

_ID = uuid.UUID("e951342c-4f7e-11ea-b238-784f4387d1f7")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How fast and how the game is drawn; None leaves a value as the game has it."""

    width: int | None = None
    height: int | None = None
    quality_level: int | None = None
    time_scale: float | None = None
    target_frame_rate: int | None = None
    """-1 is as fast as possible."""
    capture_frame_rate: int | None = None

    @staticmethod
    def default_config() -> EngineConfig:
        """The values users of the low-level API know."""
        return EngineConfig(80, 80, 1, 20.0, -1, 60)


class EngineConfigurationChannel(SideChannel):
    """One message for each value that is set, in a fixed order (communicator 1.0.0 and later; wire spec 5.4).

    Attributes:
        config: on the game's side, what the trainer asked for so far.
    """

    def __init__(self) -> None:
        super().__init__(_ID)
        self.config = EngineConfig()
        self._said: dict[int, bytes] = {}

    def set_configuration_parameters(
        self,
        width: int | None = None,
        height: int | None = None,
        quality_level: int | None = None,
        time_scale: float | None = None,
        target_frame_rate: int | None = None,
        capture_frame_rate: int | None = None,
    ) -> None:
        """Sends the values that are given.

        Raises:
            SpecError: a width without a height, or a height without a width.
        """
        if (width is None) != (height is None):
            raise SpecError(
                "the width and the height of the window are set together",
                where="engine configuration",
                found=f"width {width}, height {height}",
            )
        if width is not None and height is not None:
            self._send(0, width, height)
        if quality_level is not None:
            self._send(1, quality_level)
        if time_scale is not None:
            self._send(2, float(time_scale))
        if target_frame_rate is not None:
            self._send(3, target_frame_rate)
        if capture_frame_rate is not None:
            self._send(4, capture_frame_rate)

    def set_configuration(self, config: EngineConfig) -> None:
        """Sends the values of a configuration."""
        self.set_configuration_parameters(
            config.width,
            config.height,
            config.quality_level,
            config.time_scale,
            config.target_frame_rate,
            config.capture_frame_rate,
        )

    def say_again(self) -> None:
        """Sends the latest value of each kind once more; none goes out twice."""
        self.message_queue[:] = self._said.values()

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Takes over a value; an unknown kind is ignored, as games do."""
        old = self.config
        values = [old.width, old.height, old.quality_level, old.time_scale, old.target_frame_rate]
        values.append(old.capture_frame_rate)
        kind = msg.read_int32()
        if kind == 0:
            values[0], values[1] = msg.read_int32(), msg.read_int32()
        elif kind == 2:
            values[3] = msg.read_float32()
        elif kind in {1, 3, 4}:
            values[kind + 1] = msg.read_int32()
        width, height, quality, scale, target, capture = values
        self.config = EngineConfig(
            _whole(width), _whole(height), _whole(quality), scale, _whole(target), _whole(capture)
        )

    def _send(self, kind: int, *values: float) -> None:
        msg = OutgoingMessage()
        msg.write_int32(kind)
        for value in values:
            if isinstance(value, int):
                msg.write_int32(value)
            else:
                msg.write_float32(value)
        self._said.pop(kind, None)  # the order is that of the latest words
        self._said[kind] = bytes(msg.buffer)
        self.queue_message_to_send(msg)


class LegacyEngineConfigurationChannel(SideChannel):
    """One message with all values (communicator 0.15.0)."""

    def __init__(self) -> None:
        super().__init__(_ID)
        self._said: list[bytes] = []

    def set_configuration(self, config: EngineConfig) -> None:
        """Sends a configuration; what is None there is sent as the default."""
        default = EngineConfig.default_config()
        msg = OutgoingMessage()
        for name in ("width", "height", "quality_level"):
            value = getattr(config, name)
            msg.write_int32(getattr(default, name) if value is None else value)
        msg.write_float32(default.time_scale if config.time_scale is None else config.time_scale)  # type: ignore[arg-type]
        rate = default.target_frame_rate if config.target_frame_rate is None else config.target_frame_rate
        msg.write_int32(rate)  # type: ignore[arg-type]
        self._said = [bytes(msg.buffer)]
        self.queue_message_to_send(msg)

    def say_again(self) -> None:
        """Sends the latest configuration once more."""
        self.message_queue[:] = self._said

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Games don't send on this channel.

        Raises:
            WireError: one did.
        """
        del msg
        raise WireError("a game sent an engine configuration, which only trainers do", where="side channel")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
