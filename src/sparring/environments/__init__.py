"""The contract between a game and whoever plays it, and the adapters that fulfil it."""

from sparring.environments.environment import (
    Environment,
    EnvironmentStatistic,
    StatefulEnvironment,
    StateTree,
)

__all__ = ["Environment", "EnvironmentStatistic", "StateTree", "StatefulEnvironment"]
