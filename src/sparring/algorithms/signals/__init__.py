"""Reward signals: the game's reward, and what agents can be paid besides; shared by all algorithms."""

from sparring.algorithms.signals.signal import LearnedSignal, RewardSignal, Transitions
from sparring.algorithms.signals.signal_set import SIGNAL_GROUP, SignalSet, find_signal

__all__ = ["SIGNAL_GROUP", "LearnedSignal", "RewardSignal", "SignalSet", "Transitions", "find_signal"]
