"""Several games at once: each in a process of its own, read as they come, begun anew within limits when they break."""

from __future__ import annotations

import logging
import queue
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparring.environments.environment import Environment, EnvironmentStatistic
from sparring.environments.samplers import of_game
from sparring.environments.unity.pitches import Pitches
from sparring.errors import GameError
from sparring.settings import Sampler
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = ["GamePool", "MakeGame", "RestartLimits"]

_log = logging.getLogger(__name__)

_LARGEST_ID = 2**31 - 1
_LOOK_EVERY_S = 0.2
_SUM = 2
_Steps = tuple[DecisionSteps, TerminalSteps]

MakeGame = Callable[[int, Callable[[], bool]], Environment]
"""Starts the game of a worker number; the second argument says whether nobody waits for it any more."""


class _GivenUpError(GameError):
    """The start of a game was given up, because another one failed or nobody waits any more."""


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """How often one game may be started again; -1 is without limit.

    Attributes:
        lifetime: in a run.
        rate_n: within `rate_period_s` seconds.
    """

    lifetime: int = 10
    rate_n: int = 1
    rate_period_s: float = 60.0


class GamePool(Environment):
    """N games as one, in which agents of different games never meet.

    A step answers the games that have asked and waits until at least one has news; the others go on meanwhile, and
    their agents are simply not among those that ask. Ids of agents and groups are made unique over all games. Which
    agents of one game play each other is told from their episodes, see `Pitches`.

    Args:
        make_game: starts the game of a worker number; it has to give up waiting once its second argument says so.
        count: how many.
        limits: how often each may be started again.
        should_stop: asked while nobody has news; with True `step` comes back without any, and a start is given up.
        clock: seconds.

    Raises:
        GameError: a game does not start, or the start was given up; none is left running.
    """

    def __init__(
        self,
        make_game: MakeGame,
        count: int,
        *,
        limits: RestartLimits | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_game = make_game
        self._limits = RestartLimits() if limits is None else limits
        self._clock = clock
        self._should_stop = should_stop
        self._is_closing = False
        self._restarted_at: list[list[float]] = [[] for _ in range(count)]
        self._parameters: dict[str, float] = {}
        self._samplers: dict[str, Sampler] = {}
        self._specs: dict[str, BehaviorSpec] = {}
        self._ready: list[int] = []
        self._steps: dict[str, list[tuple[int, _Steps]]] = {}
        self._pitches = [Pitches() for _ in range(count)]
        self._restarted: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._lost: list[int] = []
        self._statistics: deque[EnvironmentStatistic] = deque()
        self._threads = ThreadPoolExecutor(count, "games")
        self._running: dict[Future[None], int] = {}
        self._games: list[Environment | None] = [None] * count
        starts = [self._threads.submit(self._make, worker) for worker in range(count)]
        while wait(starts, timeout=_LOOK_EVERY_S, return_when=FIRST_EXCEPTION).not_done:
            if any(start.done() and start.exception() for start in starts) or should_stop():
                self._is_closing = True  # the others need not go on
        errors = [error for error in (start.exception() for start in starts) if error is not None]
        if errors:
            self.close()
            raise next((error for error in errors if not isinstance(error, _GivenUpError)), errors[0])
        self._take_specs()

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """The behaviors any game has announced."""
        return self._specs

    def reset(self) -> None:
        """Starts every episode of every game anew; games under way finish their step first."""
        wait(self._running)
        self._gather()
        for pitches in self._pitches:
            pitches.begin_anew()
        self._run_all(range(len(self._games)), lambda game: game.reset())
        while wait(self._running, timeout=_LOOK_EVERY_S).not_done:
            if self._should_stop():
                if not self._specs:
                    raise _GivenUpError("stopped before the game showed an agent")
                break
        self._gather()

    def step(self) -> None:
        """Lets the games that have asked go on, and waits until any has news, is lost, or nobody waits any more.

        Raises:
            GameError: a game ended and may not be started again.
        """
        self._run_all(self._ready, lambda game: game.step())
        while not wait(self._running, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED).done:
            self._take_lost()
            if self._lost or self._should_stop():
                break
        self._gather()

    def get_steps(self, behavior_name: str) -> _Steps:
        """The agents of all games that have news, game by game."""
        if behavior_name not in self._specs:
            raise GameError(f"no game has a behavior {behavior_name!r}", found=", ".join(self._specs) or "none yet")
        parts = self._steps.get(behavior_name, [])
        spec = self._specs[behavior_name]
        if not parts:
            return DecisionSteps.empty(spec), TerminalSteps.empty(spec)
        return _joined_decisions(parts, spec), _joined_terminals(parts)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the actions of all agents that asked, in the order of `get_steps`."""
        start = 0
        for worker, (decision, _) in self._steps.get(behavior_name, []):
            part = slice(start, start + len(decision))
            start = part.stop
            self._game(worker).set_actions(behavior_name, ActionBatch(action.continuous[part], action.discrete[part]))

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        """Sends environment parameters to every game, and to those that are started again."""
        # New tables, for a game that is being started again may be reading the old ones.
        self._parameters = {**self._parameters, **parameters}
        self._samplers = {name: sampler for name, sampler in self._samplers.items() if name not in parameters}
        for game in self._games:
            if game is not None:
                game.set_parameters(parameters)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Sends samplers to every game, each with a seed of its own, and to those that are started again."""
        self._samplers = {**self._samplers, **samplers}
        self._parameters = {name: value for name, value in self._parameters.items() if name not in samplers}
        for worker, game in enumerate(self._games):
            if game is not None:
                game.set_samplers(_of_game(samplers, worker))

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """What the games reported since the last call, with the number of each."""
        taken = list(self._statistics)
        self._statistics.clear()
        return taken

    def take_lost_arenas(self) -> NDArray[np.int64]:
        """The arenas of games that broke, or were left by the editor, since the last call."""
        lost = np.unique(np.array(self._lost, np.int64))
        self._lost.clear()
        return lost

    def close(self) -> None:
        """Ends all games, side by side, those that are being started included; twice is allowed."""
        self._is_closing = True
        games = [game for game in self._games if game is not None]
        if games:
            with ThreadPoolExecutor(len(games), "closing") as closing:  # the games' own threads may wait for them
                wait([closing.submit(game.close) for game in games])
        self._threads.shutdown()
        for game in self._games:  # one that was being started again meanwhile
            if game is not None:
                game.close()
        self._games = [None] * len(self._games)

    # -- running -----------------------------------------------------------------------------------------------------

    def _game(self, worker: int) -> Environment:
        game = self._games[worker]
        if game is None:
            raise GameError("the game is closed", where=f"game {worker}")
        return game

    def _run_all(self, workers: Sequence[int], move: Callable[[Environment], None]) -> None:
        for worker in workers:
            self._running[self._threads.submit(self._moved, worker, move)] = worker
        self._ready = []

    def _moved(self, worker: int, move: Callable[[Environment], None]) -> None:
        """Moves a game; where that fails it is started again, if it may be."""
        try:
            move(self._game(worker))
        except GameError as error:
            if self._is_closing:
                raise
            self._start_again(worker, error)

    def _make(self, worker: int) -> None:
        if self._is_closing:
            raise _GivenUpError("nobody waits for the game any more", where=f"game {worker}")
        try:
            game = self._make_game(worker, lambda: self._is_closing)
        except GameError as error:
            if self._is_closing:  # what it says is that it was given up
                raise _GivenUpError(error.findings) from None
            raise
        self._games[worker] = game  # known at once, so that it is closed whatever comes

    def _start_again(self, worker: int, error: GameError) -> None:
        past = self._restarted_at[worker]
        now = self._clock()
        recent = sum(1 for at in past if now - at < self._limits.rate_period_s)
        if 0 <= self._limits.lifetime <= len(past) or 0 <= self._limits.rate_n <= recent:
            finding = error.findings[0]
            limit = f"it was started again {len(past)} times, {recent} of them in {self._limits.rate_period_s:g} s"
            raise GameError([replace(finding, found=f"{finding.found}; {limit}"), *error.findings[1:]]) from None
        past.append(now)
        _log.warning(
            "game %d is started again (for the %s time): %s; %s",
            worker,
            len(past),
            error.findings[0].what,
            error.findings[0].found,
        )
        self._restarted.put(worker)
        old, self._games[worker] = self._games[worker], None
        if old is not None:
            old.close()
        self._make(worker)
        game = self._game(worker)
        game.set_parameters(self._parameters)
        game.set_samplers(_of_game(self._samplers, worker))
        game.reset()

    def _take_lost(self) -> None:
        """Takes note of games that were lost: what they did last leads nowhere."""
        lost = [worker for worker in self._running.values() if self._has_left(worker)]
        while not self._restarted.empty():
            worker = self._restarted.get()
            lost.append(worker)
            self._statistics.append(EnvironmentStatistic("Environment/Restarts", 1.0, _SUM, worker))
        for worker in lost:
            self._lose(worker)

    def _lose(self, worker: int) -> None:
        self._lost += [arena * len(self._games) + worker for arena in self._pitches[worker].arenas]
        self._pitches[worker].begin_anew()

    def _has_left(self, worker: int) -> bool:
        """The editor left, and perhaps came back."""
        game = self._games[worker]
        return game is not None and len(game.take_lost_arenas()) > 0

    def _gather(self) -> None:
        """Takes in the games that have finished their move."""
        self._steps = {}
        for future in [future for future in self._running if future.done()]:
            worker = self._running[future]
            future.result()
            del self._running[future]
            self._ready.append(worker)
        self._ready.sort()
        self._take_lost()
        self._take_specs()
        for worker in self._ready:
            game = self._game(worker)
            if self._has_left(worker):
                self._lose(worker)
            self._statistics.extend(statistic._replace(worker=worker) for statistic in game.take_statistics())
            steps = {name: game.get_steps(name) for name in game.behavior_specs}
            arenas = self._pitches[worker].assigned(steps)
            for name, (decision, terminal) in steps.items():
                if len(decision) or len(terminal):
                    unique = self._made_unique(worker, decision, terminal, *arenas[name])
                    self._steps.setdefault(name, []).append((worker, unique))

    def _take_specs(self) -> None:
        for worker, game in enumerate(self._games):
            for name, spec in ({} if game is None else game.behavior_specs).items():
                if self._specs.setdefault(name, spec) != spec:
                    raise GameError("the games disagree about a behavior", where=name, found=f"game {worker} differs")

    def _made_unique(
        self,
        worker: int,
        decision: DecisionSteps,
        terminal: TerminalSteps,
        asking: NDArray[np.int32],
        ended: NDArray[np.int32],
    ) -> _Steps:
        return (
            replace(
                decision,
                agent_id=self._unique(worker, decision.agent_id),
                group_id=self._unique_groups(worker, decision.group_id),
                arena_id=asking * len(self._games) + worker,
            ),
            replace(
                terminal,
                agent_id=self._unique(worker, terminal.agent_id),
                group_id=self._unique_groups(worker, terminal.group_id),
                arena_id=ended * len(self._games) + worker,
            ),
        )

    def _unique(self, worker: int, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        wide = ids.astype(np.int64) * len(self._games) + worker
        if len(wide) and not 0 <= int(wide.min()) <= int(wide.max()) <= _LARGEST_ID:
            raise GameError(
                "an agent's id is out of range", where=f"game {worker}", found=f"{ids.min()} to {ids.max()}"
            )
        return wide.astype(np.int32)

    def _unique_groups(self, worker: int, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(ids == 0, 0, self._unique(worker, ids) + len(self._games)).astype(np.int32)


def _of_game(samplers: Mapping[str, Sampler], worker: int) -> dict[str, Sampler]:
    return {name: of_game(sampler, worker) for name, sampler in samplers.items()}


def _joined_decisions(parts: Sequence[tuple[int, _Steps]], spec: BehaviorSpec) -> DecisionSteps:
    steps = [decision for _, (decision, _) in parts]
    mask = None
    if any(part.action_mask is not None for part in steps):
        mask = [
            np.concatenate(
                [
                    np.zeros((len(part), size), np.bool_) if part.action_mask is None else part.action_mask[branch]
                    for part in steps
                ]
            )
            for branch, size in enumerate(spec.action_spec.discrete_branches)
        ]
    return DecisionSteps(
        obs=[np.concatenate(columns) for columns in zip(*(part.obs for part in steps), strict=True)],
        reward=np.concatenate([part.reward for part in steps]),
        agent_id=np.concatenate([part.agent_id for part in steps]),
        action_mask=mask,
        group_id=np.concatenate([part.group_id for part in steps]),
        group_reward=np.concatenate([part.group_reward for part in steps]),
        arena_id=np.concatenate([part.arena_id for part in steps if part.arena_id is not None]),
    )


def _joined_terminals(parts: Sequence[tuple[int, _Steps]]) -> TerminalSteps:
    steps = [terminal for _, (_, terminal) in parts]
    scores = None
    if any(part.match_score is not None for part in steps):
        unknown = [np.full(len(part), np.nan, np.float32) for part in steps]
        scores = np.concatenate(
            [none if part.match_score is None else part.match_score for part, none in zip(steps, unknown, strict=True)]
        )
    return TerminalSteps(
        obs=[np.concatenate(columns) for columns in zip(*(part.obs for part in steps), strict=True)],
        reward=np.concatenate([part.reward for part in steps]),
        interrupted=np.concatenate([part.interrupted for part in steps]),
        agent_id=np.concatenate([part.agent_id for part in steps]),
        group_id=np.concatenate([part.group_id for part in steps]),
        group_reward=np.concatenate([part.group_reward for part in steps]),
        arena_id=np.concatenate([part.arena_id for part in steps if part.arena_id is not None]),
        match_score=scores,
    )
