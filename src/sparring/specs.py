"""What is observed and what is done: behavior names, observation specs and action specs.

Field and method names are those of the low-level API that Unity users know, so that code written for it reads
these objects unchanged. Everything here is a frozen value; nothing imports torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from urllib.parse import parse_qs

from sparring.errors import SpecError

__all__ = [
    "ActionSpec",
    "BehaviorId",
    "BehaviorSpec",
    "DimensionProperty",
    "ObservationSpec",
    "ObservationType",
]

_TEAM = re.compile("[0-9]{1,10}")  # longer numbers are refused before they are read: a game may send anything
_LARGEST_TEAM = 2**31 - 1
_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True, order=True)
class BehaviorId:
    """A behavior's name and the team that plays it, parsed once from `Name?team=N`."""

    name: str
    team: int = 0

    @classmethod
    def parse(cls, text: str) -> BehaviorId:
        """Reads `Name`, or `Name?team=N` with N a whole number from 0 to 2³¹ - 1.

        Raises:
            SpecError: the name is empty, or the team is not such a number.
        """
        name, _, query = text.partition("?")
        team_text = parse_qs(query, keep_blank_values=True).get("team", ["0"])[-1]
        if not name:
            raise SpecError("a behavior has no name", found=repr(text), expected="Name or Name?team=N")
        if not _TEAM.fullmatch(team_text) or int(team_text) > _LARGEST_TEAM:
            raise SpecError(
                f"behavior {name!r} has a team that is not a whole number from 0 to {_LARGEST_TEAM}",
                found=team_text if len(team_text) <= _MOST_SHOWN else team_text[:_MOST_SHOWN] + "…",
                cure="number the teams of the game 0, 1, 2, …; gaps are fine, negative numbers are not",
            )
        return cls(name, int(team_text))

    def __str__(self) -> str:
        return f"{self.name}?team={self.team}"


class DimensionProperty(IntFlag):
    """What may be done with one dimension of an observation; values as on the wire."""

    UNSPECIFIED = 0
    NONE = 1
    TRANSLATIONAL_EQUIVARIANCE = 2
    VARIABLE_SIZE = 4


class ObservationType(IntEnum):
    """Whether an observation describes the world or the agent's goal; values as on the wire."""

    DEFAULT = 0
    GOAL_SIGNAL = 1


@dataclass(frozen=True, slots=True)
class ObservationSpec:
    """One named sensor: the shape of one agent's float32 array and the meaning of its dimensions."""

    shape: tuple[int, ...]
    dimension_property: tuple[DimensionProperty, ...]
    observation_type: ObservationType = ObservationType.DEFAULT
    name: str = ""

    def __post_init__(self) -> None:
        if not self.shape or any(size < 1 for size in self.shape):
            raise SpecError(f"sensor {self.name!r} has an empty dimension", found=str(self.shape))
        if len(self.dimension_property) != len(self.shape):
            raise SpecError(
                f"sensor {self.name!r} has {len(self.shape)} dimensions",
                found=f"{len(self.dimension_property)} dimension properties",
                expected=str(len(self.shape)),
            )

    @classmethod
    def vector(cls, size: int, *, name: str = "") -> ObservationSpec:
        """A flat sensor of `size` numbers."""
        return cls((size,), (DimensionProperty.NONE,), name=name)

    @classmethod
    def image(cls, channels: int, height: int, width: int, *, name: str = "") -> ObservationSpec:
        """An image sensor, channels first."""
        moves = DimensionProperty.TRANSLATIONAL_EQUIVARIANCE
        return cls((channels, height, width), (DimensionProperty.NONE, moves, moves), name=name)

    @classmethod
    def entities(cls, most: int, size: int, *, name: str = "") -> ObservationSpec:
        """A list of at most `most` entities of `size` numbers; absent ones are rows of zeros."""
        return cls((most, size), (DimensionProperty.VARIABLE_SIZE, DimensionProperty.NONE), name=name)

    @property
    def size(self) -> int:
        """How many numbers one agent's observation holds."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an agent may do: `continuous_size` numbers and one choice in each of `discrete_branches`."""

    continuous_size: int = 0
    discrete_branches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.continuous_size < 0 or any(size < 1 for size in self.discrete_branches):
            raise SpecError(
                "an action spec has a negative size or an empty branch",
                found=f"{self.continuous_size} continuous, branches {self.discrete_branches}",
            )

    @classmethod
    def create_continuous(cls, continuous_size: int) -> ActionSpec:
        """Only continuous actions."""
        return cls(continuous_size, ())

    @classmethod
    def create_discrete(cls, discrete_branches: Sequence[int]) -> ActionSpec:
        """Only discrete branches."""
        return cls(0, tuple(discrete_branches))

    @classmethod
    def create_hybrid(cls, continuous_size: int, discrete_branches: Sequence[int]) -> ActionSpec:
        """Continuous actions and discrete branches together."""
        return cls(continuous_size, tuple(discrete_branches))

    @property
    def discrete_size(self) -> int:
        """The number of branches."""
        return len(self.discrete_branches)

    @property
    def total_choices(self) -> int:
        """The number of choices over all branches: the width of a joined mask."""
        return sum(self.discrete_branches)

    def is_continuous(self) -> bool:
        """True if there are continuous actions and no branches."""
        return self.continuous_size > 0 and self.discrete_size == 0

    def is_discrete(self) -> bool:
        """True if there are branches and no continuous actions."""
        return self.discrete_size > 0 and self.continuous_size == 0


@dataclass(frozen=True, slots=True)
class BehaviorSpec:
    """What agents of one behavior see and do."""

    observation_specs: tuple[ObservationSpec, ...]
    action_spec: ActionSpec

    def __post_init__(self) -> None:
        if not self.observation_specs:
            raise SpecError("a behavior has no sensor", cure="give its agents at least one observation")
        if self.action_spec.continuous_size == 0 and self.action_spec.discrete_size == 0:
            raise SpecError("a behavior has no action", cure="give it a continuous action or a discrete branch")
