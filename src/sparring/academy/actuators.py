"""What an agent does: actions as arrays, the choices that are not available, and actuators (wire spec 6.4, 6.5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparring.errors import SpecError
from sparring.specs import ActionSpec

__all__ = ["ActionMask", "Actions", "Actuator", "joined_spec", "parts_of"]

BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Actions:
    """One agent's actions: views that may be read when it acts, and written by a heuristic.

    Attributes:
        continuous: float32 `[continuous size]`.
        discrete: int32 `[branches]`, the choice in each branch.
    """

    continuous: NDArray[np.float32]
    discrete: NDArray[np.int32]

    @classmethod
    def zeros(cls, spec: ActionSpec) -> Actions:
        """Zeros and first choices."""
        return cls(np.zeros(spec.continuous_size, np.float32), np.zeros(spec.discrete_size, np.int32))


class ActionMask:
    """The choices that are not available at a decision; everything is available at first.

    Args:
        branches: the arrays to write in, one bool `[branch size]` a branch, True where a choice is not available.
    """

    def __init__(self, branches: Sequence[BoolArray]) -> None:
        self._branches = branches

    def set_action_enabled(self, branch: int, choice: int, is_enabled: bool) -> None:
        """Makes a choice available or not.

        Raises:
            SpecError: there is no such branch or choice.
        """
        if not 0 <= branch < len(self._branches):
            raise SpecError("there is no such branch", where="action mask", found=str(branch))
        if not 0 <= choice < len(self._branches[branch]):
            raise SpecError(f"there is no such choice in branch {branch}", where="action mask", found=str(choice))
        self._branches[branch][choice] = not is_enabled


class Actuator(ABC):
    """Something an agent acts with. Subclass it for actions that several kinds of agents share.

    An agent's actuators are put in the order of their names; their actions are joined in that order.

    Args:
        name: of the actuator.
        spec: its part of the agent's actions.
    """

    def __init__(self, name: str, spec: ActionSpec) -> None:
        self.name = name
        self.spec = spec

    @abstractmethod
    def on_action_received(self, actions: Actions) -> None:
        """Carries the actions out."""

    def write_action_mask(self, mask: ActionMask) -> None:  # noqa: B027 - most actuators forbid nothing
        """Says which choices are not available at this decision."""

    def heuristic(self, actions: Actions) -> bool:
        """Chooses the actions where neither a trainer nor a model does.

        Args:
            actions: zeros, to be written.

        Returns:
            Whether this actuator has a heuristic at all.
        """
        del actions
        return False


def joined_spec(actuators: Sequence[Actuator]) -> ActionSpec:
    """The actions of all actuators, one behind the other."""
    return ActionSpec(
        sum(actuator.spec.continuous_size for actuator in actuators),
        tuple(size for actuator in actuators for size in actuator.spec.discrete_branches),
    )


def parts_of(actuators: Sequence[Actuator], actions: Actions) -> list[tuple[Actuator, Actions]]:
    """Each actuator with the views of its part."""
    parts = []
    first, branch = 0, 0
    for actuator in actuators:
        after, last = first + actuator.spec.continuous_size, branch + actuator.spec.discrete_size
        parts.append((actuator, Actions(actions.continuous[first:after], actions.discrete[branch:last])))
        first, branch = after, last
    return parts
