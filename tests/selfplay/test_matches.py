"""Matches as columns against the same matches kept as plain objects, one per arena."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.selfplay import LIVE, UNSEATED, MatchBook, TeamRecord, match_scores
from sparring.settings import OutcomeRule
from sparring.specs import BehaviorId

LEFT, RIGHT, KEEPER = BehaviorId("Left", 0), BehaviorId("Right", 7), BehaviorId("Keeper", 7)


@dataclass
class Episode:
    """One agent's part of a match."""

    seat: int
    is_open: bool = True
    earned: float = 0.0
    last: float = 0.0
    stated: float | None = None


@dataclass
class PlainMatch:
    """What `MatchBook` keeps of an arena, as objects."""

    episodes: list[Episode] = field(default_factory=list)
    player: dict[int, int] = field(default_factory=dict)
    steps: int = 0
    interrupted: bool = False

    def is_over(self) -> bool:
        return bool(self.episodes) and not any(episode.is_open for episode in self.episodes)

    def start(self, player: list[int]) -> None:
        self.episodes = [Episode(episode.seat) for episode in self.episodes if episode.is_open]
        self.steps = len(self.episodes)
        self.interrupted = False
        self.player = {}
        self.seat_newcomers(player)

    def seat_newcomers(self, player: list[int]) -> None:
        if any(episode.is_open for episode in self.episodes):
            self.player = {**dict(enumerate(player)), **self.player}

    def record(self, team: int, seats: list[BehaviorId]) -> TeamRecord:
        own = [episode for episode in self.episodes if seats[episode.seat].team == team]
        stated = [episode.stated for episode in own if episode.stated is not None]
        return TeamRecord(
            team,
            sum(episode.earned for episode in own) / len(own),
            sum(episode.last for episode in own) / len(own),
            sum(stated) / len(stated) if stated else None,
            self.interrupted,
        )


@dataclass
class Twins:
    """A book and its plain twin, driven by one stream; every comparison is an assertion."""

    rng: np.random.Generator
    rule: OutcomeRule
    seats: list[BehaviorId]
    matches: dict[int, PlainMatch] = field(default_factory=dict)
    finished: int = 0

    def __post_init__(self) -> None:
        self.book = MatchBook(rule=self.rule)
        for seat in self.seats:
            assert self.book.seat(seat) == self.seats.index(seat)

    def rewards(self, count: int) -> NDArray[Any]:
        # Multiples of 1/64: their sums are exact in any order, so that the twins must agree to the bit.
        return (self.rng.integers(-128, 129, count) / 64).astype(np.float32)

    def end_some(self) -> None:
        for index in range(len(self.seats)):
            ending = [
                (arena, episode)
                for arena, match in self.matches.items()
                for episode in match.episodes
                if episode.seat == index and episode.is_open and self.rng.random() < 0.4
            ]
            if not ending:
                continue
            reward = self.rewards(len(ending))
            cut = self.rng.random(len(ending)) < 0.1
            score = self.rng.integers(0, 3, len(ending)).astype(np.float32)
            score[self.rng.random(len(ending)) < 0.3] = np.nan
            gives_scores = self.rng.random() < 0.7
            arenas = np.array([arena for arena, _ in ending])
            self.book.add_terminals(index, arenas, reward, cut, score if gives_scores else None)
            for place, (arena, episode) in enumerate(ending):
                episode.is_open = False
                episode.earned += float(reward[place])
                episode.last = float(reward[place])
                self.matches[arena].interrupted |= bool(cut[place])
                if gives_scores and not np.isnan(score[place]):
                    episode.stated = float(score[place])

    def go_on(self, arenas: int) -> None:
        """Agents that are open ask again or pause; new ones come, in arenas never seen before too."""
        self.book.make_room(arenas)
        for index in range(len(self.seats)):
            asking = []
            for arena in range(arenas):
                match = self.matches.setdefault(arena, PlainMatch())
                going = [e for e in match.episodes if e.seat == index and e.is_open and self.rng.random() < 0.8]
                new = [Episode(index) for _ in range(self.rng.integers(0, 3))]
                match.episodes += new
                asking += [(arena, episode, False) for episode in going] + [(arena, episode, True) for episode in new]
            if not asking:
                continue
            opened = np.array([is_new for _, _, is_new in asking])
            reward = np.where(opened, np.float32(0), self.rewards(len(asking)))
            self.book.add_decisions(index, np.array([arena for arena, _, _ in asking]), reward, opened)
            for place, (arena, episode, _) in enumerate(asking):
                episode.earned += float(reward[place])
                self.matches[arena].steps += 1

    def start(self, arenas: list[int]) -> None:
        player = self.rng.integers(LIVE, 5, len(self.seats))
        if arenas:
            self.book.start(np.array(arenas), player, player == LIVE)
        self.book.seat_newcomers(player, player == LIVE)
        for arena, match in self.matches.items():
            if arena in arenas:
                match.start(player.tolist())
            match.seat_newcomers(player.tolist())

    def compare_finished(self, learning_team: int | None) -> list[int]:
        over = [arena for arena, match in sorted(self.matches.items()) if match.is_over()]
        assert self.book.finished().tolist() == over
        for arena in over:
            self.compare_result(arena, learning_team)
        self.finished += len(over)
        return over

    def compare_result(self, arena: int, learning_team: int | None) -> None:
        match = self.matches[arena]
        result = self.book.result(
            arena, learning_team=learning_team, name_of=lambda seat, number, live: f"{seat} {number} {live}"
        )
        played = sorted({episode.seat for episode in match.episodes})
        teams = sorted({self.seats[index].team for index in played})
        records = [match.record(team, self.seats) for team in teams]
        learner = teams.index(learning_team) if learning_team in teams else None
        scores, mirrored = match_scores(self.rule, records, learner=learner)
        assert (result.arena, result.teams, result.steps) == (arena, tuple(teams), match.steps)
        assert (result.scores, result.mirrored) == (scores, mirrored)
        sitting = match.player or dict.fromkeys(range(len(self.seats)), UNSEATED)
        assert result.seats == tuple(
            tuple(
                (self.seats[index], f"{self.seats[index]} {sitting[index]} {sitting[index] == LIVE}")
                for index in played
                if self.seats[index].team == team
            )
            for team in teams
        )

    def compare_columns(self) -> None:
        assert self.book.num_arenas == len(self.matches)
        for arena, match in self.matches.items():
            expected = [match.player.get(index, UNSEATED) for index in range(len(self.seats))]
            assert self.book.player[arena].tolist() == expected
            assert self.book.steps[arena] == match.steps


@settings(deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["auto", "returns", "last_reward"]),
    st.sampled_from([[LEFT], [LEFT, RIGHT], [RIGHT, LEFT, KEEPER], [BehaviorId("Duel", team) for team in (5, 0, 2)]]),
    st.booleans(),
)
def test_columns_hold_what_plain_objects_hold(
    seed: int, rule: OutcomeRule, seats: list[BehaviorId], seats_before_decisions: bool
) -> None:
    rng = np.random.default_rng(seed)
    twins = Twins(rng, rule, list(seats))
    for step in range(25):
        twins.end_some()
        over = twins.compare_finished(learning_team=int(rng.choice([seat.team for seat in seats] + [3])))
        if seats_before_decisions:
            twins.start(over)
        twins.go_on(arenas=1 + step // 8)
        if not seats_before_decisions:
            abandoned = [arena for arena in twins.matches if rng.random() < 0.03]
            twins.start(sorted({*over, *abandoned}))
        twins.compare_columns()


def test_the_comparison_above_does_see_matches_end() -> None:
    twins = Twins(np.random.default_rng(0), "auto", [LEFT, RIGHT])
    for _ in range(200):
        twins.end_some()
        twins.start(twins.compare_finished(0))
        twins.go_on(arenas=2)
    assert twins.finished > 5


ZERO = np.zeros(1, np.float32)
ARENA = np.zeros(1, np.int64)
BEGINS, GOES_ON = np.ones(1, np.bool_), np.zeros(1, np.bool_)
ENDS_BY_RULES = np.zeros(1, np.bool_)


def book_of(*seats: BehaviorId, rule: OutcomeRule = "auto") -> MatchBook:
    book = MatchBook(rule=rule)
    for seat in seats:
        book.seat(seat)
    book.make_room(1)
    return book


def asks(book: MatchBook, seat: BehaviorId, *, begins: bool) -> None:
    book.add_decisions(book.seat(seat), ARENA, ZERO, BEGINS if begins else GOES_ON)


def ends(book: MatchBook, seat: BehaviorId) -> None:
    book.add_terminals(book.seat(seat), ARENA, ZERO, ENDS_BY_RULES, None)


def test_match_lasts_until_its_last_agent_has_ended() -> None:
    book = book_of(LEFT, RIGHT)
    for seat in (LEFT, RIGHT):
        asks(book, seat, begins=True)
    ends(book, LEFT)
    assert book.finished().tolist() == []
    ends(book, RIGHT)
    assert book.finished().tolist() == [0]


def test_arena_in_which_nobody_has_played_is_not_finished() -> None:
    assert book_of(LEFT, RIGHT).finished().tolist() == []


def test_every_decision_of_a_match_is_counted_the_first_ones_too() -> None:
    # The order of the collector: the agents of the next match have asked when its players are seated.
    book = book_of(LEFT, RIGHT)
    for _ in range(2):
        for seat in (LEFT, RIGHT):
            asks(book, seat, begins=True)
        book.start(ARENA, np.array([0, 0]), np.zeros(2, np.bool_))
        for seat in (LEFT, RIGHT):
            asks(book, seat, begins=False)
            asks(book, seat, begins=False)
            ends(book, seat)
        assert book.result(0, learning_team=None, name_of=lambda *_: "").steps == 6


def test_team_mates_of_different_behaviors_are_one_side() -> None:
    book = book_of(RIGHT, LEFT, KEEPER)
    for seat in (RIGHT, LEFT, KEEPER):
        asks(book, seat, begins=True)
        ends(book, seat)
    result = book.result(0, learning_team=None, name_of=lambda seat, *_: seat.name)
    assert result.teams == (0, 7)
    assert [[name for _, name in side] for side in result.seats] == [["Left"], ["Right", "Keeper"]]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 200), st.floats(-1, 1, width=32))
def test_equal_rewards_draw_whatever_the_sizes_of_the_teams(many: int, few: int, steps: int, reward: float) -> None:
    book = book_of(LEFT, RIGHT)
    for seat, agents in ((0, many), (1, few)):
        arena = np.zeros(agents, np.int64)
        book.add_decisions(seat, arena, np.zeros(agents, np.float32), np.ones(agents, np.bool_))
        for _ in range(steps):
            book.add_decisions(seat, arena, np.full(agents, reward, np.float32), np.zeros(agents, np.bool_))
        book.add_terminals(seat, arena, np.full(agents, reward, np.float32), np.zeros(agents, np.bool_), None)
    scores = book.result(0, learning_team=None, name_of=lambda *_: "").scores
    assert scores is not None
    assert scores[0] == scores[1]


def test_agents_of_an_abandoned_match_play_on_in_the_next() -> None:
    book = book_of(LEFT)
    asks(book, LEFT, begins=True)
    book.start(ARENA, np.array([3]), np.zeros(1, np.bool_))
    assert book.finished().tolist() == []
    ends(book, LEFT)
    assert book.finished().tolist() == [0]


def test_newcomer_is_seated_and_nobody_else_is_moved() -> None:
    book = book_of(LEFT)
    asks(book, LEFT, begins=True)
    book.start(ARENA, np.array([4]), np.array([True]))
    book.seat(RIGHT)
    assert book.seat_newcomers(np.array([8, 9]), np.array([False, True]))
    assert book.player.tolist() == [[4, 9]]
    assert book.rated_live.tolist() == [[True, True]]
    assert book.steps[0] == 1
    assert not book.seat_newcomers(np.array([5, 5]), np.array([False, False]))


def test_nobody_is_seated_before_somebody_plays() -> None:
    book = book_of(LEFT, RIGHT)
    player, rated_live = np.array([4, 5]), np.array([True, False])
    book.start(ARENA, player, rated_live)
    assert not book.seat_newcomers(player, rated_live)
    assert book.player.tolist() == [[UNSEATED, UNSEATED]]
    asks(book, RIGHT, begins=True)
    assert book.seat_newcomers(player, rated_live)
    assert book.player.tolist() == [[4, 5]]


def test_more_arenas_and_seats_leave_what_is_there() -> None:
    book = book_of(LEFT)
    asks(book, LEFT, begins=True)
    book.start(ARENA, np.array([4]), np.array([True]))
    book.make_room(3)
    book.make_room(2)
    assert book.seat(RIGHT) == 1
    assert book.seat(LEFT) == 0
    assert book.player.tolist() == [[4, UNSEATED], [UNSEATED, UNSEATED], [UNSEATED, UNSEATED]]
    assert book.steps.tolist() == [1, 0, 0]
    ends(book, LEFT)
    assert book.finished().tolist() == [0]


def played_book(seed: int) -> Twins:
    twins = Twins(np.random.default_rng(seed), "auto", [LEFT, RIGHT, KEEPER])
    for _ in range(20):
        twins.end_some()
        twins.start(twins.compare_finished(0))
        twins.go_on(arenas=3)
    return twins


@pytest.mark.parametrize("seed", range(3))
def test_book_comes_back_from_its_state_and_goes_on_alike(seed: int) -> None:
    twins, stays = played_book(seed), played_book(seed)
    again = MatchBook(rule="auto")
    again.restore(twins.book.state())
    twins.book = again
    for pair in (twins, stays):
        for _ in range(10):
            pair.end_some()
            pair.start(pair.compare_finished(0))
            pair.go_on(arenas=4)
    first, second = twins.book.state(), stays.book.state()
    assert first["seats"] == second["seats"]
    assert np.array_equal(first["steps"], second["steps"])
    assert np.array_equal(first["interrupted"], second["interrupted"])
    for name, column in first["columns"].items():
        assert np.array_equal(column, second["columns"][name]), name


def test_state_of_a_book_does_not_follow_it_nor_the_book_its_state() -> None:
    book = played_book(0).book
    state = book.state()
    before = copy.deepcopy(state)
    other = MatchBook(rule="auto")
    other.restore(state)
    for one in (book, other):
        for seat in range(3):
            one.add_terminals(seat, ARENA, ZERO, ~ENDS_BY_RULES, None)
        one.add_decisions(0, ARENA, ZERO, BEGINS)
    assert state["seats"] == before["seats"]
    for was, now in zip(_arrays(before), _arrays(state), strict=True):
        assert np.array_equal(was, now)


def _arrays(state: dict[str, Any]) -> list[NDArray[Any]]:
    return [state["steps"], state["interrupted"], *state["columns"].values()]
