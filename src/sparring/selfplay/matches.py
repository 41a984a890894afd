"""Matches as columns: who sits where in each arena, what they earned, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.selfplay.outcome import MatchResult, TeamRecord, match_scores
from sparring.settings import OutcomeRule
from sparring.specs import BehaviorId

__all__ = ["UNSEATED", "MatchBook"]

UNSEATED = -2
"""Player number of a seat nobody has taken yet."""

_COLUMNS: Mapping[str, type[np.generic]] = MappingProxyType(
    {
        "player": np.int64,
        "rated_live": np.bool_,
        "agents": np.int64,
        "open": np.int64,
        "return_sum": np.float64,
        "last_sum": np.float64,
        "stated": np.float64,
        "stated_count": np.int64,
    }
)


class MatchBook:
    """The running match of every arena.

    Columns are `[arena, seat]`; a seat is one behavior on one team and holds all its agents of the arena. Who
    sits there is decided when a match starts and holds until its last agent has ended.
    """

    def __init__(self, *, rule: OutcomeRule) -> None:
        self.rule: OutcomeRule = rule
        self.seats: list[BehaviorId] = []
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros((0, 0), dtype) for name, dtype in _COLUMNS.items()}
        self._steps: NDArray[np.int64] = np.zeros(0, np.int64)
        self._interrupted: NDArray[np.bool_] = np.zeros(0, np.bool_)

    @property
    def num_arenas(self) -> int:
        """Arenas seen so far."""
        return len(self._steps)

    @property
    def player(self) -> NDArray[np.int64]:
        """Player numbers `[arena, seat]`: LIVE, UNSEATED or a snapshot's number."""
        return self._columns["player"]

    @property
    def rated_live(self) -> NDArray[np.bool_]:
        """Whether the seat is rated as the behavior's learner, `[arena, seat]`."""
        return self._columns["rated_live"]

    @property
    def steps(self) -> NDArray[np.int64]:
        """Decision steps of the running matches, all agents, `[arena]`."""
        return self._steps

    def seat(self, behavior: BehaviorId) -> int:
        """The column of a seat; a new one is appended."""
        if behavior not in self.seats:
            self.seats.append(behavior)
            self._grow(self.num_arenas)
        return self.seats.index(behavior)

    def make_room(self, arenas: int) -> None:
        """Extends the columns to at least so many arenas."""
        if arenas > self.num_arenas:
            self._grow(arenas)

    def _grow(self, arenas: int) -> None:
        shape = (arenas, len(self.seats))
        for name, old in self._columns.items():
            new = np.full(shape, UNSEATED if name == "player" else 0, old.dtype)
            new[: old.shape[0], : old.shape[1]] = old
            self._columns[name] = new
        self._steps = np.concatenate([self._steps, np.zeros(arenas - self.num_arenas, np.int64)])
        self._interrupted = np.concatenate([self._interrupted, np.zeros(arenas - len(self._interrupted), np.bool_)])

    def add_decisions(
        self, seat: int, arena: NDArray[np.int64], reward: NDArray[np.float32], opened: NDArray[np.bool_]
    ) -> None:
        """Agents asked for an action; `opened` marks those whose episode begins."""
        count = self.num_arenas
        self._columns["return_sum"][:, seat] += np.bincount(arena, reward, count)
        self._steps += np.bincount(arena, minlength=count)
        if opened.any():
            begun = np.bincount(arena[opened], minlength=count)
            self._columns["agents"][:, seat] += begun
            self._columns["open"][:, seat] += begun

    def add_terminals(
        self,
        seat: int,
        arena: NDArray[np.int64],
        reward: NDArray[np.float32],
        interrupted: NDArray[np.bool_],
        match_score: NDArray[np.float32] | None,
    ) -> None:
        """Episodes ended; `match_score` is what the game states, NaN where it states nothing."""
        count = self.num_arenas
        self._columns["return_sum"][:, seat] += np.bincount(arena, reward, count)
        self._columns["last_sum"][:, seat] += np.bincount(arena, reward, count)
        self._columns["open"][:, seat] -= np.bincount(arena, minlength=count)
        self._interrupted |= np.bincount(arena, interrupted, count) > 0
        if match_score is not None:
            says = ~np.isnan(match_score)
            self._columns["stated"][:, seat] += np.bincount(arena[says], match_score[says], count)
            self._columns["stated_count"][:, seat] += np.bincount(arena[says], minlength=count)

    def finished(self) -> NDArray[np.int64]:
        """Arenas whose last open agent has ended."""
        return np.flatnonzero((self._columns["agents"].sum(axis=1) > 0) & (self._columns["open"].sum(axis=1) == 0))

    def result(
        self, arena: int, *, learning_team: int | None, name_of: Callable[[BehaviorId, int, bool], str]
    ) -> MatchResult:
        """The result of an arena's match.

        Args:
            arena: a finished arena.
            learning_team: whose view counts under the rule `last_reward`.
            name_of: gives the rated player of a seat from its behavior, player number and whether it is rated as
                the learner.
        """
        played = [index for index in range(len(self.seats)) if self._columns["agents"][arena, index] > 0]
        teams = sorted({self.seats[index].team for index in played})
        by_team = [[index for index in played if self.seats[index].team == team] for team in teams]
        records = [self._record(arena, team, columns) for team, columns in zip(teams, by_team, strict=True)]
        learner = teams.index(learning_team) if learning_team in teams else None
        scores, mirrored = match_scores(self.rule, records, learner=learner)
        seats = tuple(
            tuple(
                (
                    self.seats[index],
                    name_of(self.seats[index], int(self.player[arena, index]), bool(self.rated_live[arena, index])),
                )
                for index in columns
            )
            for columns in by_team
        )
        return MatchResult(int(arena), tuple(teams), seats, scores, mirrored, int(self._steps[arena]))

    def _record(self, arena: int, team: int, columns: list[int]) -> TeamRecord:
        agents = int(self._columns["agents"][arena, columns].sum())
        stated_count = int(self._columns["stated_count"][arena, columns].sum())
        return TeamRecord(
            team=team,
            returns=float(self._columns["return_sum"][arena, columns].sum()) / agents,
            last_reward=float(self._columns["last_sum"][arena, columns].sum()) / agents,
            stated=float(self._columns["stated"][arena, columns].sum()) / stated_count if stated_count else None,
            interrupted=bool(self._interrupted[arena]),
        )

    def start(self, arenas: NDArray[np.int64], player: NDArray[np.int64], rated_live: NDArray[np.bool_]) -> None:
        """Starts the matches of arenas anew and seats players `[seat]` where somebody has begun to play already.

        Agents that are open belong to the new match: they have just begun in it, or the old one was abandoned and
        they play on. What they ask for now is its first decision.
        """
        for name in ("return_sum", "last_sum", "stated", "stated_count"):
            self._columns[name][arenas] = 0
        self._columns["agents"][arenas] = self._columns["open"][arenas]
        self._steps[arenas] = self._columns["open"][arenas].sum(axis=1)
        self._interrupted[arenas] = False
        self._columns["player"][arenas] = UNSEATED
        self._columns["rated_live"][arenas] = False
        self.seat_newcomers(player, rated_live)

    def forget_matches(self, arenas: NDArray[np.int64] | None = None) -> None:
        """Every agent of some arenas, or of all, is gone: no match is under way there."""
        where = slice(None) if arenas is None else arenas[arenas < self.num_arenas]
        for column in self._columns.values():
            column[where] = 0
        self._columns["player"][where] = UNSEATED
        self._steps[where] = 0
        self._interrupted[where] = False

    def seat_newcomers(self, player: NDArray[np.int64], rated_live: NDArray[np.bool_]) -> bool:
        """Seats players `[seat]` in seats nobody has taken, in arenas where somebody plays; True if there were any."""
        is_empty = self.player == UNSEATED
        if not is_empty.any():
            return False
        is_empty &= self._columns["open"].any(axis=1, keepdims=True)
        self._columns["player"] = np.where(is_empty, player, self.player)
        self._columns["rated_live"] = np.where(is_empty, rated_live, self.rated_live)
        return bool(is_empty.any())

    def state(self) -> dict[str, Any]:
        """Everything the book holds."""
        return {
            "seats": [str(seat) for seat in self.seats],
            "steps": self._steps.copy(),
            "interrupted": self._interrupted.copy(),
            "columns": {name: column.copy() for name, column in self._columns.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        self.seats = [BehaviorId.parse(seat) for seat in state["seats"]]
        self._steps = np.array(state["steps"])
        self._interrupted = np.array(state["interrupted"])
        self._columns = {name: np.array(state["columns"][name]) for name in _COLUMNS}
