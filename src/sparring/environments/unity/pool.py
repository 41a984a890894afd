"""Several games at once: each in a process of its own, read as they come, begun anew within limits when they break."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparring.environments.environment import Environment, EnvironmentStatistic
from sparring.errors import GameError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

__all__ = ["GamePool", "RestartLimits"]

_log = logging.getLogger(__name__)

_LARGEST_ID = 2**31 - 1
_Steps = tuple[DecisionSteps, TerminalSteps]


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
    """N games as one. Every game is an arena: its agents play each other and nobody else.

    A step answers the games that have asked and waits until at least one has news; the others go on meanwhile, and
    their agents are simply not among those that ask. Ids of agents and groups are made unique over all games.

    Args:
        make_game: starts the game of a worker number.
        count: how many.
        limits: how often each may be started again.
        clock: seconds.

    Raises:
        GameError: a game does not start; none is left running.
    """

    def __init__(
        self,
        make_game: Callable[[int], Environment],
        count: int,
        *,
        limits: RestartLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_game = make_game
        self._limits = RestartLimits() if limits is None else limits
        self._clock = clock
        self._restarted_at: list[list[float]] = [[] for _ in range(count)]
        self._parameters: dict[str, float] = {}
        self._specs: dict[str, BehaviorSpec] = {}
        self._ready: list[int] = []
        self._steps: dict[str, list[tuple[int, _Steps]]] = {}
        self._lost: set[int] = set()
        self._statistics: deque[EnvironmentStatistic] = deque()
        self._threads = ThreadPoolExecutor(count, "games")
        self._running: dict[Future[None], int] = {}
        self._games: list[Environment | None] = [None] * count
        starts = [self._threads.submit(make_game, worker) for worker in range(count)]
        wait(starts)
        errors = [start.exception() for start in starts if start.exception() is not None]
        self._games = [start.result() if start.exception() is None else None for start in starts]
        if errors:
            self.close()
            assert errors[0] is not None, "only failures are listed"
            raise errors[0]
        self._take_specs()

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """The behaviors any game has announced."""
        return self._specs

    def reset(self) -> None:
        """Starts every episode of every game anew."""
        self._run_all(range(len(self._games)), lambda game: game.reset())
        wait(self._running)
        self._gather()

    def step(self) -> None:
        """Lets the games that have asked go on, and waits until any has news.

        Raises:
            GameError: a game ended and may not be started again.
        """
        self._run_all(self._ready, lambda game: game.step())
        wait(self._running, return_when=FIRST_COMPLETED)
        self._gather()

    def get_steps(self, behavior_name: str) -> _Steps:
        """The agents of all games that have news, game by game; `arena_id` is the game's number."""
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
        self._parameters |= parameters
        for game in self._games:
            if game is not None:
                game.set_parameters(parameters)

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """What the games reported since the last call, with the number of each."""
        taken = list(self._statistics)
        self._statistics.clear()
        return taken

    def take_lost_arenas(self) -> NDArray[np.int64]:
        """The games that were started again since the last call."""
        lost = np.array(sorted(self._lost), np.int64)
        self._lost.clear()
        return lost

    def close(self) -> None:
        """Ends all games, side by side; twice is allowed."""
        games = [game for game in self._games if game is not None]
        wait([self._threads.submit(game.close) for game in games] if games else [])
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
            self._start_again(worker, error)

    def _start_again(self, worker: int, error: GameError) -> None:
        past = self._restarted_at[worker]
        now = self._clock()
        recent = sum(1 for at in past if now - at < self._limits.rate_period_s)
        if 0 <= self._limits.lifetime <= len(past) or 0 <= self._limits.rate_n <= recent:
            finding = error.findings[0]
            limit = f"it was started again {len(past)} times, {recent} of them in {self._limits.rate_period_s:g} s"
            raise GameError([replace(finding, found=f"{finding.found}; {limit}"), *error.findings[1:]]) from None
        past.append(now)
        _log.warning("game %d is started again: %s", worker, error.findings[0].what)
        old, self._games[worker] = self._games[worker], None
        if old is not None:
            old.close()
        game = self._games[worker] = self._make_game(worker)  # known at once, so that it is closed whatever comes
        game.set_parameters(self._parameters)
        game.reset()
        self._lost.add(worker)

    def _gather(self) -> None:
        """Takes in the games that have finished their move."""
        self._steps = {}
        for future in [future for future in self._running if future.done()]:
            worker = self._running.pop(future)
            future.result()
            self._ready.append(worker)
        self._ready.sort()
        self._take_specs()
        for worker in self._ready:
            game = self._game(worker)
            if len(game.take_lost_arenas()):
                self._lost.add(worker)
            self._statistics.extend(statistic._replace(worker=worker) for statistic in game.take_statistics())
            for name in game.behavior_specs:
                steps = game.get_steps(name)
                if len(steps[0]) or len(steps[1]):
                    self._steps.setdefault(name, []).append((worker, self._made_unique(worker, steps)))

    def _take_specs(self) -> None:
        for worker, game in enumerate(self._games):
            for name, spec in ({} if game is None else game.behavior_specs).items():
                if self._specs.setdefault(name, spec) != spec:
                    raise GameError("the games disagree about a behavior", where=name, found=f"game {worker} differs")

    def _made_unique(self, worker: int, steps: _Steps) -> _Steps:
        decision, terminal = steps
        return (
            replace(
                decision,
                agent_id=self._unique(worker, decision.agent_id),
                group_id=self._unique_groups(worker, decision.group_id),
                arena_id=np.full(len(decision), worker, np.int32),
            ),
            replace(
                terminal,
                agent_id=self._unique(worker, terminal.agent_id),
                group_id=self._unique_groups(worker, terminal.group_id),
                arena_id=np.full(len(terminal), worker, np.int32),
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
    return TerminalSteps(
        obs=[np.concatenate(columns) for columns in zip(*(part.obs for part in steps), strict=True)],
        reward=np.concatenate([part.reward for part in steps]),
        interrupted=np.concatenate([part.interrupted for part in steps]),
        agent_id=np.concatenate([part.agent_id for part in steps]),
        group_id=np.concatenate([part.group_id for part in steps]),
        group_reward=np.concatenate([part.group_reward for part in steps]),
        arena_id=np.concatenate([part.arena_id for part in steps if part.arena_id is not None]),
    )
