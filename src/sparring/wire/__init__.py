"""The wire: the messages games and their trainer exchange, read into columns and written from them."""

from sparring.wire.agents import decoded_agents
from sparring.wire.behaviors import WireBehavior, behavior_of
from sparring.wire.exchange import (
    Introduction,
    Request,
    close_message,
    initialization_reply,
    read_request,
    reset_reply,
    step_reply,
)

__all__ = [
    "Introduction",
    "Request",
    "WireBehavior",
    "behavior_of",
    "close_message",
    "decoded_agents",
    "initialization_reply",
    "read_request",
    "reset_reply",
    "step_reply",
]
