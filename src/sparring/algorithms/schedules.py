"""Values that change over a run."""

from __future__ import annotations

from sparring.settings import ScheduleKind

__all__ = ["scheduled"]


def scheduled(kind: ScheduleKind, start: float, *, end: float, step: int, max_steps: int) -> float:
    """The value of a schedule at a step (spec: trainer-config §3.5).

    `constant` stays at `start`; `linear` falls to `end` at max_steps and stays there. A start below the end is
    kept as it is: a schedule never raises a value.
    """
    if kind == "constant" or start <= end:
        return start
    return end + (start - end) * (1.0 - min(step, max_steps) / max_steps)
