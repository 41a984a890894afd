"""The academy: steps a game's agents, and lets a trainer, models or their own rules choose what they do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sparring.academy.agent import Agent, BehaviorType
from sparring.academy.choosing import choose_here, hand_over, model_of
from sparring.academy.models import ModelShelf, OnnxModel
from sparring.academy.parameters import EnvironmentParameters
from sparring.academy.recorder import StatsRecorder
from sparring.academy.seats import Seat, asking_columns, ended_columns
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

_LONGEST_SILENCE = 100_000
"""Environment steps without a question to the trainer."""
_NOTICE_S = 10.0


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
        is_observing: agents are being observed; no episode may end.
    """

    def __init__(
        self, *, seed: int = 0, num_areas: int = 1, is_trained: bool = False, turns: Turns | None = None
    ) -> None:
        if num_areas < 1:
            raise SpecError("a game has at least one area", found=str(num_areas))
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
        self.is_observing = False
        self._is_trained = is_trained
        self._turns = turns
        self._is_begun = False
        # Everybody in the game; of these the ones whose first episode has not begun; those who left and whose end is
        # still to be told.
        self._seats: list[Seat] = []
        self._new: list[Seat] = []
        self._left: list[Seat] = []
        # What each behavior sees and does; those of them a trainer chooses for.
        self._specs: dict[str, BehaviorSpec] = {}
        self._told: dict[str, BehaviorSpec] = {}
        # What the trainer is shown in this step.
        self._asking: dict[str, tuple[list[Seat], DecisionSteps]] = {}
        self._ended: dict[str, TerminalSteps] = {}
        self._silence = 0
        self._silent_since = time.monotonic()
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
        with ExitStack() as stack:  # all are called, whatever one of them raises
            for hook in reversed(hooks):
                stack.callback(hook)

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
        self._asking, self._ended, self._left = {}, {}, []
        for seat in self._seats:
            seat.forget()
        for hook in self._reset_hooks:
            hook()
        self._new = []
        for seat in list(self._seats):
            seat.begin()

    def observe(self) -> bool:
        """First half of an environment step: agents ask, and where no trainer chooses, choose.

        Returns:
            Whether a trainer is asked or told of ends.

        Raises:
            GameError: a trainer has not been asked for very long.
            SpecError: what agents see, or what is chosen for them, does not fit.
        """
        if not self._is_begun:
            self.reset()
        self._begin_episodes()
        for seat in self._seats:
            if seat.requester is not None:
                seat.requester.on_step(self.step_count)
        self.step_count += 1
        self.total_step_count += 1
        for seat in self._seats:
            seat.steps += 1
        remote, local = self._who_asks()
        self._tell_ends()
        for seats in local.values():
            choose_here(seats, self._warned)
        self._asking = {name: (seats, asking_columns(self._specs[name], seats)) for name, seats in remote.items()}
        has_news = bool(self._asking or self._ended)
        if self._is_trained:
            self._watch_silence(has_news=has_news)
        return has_news

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
        if len(asked):
            seats, steps = self._asking[behavior_name]
            hand_over(seats, steps, action)
        else:
            action.validate(self._specs[behavior_name].action_spec, 0, behavior=behavior_name)

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
        seat.is_gone = True
        if seat in self._seats:
            self._seats.remove(seat)
            self._left.append(seat)
        if seat in self._new:
            self._new.remove(seat)

    @contextmanager
    def observing(self) -> Iterator[None]:
        """While it lasts, no episode may end: what agents see belongs to the episodes of now."""
        before, self.is_observing = self.is_observing, True
        try:
            yield
        finally:
            self.is_observing = before

    def _watch_silence(self, *, has_news: bool) -> None:
        self._silence = 0 if has_news else self._silence + 1
        now = time.monotonic()
        if has_news:
            self._silent_since = now
        elif now - self._silent_since > _NOTICE_S:
            self._silent_since = now
            _log.warning("no agent has asked for a decision for %d steps", self._silence)
        if self._silence >= _LONGEST_SILENCE:
            raise GameError(
                "no agent asks for a decision",
                found=f"{self._silence:,} steps without one",
                cure="give agents a DecisionRequester or call request_decision, and leave some to the trainer",
            )

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

    def _begin_episodes(self) -> None:
        """Interrupts episodes that are as long as they may be, and begins those of new agents."""
        for seat in list(self._seats):
            if 0 < seat.max_step <= seat.steps:  # only now, so that what the game's update paid still counts
                seat.end(interrupted=True)
                seat.begin()
        new, self._new = self._new, []
        for seat in new:
            seat.begin()

    def _who_asks(self) -> tuple[dict[str, list[Seat]], dict[tuple[str, int], list[Seat]]]:
        """The agents that ask: the trainer, by behavior; and models or rules of their own, by behavior and model."""
        remote: dict[str, list[Seat]] = {}
        local: dict[tuple[str, int], list[Seat]] = {}
        for seat in self._seats:
            if not seat.wants_decision:
                continue
            seat.is_remote = self._is_trained and seat.agent.behavior_type is BehaviorType.DEFAULT
            if seat.is_remote:
                self._told[seat.name] = seat.spec
                remote.setdefault(seat.name, []).append(seat)
            else:
                local.setdefault((seat.name, id(model_of(seat))), []).append(seat)
        return remote, local

    def _tell_ends(self) -> None:
        by_name: dict[str, list[Seat]] = {}
        for seat in (*self._left, *self._seats):
            if seat.ended is not None and seat.ended.is_for_trainer:
                by_name.setdefault(seat.name, []).append(seat)
        self._ended = {name: ended_columns(self._specs[name], seats) for name, seats in by_name.items()}
        for seat in (*self._left, *self._seats):
            seat.ended = None
        self._left = []
