"""A lineup whose matches are played at a word, so that every rule can be seen alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.networks.policy import Policy
from sparring.selfplay import Lineup, LineupEvent, MatchResult
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorId
from tests.selfplay.builders import plan, policy_of

__all__ = ["DUEL0", "DUEL1", "DUEL2", "FAR", "LEFT", "RIGHT", "Club", "duel", "kinds", "two_roles", "warnings_of"]

DUEL0, DUEL1, DUEL2 = (BehaviorId("Duel", team) for team in range(3))
LEFT, RIGHT = BehaviorId("Left", 0), BehaviorId("Right", 1)
FAR = {"save_steps": 10**6, "swap_steps": 10**6, "team_change": 10**6}
ARENA = np.zeros(1, np.int64)


class Club:
    """A lineup with one arena, and what a collector does to it."""

    def __init__(self, settings: Mapping[str, BehaviorSettings], *seats: BehaviorId, seed: int = 0) -> None:
        self.settings = settings
        self.live: dict[str, Policy] = {}
        self.finished: Callable[[str], bool] = lambda name: False
        self.lineup = Lineup(rng=np.random.default_rng(seed))
        for seat in seats:
            self.join(seat)

    def join(self, seat: BehaviorId) -> None:
        self.live.setdefault(seat.name, policy_of(seed=len(self.live)))
        self.lineup.add(seat, self.live[seat.name], self.settings[seat.name])

    def advance(self, **steps: int) -> list[LineupEvent]:
        """Lets behaviors have learned so many steps (`name`) or opponents played so many (`name_opponents`)."""
        for name, count in steps.items():
            behavior, _, whose = name.partition("_")
            clock = self.lineup.schedule.clock(behavior)
            if whose == "opponents":
                clock.opponent_steps = count
            else:
                clock.learner_steps = count
        return self.lineup.advance(self.live, self.finished)

    def ask(self, *, begins: bool) -> None:
        """An agent of every seat asks for an action; its episode begins or goes on."""
        book = self.lineup.book
        book.make_room(1)
        for seat in range(len(book.seats)):
            book.add_decisions(seat, ARENA, np.zeros(1, np.float32), np.array([begins]))

    def sit(self, over: NDArray[np.int64] | None = None) -> dict[BehaviorId, int]:
        self.lineup.seat_arenas(np.zeros(0, np.int64) if over is None else over)
        return self.sitting()

    def sitting(self) -> dict[BehaviorId, int]:
        return dict(zip(self.lineup.book.seats, self.lineup.book.player[0].tolist(), strict=True))

    def end(self, *rewards: float, interrupted: bool = False) -> tuple[list[MatchResult], list[LineupEvent]]:
        """Ends the match with a reward for each seat and starts the next one."""
        book = self.lineup.book
        for seat, reward in enumerate(rewards):
            one = np.array([reward], np.float32)
            book.add_terminals(seat, ARENA, one, np.array([interrupted]), None)
        over, results, events = self.lineup.record_finished()
        self.ask(begins=True)
        self.advance()
        self.lineup.seat_arenas(over)
        return results, events

    def start(self) -> dict[BehaviorId, int]:
        self.ask(begins=True)
        self.advance()
        return self.sit()

    def rating(self, player: str) -> float:
        return self.lineup.ratings[player].value


def duel(*seats: BehaviorId, **self_play: Any) -> Club:
    return Club({"Duel": plan(**{**FAR, **self_play})}, *(seats or (DUEL0, DUEL1)))


def two_roles(**self_play: Any) -> Club:
    settings = plan(**{**FAR, **self_play})
    return Club({"Left": settings, "Right": settings}, LEFT, RIGHT)


def kinds(events: list[LineupEvent]) -> list[str]:
    return [event.kind for event in events]


def warnings_of(club: Club, matches: int, *rewards: float, interrupted: bool = False) -> int:
    """Plays matches alike and gives how often there was a warning."""
    return sum(kinds(club.end(*rewards, interrupted=interrupted)[1]).count("warning") for _ in range(matches))
