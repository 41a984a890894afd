"""The contract of a game: reset, step, read the agents' columns, set their actions, close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.errors import Finding, SettingsError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

if TYPE_CHECKING:  # whoever only plays a game need not load the settings
    from sparring.settings import Sampler

__all__ = ["Environment", "EnvironmentStatistic", "StateTree", "StatefulEnvironment"]

_Environment = TypeVar("_Environment", bound="Environment")

StateTree: TypeAlias = dict[str, Any]
"""Nested dictionaries with string keys; leaves are NumPy arrays, numbers, strings, booleans, None or lists of these."""


class EnvironmentStatistic(NamedTuple):
    """One value a game reports: its key, the value and how values are put together."""

    key: str
    value: float
    aggregation: int
    """0 average, 1 most recent, 2 sum, 3 histogram: the numbers of the statistics side channel."""
    worker: int = 0
    """The number of the game among several."""


class Environment(ABC):
    """A running game that holds any number of agents of any number of behaviors.

    `reset` and `step` advance the game until some agent asks for a decision or ends; `get_steps` then gives the
    columns of one behavior. Arrays handed out are fresh at every step: a caller may keep them.
    A context manager: leaving it closes the game.
    """

    @property
    @abstractmethod
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """The specs of the behaviors known so far, by full name (`Name?team=N`), in a stable order."""

    @abstractmethod
    def reset(self) -> None:
        """Starts every episode anew."""

    @abstractmethod
    def step(self) -> None:
        """Advances the game; agents without an action set since the last step do nothing."""

    @abstractmethod
    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """The agents of one behavior that ask for an action, and those whose episode ended.

        Raises:
            GameError: the behavior is not known.
        """

    @abstractmethod
    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the actions of all agents of the behavior that asked, in the order of `get_steps`.

        Raises:
            SpecError: wrong shapes, choices out of range or non-finite values.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the game; further calls are errors, closing twice is not."""

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        """Sets environment parameters; they hold from the next episode on. Unknown ones are ignored by default.

        A number takes the place of a sampler of that name.
        """
        del parameters

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Lets the game draw parameters anew for every episode, from the next one on; seeds are numbers by now.

        A sampler takes the place of a number of that name; one that is in force already draws on.

        Raises:
            SettingsError: the game draws nothing, which is the default, or can't be played with what it would draw.
        """
        if samplers:
            raise SettingsError(
                [
                    Finding(
                        "this game takes numbers and draws none",
                        where=f"environment_parameters.{name}",
                        cure="give a number, or let the game implement set_samplers",
                    )
                    for name in samplers
                ]
            )

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """The values the game reported since the last call, in order; they are handed out once."""
        return ()

    def take_lost_arenas(self) -> NDArray[np.int64]:
        """The arenas that began anew without a word since the last call: nobody in them is told to have ended."""
        return np.zeros(0, np.int64)

    def __enter__(self: _Environment) -> _Environment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@runtime_checkable
class StatefulEnvironment(Protocol):
    """An environment whose whole state, random streams included, can be saved and put back: resume is exact."""

    def save_state(self) -> StateTree:
        """A copy of everything the future of the game depends on."""

    def restore_state(self, state: StateTree) -> None:
        """Puts back what `save_state` gave; the next `get_steps` equals the one before saving."""
