"""Side channels: what a game and its trainer tell each other beside observations and actions."""

from sparring.channels.engine import EngineConfig, EngineConfigurationChannel, LegacyEngineConfigurationChannel
from sparring.channels.environment_parameters import EnvironmentParametersChannel
from sparring.channels.messages import IncomingMessage, OutgoingMessage
from sparring.channels.registry import SideChannels
from sparring.channels.side_channel import FloatPropertiesChannel, RawBytesChannel, SideChannel
from sparring.channels.stats import StatsAggregationMethod, StatsSideChannel, TrainingAnalyticsChannel

__all__ = [
    "EngineConfig",
    "EngineConfigurationChannel",
    "EnvironmentParametersChannel",
    "FloatPropertiesChannel",
    "IncomingMessage",
    "LegacyEngineConfigurationChannel",
    "OutgoingMessage",
    "RawBytesChannel",
    "SideChannel",
    "SideChannels",
    "StatsAggregationMethod",
    "StatsSideChannel",
    "TrainingAnalyticsChannel",
]
