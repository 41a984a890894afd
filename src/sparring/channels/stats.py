"""Statistics a game reports, and analytics trainers send, which mean nothing for training."""

from __future__ import annotations

import uuid
from enum import IntEnum

from sparring.channels.messages import IncomingMessage, OutgoingMessage
from sparring.channels.side_channel import SideChannel
from sparring.errors import WireError

__all__ = ["StatsAggregationMethod", "StatsSideChannel", "TrainingAnalyticsChannel"]


class StatsAggregationMethod(IntEnum):
    """How the values of a key are put together."""

    AVERAGE = 0
    MOST_RECENT = 1
    SUM = 2
    HISTOGRAM = 3


class StatsSideChannel(SideChannel):
    """Values by key, in the order sent; nothing is overwritten."""

    def __init__(self) -> None:
        # uuid5 in the URL namespace of "com.unity.ml-agents/StatsSideChannel"
        super().__init__(uuid.UUID("a1d8f7b7-cec8-50f9-b78b-d3e165a78520"))
        self._received: list[tuple[str, float, StatsAggregationMethod]] = []

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Keeps a value until it is asked for.

        Raises:
            WireError: an unknown way of aggregation.
        """
        key, value, number = msg.read_string(), msg.read_float32(), msg.read_int32()
        try:
            aggregation = StatsAggregationMethod(number)
        except ValueError:
            raise WireError(
                f"the game reported {key!r} with an unknown aggregation",
                where="statistics channel",
                found=str(number),
                expected="0 (average), 1 (most recent), 2 (sum) or 3 (histogram)",
            ) from None
        self._received.append((key, value, aggregation))

    def take(self) -> list[tuple[str, float, StatsAggregationMethod]]:
        """Key, value and aggregation of what was received since the last call, in order."""
        received, self._received = self._received, []
        return received

    def get_and_reset_stats(self) -> dict[str, list[tuple[float, StatsAggregationMethod]]]:
        """What was received since the last call, by key."""
        stats: dict[str, list[tuple[float, StatsAggregationMethod]]] = {}
        for key, value, aggregation in self.take():
            stats.setdefault(key, []).append((value, aggregation))
        return stats

    def add_stat(
        self, key: str, value: float, aggregation: StatsAggregationMethod = StatsAggregationMethod.AVERAGE
    ) -> None:
        """Reports a value, on the game's side."""
        msg = OutgoingMessage()
        msg.write_string(key)
        msg.write_float32(value)
        msg.write_int32(aggregation)
        self.queue_message_to_send(msg)


class TrainingAnalyticsChannel(SideChannel):
    """Accepts what trainers tell about themselves, and forgets it."""

    def __init__(self) -> None:
        # uuid5 in the URL namespace of "com.unity.ml-agents/TrainingAnalyticsSideChannel"
        super().__init__(uuid.UUID("b664a4a9-d86f-5a5f-95cb-e8353a7e8356"))

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Forgets it."""
        del msg
