"""The door: nothing non-finite that a game sends comes in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

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
    if _looks_finite(spec, steps):
        return None
    for name, column, is_wrong in _columns(spec, steps):
        places = np.argwhere(is_wrong(column))
        if len(places) == 0:
            continue
        row, *index = (int(place) for place in places[0])
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
    """Zeroes what is not finite, in place, and gives the rows `[agents]` in which something was not.

    An infinite match score becomes NaN: the game states none.
    """
    bad = np.zeros(len(steps), np.bool_)
    if _looks_finite(spec, steps):
        return bad
    for _, column, is_wrong in _columns(spec, steps):
        wrong = is_wrong(column)
        bad |= wrong.reshape(len(column), -1).any(axis=1)
        column[wrong] = np.nan if is_wrong is _is_infinite else 0.0
    return bad


_IsWrong: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.bool_]]


def _columns(
    spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps
) -> Iterator[tuple[str, NDArray[np.float32], _IsWrong]]:
    """Every column of numbers, what a message calls it and which of its elements are wrong."""
    sensors: Sequence[NDArray[np.float32]] = steps.obs
    for index, (sensor, column) in enumerate(zip(spec.observation_specs, sensors, strict=True)):
        yield f"an observation (sensor {sensor.name or index})", column, _is_not_finite
    yield "a reward", steps.reward, _is_not_finite
    yield "a group reward", steps.group_reward, _is_not_finite
    if isinstance(steps, TerminalSteps) and steps.match_score is not None:
        yield "a match score", steps.match_score, _is_infinite


def _is_not_finite(column: NDArray[np.float32]) -> NDArray[np.bool_]:
    return ~np.isfinite(column)


def _is_infinite(column: NDArray[np.float32]) -> NDArray[np.bool_]:
    """A score that is NaN is none, and is right."""
    return np.isinf(column)


def _looks_finite(spec: BehaviorSpec, steps: DecisionSteps | TerminalSteps) -> bool:
    """False if anything may be wrong: a sum that is not finite, which is many times faster than a look at each."""
    if len(steps) == 0:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(sum(float(column.sum()) for _, column, _ in _columns(spec, steps)))
