"""Games over the wire: Unity builds, the Unity editor and whatever speaks the same protocol."""

from sparring.environments.unity.environment import UnityEnvironment
from sparring.environments.unity.pool import GamePool, RestartLimits

__all__ = ["GamePool", "RestartLimits", "UnityEnvironment"]
