"""The door: nothing non-finite that a game sends comes in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.errors import NonFiniteError
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.steps import DecisionSteps, TerminalSteps

__all__ = ["check_steps", "clean_steps", "first_fault"]


def first_fault(
    behavior: BehaviorId, spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps, *, environment_step: int
) -> NonFiniteError | None:
    """The first NaN or infinity of the columns as an error that names behavior, agent, sensor, index and step."""
    for name, column in _columns(spec, steps):
        if _is_finite(column):
            continue
        row, *index = (int(place) for place in np.argwhere(~np.isfinite(column))[0])
        place = f", index {index[0] if len(index) == 1 else tuple(index)}" if index else ""
        return NonFiniteError(
            f"the game sent {name} that is not finite",
            where=f"{behavior}, agent {int(steps.agent_id[row])}{place}, environment step {environment_step}",
            found=str(column[(row, *index)]),
            expected="a finite number",
            cure="mend the game (a division by zero, an uninitialized value), or set non_finite: drop to lose only "
            "the episodes this happens in",
        )
    return None


def check_steps(
    behavior: BehaviorId, spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps, *, environment_step: int
) -> None:
    """Lets finite columns pass.

    Raises:
        NonFiniteError: something is NaN or infinite.
    """
    fault = first_fault(behavior, spec, steps, environment_step=environment_step)
    if fault is not None:
        raise fault


def clean_steps(spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps) -> NDArray[np.bool_]:
    """Zeroes what is not finite, in place, and gives the rows `[agents]` in which something was not."""
    bad = np.zeros(len(steps), np.bool_)
    for _, column in _columns(spec, steps):
        wrong = ~np.isfinite(column)
        if wrong.any():
            bad |= wrong.reshape(len(column), -1).any(axis=1)
            column[wrong] = 0.0
    return bad


def _columns(spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps) -> Iterator[tuple[str, NDArray[np.float32]]]:
    sensors: Sequence[NDArray[np.float32]] = steps.obs
    for index, (sensor, column) in enumerate(zip(spec.observation_specs, sensors, strict=True)):
        yield f"an observation (sensor {sensor.name or index})", column
    yield "a reward", steps.reward
    yield "a group reward", steps.group_reward


def _is_finite(column: NDArray[np.float32]) -> bool:
    # A sum is several times faster than looking at every element; only a suspicious one is worth the look.
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(column.sum())
    return math.isfinite(total) or bool(np.isfinite(column).all())
