"""Environment parameters of a world's arenas: a number for all, or one drawn for every episode of every arena."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from sparring.environments.environment import EnvironmentStatistic, StateTree
from sparring.environments.samplers import draw
from sparring.errors import CheckpointError, Finding, SettingsError
from sparring.settings import (
    ConstantParameters,
    GaussianParameters,
    MultiRangeParameters,
    Sampler,
    UniformParameters,
)
from sparring.worlds._state_tree import checked_arrays

__all__ = ["ArenaParameters", "ParameterRange"]

_HISTOGRAM = 3
_MOST_PENDING = 10_000
"""Drawn values that wait to be reported; older ones are dropped when nobody takes them."""


class ParameterRange(NamedTuple):
    """What a parameter is until it is set, and the least and the most it may be."""

    default: float
    least: float
    most: float


class ArenaParameters:
    """What the next episode of each arena is played with.

    Args:
        ranges: of the parameters the world has, by name; others are ignored.
        num_arenas: copies of the world.

    Attributes:
        next_values: float64 `[arenas, parameters]`, in the order of `ranges`; a world takes its rows when episodes
            begin and then says so with `begin`.
    """

    def __init__(self, ranges: Mapping[str, ParameterRange], *, num_arenas: int) -> None:
        self._ranges = dict(ranges)
        self._column = {name: index for index, name in enumerate(ranges)}
        self._samplers: dict[str, Sampler] = {}
        self._begun: deque[tuple[int, float]] = deque(maxlen=_MOST_PENDING)
        self._draws = np.zeros((num_arenas, len(self._ranges)), np.int64)
        self.next_values = np.tile([allowed.default for allowed in self._ranges.values()], (num_arenas, 1))

    def set_numbers(self, numbers: Mapping[str, float]) -> None:
        """Makes parameters the same number in every arena.

        Raises:
            SettingsError: a number is out of its range or not finite; nothing was changed.
        """
        known = {name: float(numbers[name]) for name in self._ranges if name in numbers}
        self._check({name: (value, value) for name, value in known.items()})
        for name, value in known.items():
            self._samplers.pop(name, None)
            self.next_values[:, self._column[name]] = value

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Draws parameters anew for every episode of every arena; a sampler that is in force already draws on.

        Normal distributions have no ends: what they draw beyond the range is put to its nearer end.

        Raises:
            SettingsError: a sampler would leave its parameter's range; nothing was changed.
        """
        known = {name: samplers[name] for name in self._ranges if name in samplers}
        self._check({name: _ends(sampler) for name, sampler in known.items()})
        for name, sampler in known.items():
            if self._samplers.get(name) != sampler:
                self._samplers[name] = sampler
                self._draws[:, self._column[name]] = 0
                self._draw(name, range(len(self._draws)))

    def begin(self, arenas: NDArray[np.int64]) -> None:
        """Episodes began in these arenas with their rows of `next_values`: draws those of the episodes after them."""
        for name in self._samplers:
            column = self._column[name]
            self._begun.extend((column, value) for value in self.next_values[arenas, column].tolist())
            self._draw(name, arenas.tolist())

    def take_statistics(self) -> list[EnvironmentStatistic]:
        """The drawn values with which episodes have begun since the last call."""
        names = list(self._ranges)
        taken = [
            EnvironmentStatistic(f"Environment/Drawn Parameter/{names[column]}", value, _HISTOGRAM)
            for column, value in self._begun
        ]
        self._begun.clear()
        return taken

    def save_state(self) -> StateTree:
        """A copy of values, samplers, how far they are, and what is not reported yet."""
        return {
            "next_values": self.next_values.copy(),
            "draws": self._draws.copy(),
            "begun": np.array(self._begun, np.float64).reshape(-1, 2),
            "samplers": {name: sampler.model_dump(mode="json") for name, sampler in self._samplers.items()},
        }

    def checked_state(self, state: object) -> StateTree:
        """What `save_state` gave, read back and checked; for `restore_state`.

        Raises:
            CheckpointError: something is missing, has another shape, or can't be.
        """
        expected = {"next_values": self.next_values, "draws": self._draws, "begun": np.zeros((0, 2))}
        arrays = checked_arrays(state, expected, where="environment parameters")
        samplers = state.get("samplers") if isinstance(state, Mapping) else None
        try:
            read = {str(name): Sampler.model_validate(value) for name, value in dict(samplers or {}).items()}
        except (TypeError, ValueError, ValidationError) as error:
            raise CheckpointError(
                "a saved sampler is none", where="environment parameters", found=type(error).__name__
            ) from None
        for (name, allowed), column in zip(self._ranges.items(), arrays["next_values"].T, strict=True):
            if not ((column >= allowed.least) & (column <= allowed.most)).all():
                raise CheckpointError(
                    "a saved parameter can't be what it is",
                    where=f"environment parameter {name}",
                    found=f"{column.min()} to {column.max()}",
                    expected=f"{allowed.least} to {allowed.most}",
                )
        begun = arrays["begun"]
        is_known = not read.keys() - self._ranges.keys() and (arrays["draws"] >= 0).all()
        if not is_known or not np.isin(begun[:, 0], range(len(self._ranges))).all():
            raise CheckpointError("saved draws are of parameters this world does not have", where="samplers")
        return {**arrays, "samplers": read}

    def restore_state(self, checked: StateTree) -> None:
        """Puts back what `checked_state` gave."""
        self.next_values[...] = checked["next_values"]
        self._draws[...] = checked["draws"]
        self._samplers = dict(checked["samplers"])
        self._begun.clear()
        self._begun.extend((int(column), float(value)) for column, value in checked["begun"])

    def _draw(self, name: str, arenas: Iterable[int]) -> None:
        column, allowed, sampler = self._column[name], self._ranges[name], self._samplers[name]
        for arena in arenas:
            value = draw(sampler, arena=arena, number=int(self._draws[arena, column]))
            self.next_values[arena, column] = min(max(value, allowed.least), allowed.most)
            self._draws[arena, column] += 1

    def _check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        findings = []
        for name, (low, high) in ends.items():
            allowed = self._ranges[name]
            if not allowed.least <= low <= high <= allowed.most:  # so is a NaN
                findings.append(
                    Finding(
                        f"the world can't be played with this {name}",
                        where=f"environment_parameters.{name}",
                        found=" to ".join(dict.fromkeys([str(low), str(high)])),
                        expected=f"{allowed.least:g} to {allowed.most:g}",
                    )
                )
        if findings:
            raise SettingsError(findings)


def _ends(sampler: Sampler) -> tuple[float, float]:
    """The least and the greatest number a sampler draws; of a normal distribution only its mean is held to a range."""
    plan = sampler.sampler_parameters
    if isinstance(plan, UniformParameters):
        return plan.min_value, plan.max_value
    if isinstance(plan, MultiRangeParameters):
        return min(low for low, _ in plan.intervals), max(high for _, high in plan.intervals)
    if isinstance(plan, GaussianParameters):
        return plan.mean, plan.mean
    assert isinstance(plan, ConstantParameters), f"{sampler.sampler_type} is one of the kinds of samplers"
    return plan.value, plan.value
