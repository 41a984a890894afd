"""The academy: steps a game's agents, and lets a trainer, models or their own rules choose what they do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sparring.academy.agent import Agent, BehaviorType
from sparring.academy.models import Model, ModelShelf, OnnxModel
from sparring.academy.parameters import EnvironmentParameters
from sparring.academy.recorder import StatsRecorder
from sparring.academy.seats import Seat, asking_columns, ended_columns, give_actions
from sparring.channels import (
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    SideChannels,
    StatsSideChannel,
    TrainingAnalyticsChannel,
)
from sparring.errors import GameError, SpecError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

if TYPE_CHECKING:
    from sparring.academy.turns import Turns

__all__ = ["Academy", "AcademyClosedError", "MakeGame", "Update"]

_log = logging.getLogger(__name__)


class AcademyClosedError(Exception):
    """The game was to be stepped after its end."""


class Update(Protocol):
    """One step of the game's own rules: movement, collisions, rewards."""

    def __call__(self) -> None:
        """Called once every environment step, after the agents acted."""
        ...


class MakeGame(Protocol):
    """Makes a game."""

    def __call__(self, academy: Academy, /) -> Update:
        """Makes the agents of `academy.num_areas` copies of the game, and gives what moves the game on."""
        ...


class Academy:
    """What all agents of a game have in common. There is one for a game, and as many games as you like in a process.

    An environment step is: agents ask for decisions, actions are chosen, agents act. A game is made with a function
    that is given an academy and returns its own update, which is called after every such step; see `sparring.academy`.

    Args:
        seed: for the game's chance, as the trainer wishes it.
        num_areas: how many copies of the game the trainer wishes.
        is_trained: whether a trainer chooses for agents of the default type.
        turns: of a game that steps itself, the hand-over to its trainer.

    Attributes:
        seed, num_areas: as given.
        rng: a random stream made from the seed.
        is_running: False when the game is to end.
        step_count: environment steps since the last reset.
        total_step_count: environment steps in all.
        episode_count: resets of the whole game.
        environment_parameters: what lessons and samplers of the trainer set.
        statistics: reports numbers to the trainer.
        side_channels: all channels; look one up by its type, register your own.
    """

    def __init__(
        self, *, seed: int = 0, num_areas: int = 1, is_trained: bool = False, turns: Turns | None = None
    ) -> None:
        self.seed = seed
        self.num_areas = num_areas
        self.rng = np.random.default_rng(seed)
        self.is_running = True
        self.step_count = 0
        self.total_step_count = 0
        self.episode_count = 0
        self.environment_parameters = EnvironmentParameters()
        stats = StatsSideChannel()
        self.statistics = StatsRecorder(stats)
        built_in = (EnvironmentParametersChannel(), stats, EngineConfigurationChannel(), TrainingAnalyticsChannel())
        self.side_channels = SideChannels(built_in, keeps_unknown=True)
        self._is_trained = is_trained
        self._turns = turns
        self._is_begun = False
        self._seats: list[Seat] = []
        self._left: list[Seat] = []
        self._new: list[Seat] = []
        self._specs: dict[str, BehaviorSpec] = {}
        self._told: dict[str, BehaviorSpec] = {}
        self._asking: dict[str, tuple[list[Seat], DecisionSteps]] = {}
        self._ended: dict[str, TerminalSteps] = {}
        self._reset_hooks: list[Callable[[], None]] = []
        self._close_hooks: list[Callable[[], None]] = []
        self._models = ModelShelf()
        self._numbers = self._group_numbers = 0
        self._warned: set[str] = set()

    @property
    def is_trainer_connected(self) -> bool:
        """Whether a trainer chooses for agents of the default type."""
        return self._is_trained

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Everybody in the game, in the order of appearance."""
        return tuple(seat.agent for seat in self._seats)

    def on_reset(self, hook: Callable[[], None]) -> None:
        """Calls a function whenever the whole game begins anew, before the agents' episodes begin."""
        self._reset_hooks.append(hook)

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls a function when the game is over, however it ended."""
        self._close_hooks.append(hook)

    def close(self) -> None:
        """Ends the game; twice is allowed. A game that wants to end by itself sets `is_running` to False."""
        self.is_running = False
        hooks, self._close_hooks = self._close_hooks, []
        for hook in hooks:
            hook()

    def load_model(self, path: Path | str) -> OnnxModel:
        """A model from a file; agents that load the same file share it.

        Raises:
            SpecError: see `OnnxModel`.
        """
        return self._models.load(path)

    def environment_step(self) -> None:
        """Takes one step with all agents, for a game that has its own loop.

        Raises:
            AcademyClosedError: the game is over; leave the loop when `is_running` is False.
        """
        if not self.is_running:
            raise AcademyClosedError
        if self._turns is None:
            self.observe()
            self.side_channels.take_outgoing()  # nobody reads them
        elif not self._meet_trainer(self._turns):
            return
        self.act()

    def reset(self) -> None:
        """Begins the whole game anew; episodes that were under way are forgotten without a word."""
        self._is_begun = True
        self.step_count = 0
        self.episode_count += 1
        self._asking, self._ended, self._left, self._new = {}, {}, [], []
        for hook in self._reset_hooks:
            hook()
        for seat in list(self._seats):
            seat.ended = None
            seat.begin()

    def observe(self) -> bool:
        """First half of an environment step: agents ask, and where no trainer chooses, choose.

        Returns:
            Whether a trainer is asked or told of ends.
        """
        if not self._is_begun:
            self.reset()
        new, self._new = self._new, []
        for seat in new:
            seat.begin()
        for seat in self._seats:
            if seat.requester is not None:
                seat.requester.on_step(self.step_count)
        self.step_count += 1
        self.total_step_count += 1
        for seat in self._seats:
            seat.steps += 1
        asking: dict[str, list[Seat]] = {}
        local: dict[tuple[str, int], list[Seat]] = {}
        for seat in self._seats:
            if seat.wants_decision:
                if self._is_remote(seat):
                    self._told[seat.name] = seat.spec
                    asking.setdefault(seat.name, []).append(seat)
                else:
                    local.setdefault((seat.name, id(self._model_of(seat))), []).append(seat)
        self._tell_ends()
        for seats in local.values():
            self._choose_here(seats)
        self._asking = {name: (seats, asking_columns(self._specs[name], seats)) for name, seats in asking.items()}
        return bool(self._asking or self._ended)

    def act(self) -> None:
        """Second half of an environment step: actions are carried out."""
        for seat in list(self._seats):
            seat.act()

    # The trainer's view.

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """The specs of the behaviors a trainer chooses for, by full name, in the order in which agents appeared."""
        return self._told

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """The agents of one behavior that ask a trainer, and those whose episode ended.

        Raises:
            GameError: the behavior is not known.
        """
        if behavior_name not in self._specs:
            raise GameError(f"the game has no behavior {behavior_name!r}", expected=", ".join(self._specs))
        spec = self._specs[behavior_name]
        asking = self._asking.get(behavior_name)
        ended = self._ended.get(behavior_name)
        return DecisionSteps.empty(spec) if asking is None else asking[1], ended or TerminalSteps.empty(spec)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the actions of all agents of the behavior that asked, in the order of `get_steps`.

        Raises:
            SpecError: wrong shapes, choices out of range or non-finite values.
            GameError: the behavior is not known.
        """
        asked, _ = self.get_steps(behavior_name)
        action.validate(self._specs[behavior_name].action_spec, len(asked), behavior=behavior_name)
        if len(asked):
            seats, steps = self._asking[behavior_name]
            self._hand_over(seats, steps, action)

    def compressed_sensors(self, behavior_name: str) -> frozenset[int]:
        """The sensors of a behavior whose images travel as PNG, by their place."""
        for seat in self._seats:
            if seat.name == behavior_name:
                return frozenset(place for place, sensor in enumerate(seat.sensors) if sensor.is_compressed)
        return frozenset()

    # What agents and groups call.

    def next_number(self) -> int:
        """An id no agent had yet."""
        self._numbers += 1
        return self._numbers - 1

    def next_group_number(self) -> int:
        """An id no group had yet, from 1 on: 0 means no group."""
        self._group_numbers += 1
        return self._group_numbers

    def admit(self, seat: Seat) -> None:
        """Takes an agent in; its first episode begins with the next environment step.

        Raises:
            SpecError: it sees or does something else than an earlier agent of its behavior.
        """
        known = self._specs.get(seat.name)
        if known is not None and known != seat.spec:
            raise SpecError(
                "two agents of one behavior see or do different things",
                where=seat.name,
                found=str(seat.spec),
                expected=str(known),
                cure="give them different behavior names",
            )
        self._specs[seat.name] = seat.spec
        if seat.agent.behavior_type is BehaviorType.DEFAULT:
            self._told[seat.name] = seat.spec
        self._seats.append(seat)
        self._new.append(seat)

    def dismiss(self, seat: Seat) -> None:
        """Lets an agent go; the end of its episode is still told."""
        if seat in self._seats:
            self._seats.remove(seat)
            self._left.append(seat)
        if seat in self._new:
            self._new.remove(seat)

    def _is_remote(self, seat: Seat) -> bool:
        return self._is_trained and seat.agent.behavior_type is BehaviorType.DEFAULT

    def _meet_trainer(self, turns: Turns) -> bool:
        """First half of a step whose trainer waits on another thread; False when it ends the game."""
        # Its first word is a reset, with parameters that hold from there on.
        if not self._is_begun and turns.wait_for_trainer() == "close":
            return False
        while self.observe():
            command = turns.wait_for_trainer()
            if command != "reset":
                return command == "step"
            self.reset()
        return True

    @staticmethod
    def _model_of(seat: Seat) -> Model | None:
        return None if seat.agent.behavior_type is BehaviorType.HEURISTIC_ONLY else seat.model

    def _tell_ends(self) -> None:
        by_name: dict[str, list[Seat]] = {}
        for seat in (*self._left, *self._seats):
            if seat.ended is not None and self._is_remote(seat):
                by_name.setdefault(seat.name, []).append(seat)
        self._ended = {name: ended_columns(self._specs[name], seats) for name, seats in by_name.items()}
        for seat in (*self._left, *self._seats):
            seat.ended = None
        self._left = []

    def _choose_here(self, seats: list[Seat]) -> None:
        """Lets a model or the agents' own rules choose."""
        spec, model = seats[0].spec, self._model_of(seats[0])
        if model is None and seats[0].agent.behavior_type is BehaviorType.INFERENCE_ONLY:
            raise SpecError("an agent is to act by its model and has none", where=seats[0].name, cure="call set_model")
        steps = asking_columns(spec, seats)
        if model is not None:
            memory = np.zeros((len(seats), model.memory_size), np.float32)
            for row, seat in enumerate(seats):
                if seat.memory is not None:
                    memory[row] = seat.memory
            chosen = model.choose(spec, steps, memory)
            for row, seat in enumerate(seats):
                seat.memory = chosen.memory[row]
            self._hand_over(seats, steps, chosen.actions)
            return
        batch = ActionBatch.zeros(spec.action_spec, len(seats))
        for row, seat in enumerate(seats):
            if not seat.choose_by_heuristic() and seat.name not in self._warned:
                self._warned.add(seat.name)
                _log.warning("%s: no trainer, no model and no heuristic: its agents do nothing", seat.name)
            batch.continuous[row], batch.discrete[row] = seat.actions.continuous, seat.actions.discrete
        batch.validate(spec.action_spec, len(seats), behavior=seats[0].name)
        self._hand_over(seats, steps, batch)

    @staticmethod
    def _hand_over(seats: list[Seat], steps: DecisionSteps, batch: ActionBatch) -> None:
        give_actions(seats, batch)
        for row, seat in enumerate(seats):
            for recorder in seat.recorders:
                recorder.write_decision(steps, row, batch)
