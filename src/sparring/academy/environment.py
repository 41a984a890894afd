"""A game written with the academy, as an environment for a trainer in this process or behind the wire."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from sparring.academy.academy import Academy, AcademyClosedError, MakeGame
from sparring.academy.turns import Turns
from sparring.channels import SideChannel, SideChannels, StatsSideChannel
from sparring.environments import Environment, EnvironmentStatistic
from sparring.errors import GameError, SpecError
from sparring.settings import Sampler
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = [
    "AcademyEnvironment",
    "LoopEnvironment",
    "as_world",
    "check_update",
    "loop_as_world",
    "run_loop",
]

_log = logging.getLogger(__name__)

_PATIENCE_S = 10.0


class _AcademyBased(Environment):
    """What both ways of stepping a game have in common.

    Args:
        academy: of the game.
        side_channels: the trainer's ends of channels, for a trainer in this process.
    """

    def __init__(self, academy: Academy, side_channels: Sequence[SideChannel]) -> None:
        self.academy = academy
        self._stats = StatsSideChannel()
        self._trainer_channels: SideChannels | None = SideChannels((self._stats, *side_channels))

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self.academy.behavior_specs

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        return self.academy.get_steps(behavior_name)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        self.academy.set_actions(behavior_name, action)

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        self.academy.environment_parameters.set_numbers(parameters)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        self.academy.environment_parameters.set_samplers(samplers)

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        return [EnvironmentStatistic(key, value, int(kind)) for key, value, kind in self._stats.take()]

    def hand_out_channels(self) -> SideChannels:
        """The game's ends of all channels, for whoever carries their messages from now on."""
        self._trainer_channels = None
        return self.academy.side_channels

    def compressed_sensors(self, behavior_name: str) -> frozenset[int]:
        """The sensors of a behavior whose images travel as PNG, by their place."""
        return self.academy.compressed_sensors(behavior_name)

    def reset(self) -> None:
        self._advance(is_reset=True)

    def step(self) -> None:
        self._advance(is_reset=False)

    def _advance(self, *, is_reset: bool) -> None:
        if self._trainer_channels is not None:
            self.academy.side_channels.deliver(self._trainer_channels.take_outgoing())
        self._run(is_reset=is_reset)
        if self._trainer_channels is not None:
            self._trainer_channels.deliver(self.academy.side_channels.take_outgoing())

    @abstractmethod
    def _run(self, *, is_reset: bool) -> None:
        """Lets the game run until an agent asks or ends."""


class AcademyEnvironment(_AcademyBased):
    """A game that is stepped from outside.

    Args:
        make_game: makes it.
        seed: for the game's chance.
        num_areas: copies of the game.
        side_channels: the trainer's ends of channels, for a trainer in this process.
    """

    def __init__(
        self, make_game: MakeGame, *, seed: int = 0, num_areas: int = 1, side_channels: Sequence[SideChannel] = ()
    ) -> None:
        super().__init__(Academy(seed=seed, num_areas=num_areas, is_trained=True), side_channels)
        self._update = make_game(self.academy)
        check_update(self._update)

    def close(self) -> None:
        """Ends the game."""
        self.academy.close()

    def _run(self, *, is_reset: bool) -> None:
        if not self.academy.is_running:
            raise GameError("the game is over", found="it was closed, or set academy.is_running to False itself")
        if is_reset:
            self.academy.reset()
        else:
            self.academy.act()
            self._update()
        while not self.academy.observe():
            self.academy.act()
            self._update()


class LoopEnvironment(_AcademyBased):
    """A game that has a loop of its own and calls `Academy.environment_step` in it, on another thread.

    Args:
        academy: of the game, which has these turns.
        turns: of game and trainer.
        side_channels: the trainer's ends of channels, for a trainer in this process.
    """

    def __init__(self, academy: Academy, turns: Turns, *, side_channels: Sequence[SideChannel] = ()) -> None:
        super().__init__(academy, side_channels)
        self._turns = turns
        turns.wait_for_start()
        self._look_after_game()

    @classmethod
    def start(
        cls,
        main: Callable[[Academy], None],
        *,
        seed: int = 0,
        num_areas: int = 1,
        side_channels: Sequence[SideChannel] = (),
    ) -> LoopEnvironment:
        """Starts a game's loop on a thread of its own.

        Args:
            main: makes the game and runs its loop while `academy.is_running`.
            seed, num_areas, side_channels: see `AcademyEnvironment`.
        """
        turns = Turns()
        academy = Academy(seed=seed, num_areas=num_areas, is_trained=True, turns=turns)
        threading.Thread(target=run_loop, args=(main, academy, turns), name="game", daemon=True).start()
        return cls(academy, turns, side_channels=side_channels)

    def close(self) -> None:
        """Ends the game's loop."""
        self.academy.is_running = False
        if not self._turns.is_over and not self._turns.wait_for_game("close", timeout=_PATIENCE_S):
            _log.warning("the game's loop goes on: it should look at academy.is_running")

    def _run(self, *, is_reset: bool) -> None:
        self._look_after_game()
        self._turns.wait_for_game("reset" if is_reset else "step")
        self._look_after_game()

    def _look_after_game(self) -> None:
        if self._turns.error is not None:
            raise self._turns.error
        if self._turns.is_over:
            raise GameError("the game's loop ended", cure="let it run while academy.is_running")


def run_loop(main: Callable[[Academy], None], academy: Academy, turns: Turns) -> None:
    """Runs a game's loop to its end and tells the trainer's thread."""
    error: BaseException | None = None
    try:
        main(academy)
    except AcademyClosedError:
        pass
    except BaseException as raised:
        error = raised
    try:
        academy.close()
    except Exception as raised:  # what the game wanted to do at its end
        error = error or raised
    finally:
        turns.end(error)


def check_update(update: object) -> None:
    """Whether a game gave what moves it on.

    Raises:
        SpecError: it did not.
    """
    if not callable(update):
        raise SpecError(
            "the game gave no update",
            found=type(update).__name__,
            expected="a function without arguments, called once every step",
            cure="return one from the function that makes the game; `return lambda: None` if there is nothing to do",
        )


def as_world(make_game: MakeGame) -> Callable[..., Environment]:
    """A game as `sparring train FILE.py:NAME` and the entry point group `sparring.worlds` want it."""

    def create(*, num_arenas: int, seed: int, threads: int) -> Environment:
        del threads
        return AcademyEnvironment(make_game, seed=seed, num_areas=num_arenas)

    return create


def loop_as_world(main: Callable[[Academy], None]) -> Callable[..., Environment]:
    """The same for a game with a loop of its own."""

    def create(*, num_arenas: int, seed: int, threads: int) -> Environment:
        del threads
        return LoopEnvironment.start(main, seed=seed, num_areas=num_arenas)

    return create
