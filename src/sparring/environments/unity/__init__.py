"""Games over the wire: Unity builds, the Unity editor and whatever speaks the same protocol."""

from sparring.environments.unity.environment import UnityEnvironment

__all__ = ["UnityEnvironment"]
