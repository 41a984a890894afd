"""Intervals of win rates."""

from __future__ import annotations

import math

__all__ = ["wilson_interval"]

_Z_95 = 1.959963984540054


def wilson_interval(successes: float, trials: int, *, z: float = _Z_95) -> tuple[float, float]:
    """Score interval of a proportion (Wilson 1927); 95 % unless `z` says otherwise.

    Args:
        successes: from 0 to `trials`; half a success counts for a draw.
        trials: matches played; without any, the interval is everything.
        z: quantile of the normal distribution.
    """
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    denominator = 1.0 + z * z / trials
    center = (share + z * z / (2 * trials)) / denominator
    half = z / denominator * math.sqrt(share * (1.0 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, center - half), min(1.0, center + half)
