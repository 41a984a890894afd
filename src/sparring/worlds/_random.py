"""Compiled random numbers whose state is one number of the arena's state: splitmix64 (Steele, Lea, Flood 2014)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparring.compilation import compiled

__all__ = ["seed_streams", "uniform"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MIX = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31, _SHIFT_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def seed_streams(seed: int, arenas: int) -> NDArray[np.uint64]:
    """One stream an arena, `[arenas]`; stream k depends on the seed and on k alone."""
    sequences = (np.random.SeedSequence([seed, arena]) for arena in range(arenas))
    return np.array([sequence.generate_state(1, np.uint64)[0] for sequence in sequences], np.uint64)


@compiled
def uniform(streams: NDArray[np.uint64], arena: int, center: float, spread: float) -> float:
    """Draws from [center - spread, center + spread) and moves the arena's stream on."""
    streams[arena] += _STEP
    mixed = streams[arena]
    mixed = (mixed ^ (mixed >> _SHIFT_30)) * _FIRST_MIX
    mixed = (mixed ^ (mixed >> _SHIFT_27)) * _SECOND_MIX
    mixed ^= mixed >> _SHIFT_31
    return center + spread * (float(mixed >> _SHIFT_11) * (2.0 / 9007199254740992.0) - 1.0)
