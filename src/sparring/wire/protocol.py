"""What both sides of the wire agree on before they talk (wire spec 1 and 3)."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["CAPABILITIES", "COMMUNICATION_VERSION", "EXCHANGE_METHOD", "capabilities_of", "major_of"]

EXCHANGE_METHOD = "/communicator_objects.UnityToExternalProto/Exchange"
"""Path of the one call there is."""

COMMUNICATION_VERSION = "1.5.0"

CAPABILITIES = frozenset(
    {
        "baseRLCapabilities",
        "concatenatedPngObservations",
        "compressedChannelMapping",
        "hybridActions",
        "trainingAnalytics",
        "variableLengthObservation",
        "multiAgentGroups",
    }
)
"""All capabilities a side can have; Sparring has them."""


def capabilities_of(message: Any) -> frozenset[str]:  # noqa: ANN401 - a run-time message class
    """The names that are set in a message of capabilities."""
    return frozenset(field.name for field, value in message.ListFields() if value)


def major_of(version: str) -> int | None:
    """The major number of a package version, None if there is none to read."""
    match = re.match(r"\d+", version)
    return int(match[0]) if match else None
