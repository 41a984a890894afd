"""The lineup by itself: matches are played at a word, so that every rule can be seen alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sparring.errors import CheckpointError, SettingsError, SpecError
from sparring.networks.policy import Policy
from sparring.selfplay import LIVE, Lineup, LineupEvent, MatchResult
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorId
from tests.selfplay.builders import change_weights, plan, policy_of

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


# -- who sits where --------------------------------------------------------------------------------------------


def test_learner_meets_a_copy_of_the_policy_it_starts_from() -> None:
    club = duel(play_against_latest_model_ratio=0.0)
    assert club.start() == {DUEL0: LIVE, DUEL1: 0}
    assert club.lineup.pools["Duel"][0].weights_hash == club.live["Duel"].weights_hash()


def test_copy_stays_behind_when_the_learner_goes_on() -> None:
    club = duel(play_against_latest_model_ratio=1.0)
    met = club.lineup.pools["Duel"][club.start()[DUEL1]].policy
    before = met.weights_hash()
    change_weights(club.live["Duel"])
    assert met.weights_hash() == before != club.live["Duel"].weights_hash()


def test_draw_takes_effect_when_the_next_match_begins() -> None:
    club = duel(swap_steps=40, play_against_latest_model_ratio=1.0)
    club.start()
    change_weights(club.live["Duel"])
    assert kinds(club.advance(Duel_opponents=40)) == ["drawn"]
    assert club.sit() == {DUEL0: LIVE, DUEL1: 0}
    club.end(1, -1)
    assert club.sitting() == {DUEL0: LIVE, DUEL1: 1}


def test_passed_turn_takes_effect_when_the_next_match_begins() -> None:
    club = duel(team_change=100, play_against_latest_model_ratio=1.0)
    club.start()
    events = club.advance(Duel=100)
    assert kinds(events) == ["turn", "drawn"]
    assert events[0].text == "team 1 (Duel) learns now"
    assert club.sit() == {DUEL0: LIVE, DUEL1: 0}
    club.end(1, -1)
    assert club.sitting() == {DUEL0: 0, DUEL1: LIVE}


def test_every_rival_team_is_drawn_by_itself() -> None:
    club = duel(DUEL0, DUEL1, DUEL2, save_steps=1, window=50, play_against_latest_model_ratio=0.0, swap_steps=1)
    club.start()
    for step in range(1, 50):
        change_weights(club.live["Duel"])
        club.advance(Duel=step)
    pairs = set()
    for step in range(1, 30):
        club.advance(Duel_opponents=step)
        club.end(0, 0, 0)
        pairs.add((club.sitting()[DUEL1], club.sitting()[DUEL2]))
    assert all(club.sitting()[seat] != LIVE for seat in (DUEL1, DUEL2))
    assert len(pairs) > 20
    assert any(first != second for first, second in pairs)


def test_turn_that_passes_draws_once_and_starts_the_count_to_the_next_draw_anew() -> None:
    club = duel(team_change=100, swap_steps=40)
    club.start()
    club.advance(Duel_opponents=70)
    assert kinds(club.advance(Duel=100, Duel_opponents=99)) == ["turn", "drawn"]
    assert club.advance(Duel_opponents=138) == []
    assert kinds(club.advance(Duel_opponents=139)) == ["drawn"]


def test_only_the_opponents_that_are_due_are_drawn() -> None:
    third = BehaviorId("Third", 2)
    club = Club(dict.fromkeys(("Left", "Right", "Third"), plan(**{**FAR, "swap_steps": 40})), LEFT, RIGHT, third)
    club.start()
    events = club.advance(Right_opponents=40, Third_opponents=39)
    assert [(event.kind, event.behavior) for event in events] == [("drawn", "Right")]


def test_finished_side_is_not_given_the_turn_but_goes_on_playing() -> None:
    club = two_roles(team_change=100)
    club.start()
    club.finished = "Right".__eq__
    assert club.advance(Left=100) == []
    assert club.lineup.learns(LEFT)
    assert club.sitting()[RIGHT] != LIVE


def test_each_of_thirteen_teams_learns_against_the_other_twelve() -> None:
    seats = [BehaviorId("Duel", 3 * team) for team in range(13)]
    club = duel(*seats, team_change=100)
    club.start()
    learned = []
    for turn in range(1, 27):
        (learner,) = (seat for seat, player in club.sitting().items() if player == LIVE)
        learned.append(learner)
        club.advance(Duel=100 * turn)
        club.end(*[0.0] * 13)
    assert learned == seats * 2


def test_lone_team_keeps_the_turn_without_a_word() -> None:
    club = duel(DUEL0, team_change=100)
    club.start()
    assert club.advance(Duel=100) == []
    assert club.sitting() == {DUEL0: LIVE}


def test_behavior_without_self_play_always_learns_and_sits_itself() -> None:
    crowd = BehaviorId("Crowd", 1)
    club = Club({"Duel": plan(**{**FAR, "team_change": 10}), "Crowd": plan(off=True)}, DUEL0, crowd, DUEL1)
    assert club.start() == {DUEL0: LIVE, crowd: LIVE, DUEL1: 0}
    club.advance(Duel=10)
    assert club.lineup.learns(crowd)
    club.end(0, 0, 0)
    assert club.sitting() == {DUEL0: 0, crowd: LIVE, DUEL1: LIVE}


def test_opponents_are_told_in_words() -> None:
    club = duel(DUEL0, DUEL1, DUEL2, save_steps=5_000, window=1, play_against_latest_model_ratio=0.0, swap_steps=1)
    club.start()
    club.advance(Duel=5_000)
    club.advance(Duel_opponents=1)
    assert club.lineup.opponent_text() == {"Duel": "Duel of step 5,000, Duel of step 5,000"}


def test_nobody_is_met_before_the_first_step() -> None:
    assert duel().lineup.opponent_text() == {}


# -- teams that come late --------------------------------------------------------------------------------------


def test_late_team_is_played_by_a_copy_not_by_the_learner() -> None:
    club = duel(DUEL0, play_against_latest_model_ratio=0.0)
    club.start()
    club.join(DUEL1)
    assert kinds(club.advance()) == ["drawn"]
    assert club.sit() == {DUEL0: LIVE, DUEL1: 0}


def test_late_team_leaves_the_running_match_as_it_is() -> None:
    club = duel(DUEL0, DUEL1, swap_steps=1, play_against_latest_model_ratio=1.0)
    club.start()
    change_weights(club.live["Duel"])
    club.advance(Duel_opponents=1)
    club.join(DUEL2)
    club.advance()
    steps = int(club.lineup.book.steps[0])
    assert club.sit() == {DUEL0: LIVE, DUEL1: 0, DUEL2: 1}
    assert club.lineup.book.steps[0] == steps


def test_late_team_gets_its_turn() -> None:
    club = duel(DUEL1, team_change=100)
    club.start()
    club.join(DUEL0)
    club.advance()
    assert club.lineup.learns(DUEL1)
    club.advance(Duel=100)
    assert club.lineup.learns(DUEL0)


@pytest.mark.parametrize("text", ["Wolf?team=-1", "Wolf?team=-0", "Wolf?team=1.5", "Wolf?team="])
def test_team_that_is_no_whole_number_of_at_least_zero_is_refused_by_name(text: str) -> None:
    with pytest.raises(SpecError, match="Wolf"):
        BehaviorId.parse(text)


@pytest.mark.parametrize("key", ["outcome", "rating_k"])
def test_behaviors_that_rate_one_match_differently_are_refused(key: str) -> None:
    odd = {"outcome": "returns"} if key == "outcome" else {"rating_k": 16.0}
    with pytest.raises(SettingsError) as caught:
        Club({"Left": plan(**FAR), "Right": plan(**FAR, **odd)}, LEFT, RIGHT)
    (finding,) = caught.value.findings
    assert finding.where == f"behaviors.Right.self_play.{key}"
    assert "behaviors.Left" in finding.expected


# -- snapshots -------------------------------------------------------------------------------------------------


def test_snapshot_is_saved_in_every_interval_and_starts_from_the_learners_rating() -> None:
    club = duel(save_steps=50)
    club.start()
    club.end(1, -1)
    assert kinds(club.advance(Duel=49)) == []
    (event,) = club.advance(Duel=51)
    assert event.snapshot is not None
    assert (event.kind, event.snapshot.player, event.snapshot.origin) == ("saved", "Duel@51#1", "saved")
    assert club.rating("Duel@51#1") == club.rating("Duel") != 1200.0
    assert kinds(club.advance(Duel=99)) == []
    assert kinds(club.advance(Duel=100)) == ["saved"]


def test_behavior_that_is_not_learning_saves_nothing_however_far_it_jumped() -> None:
    club = two_roles(save_steps=10, team_change=100)
    club.start()
    assert kinds(club.advance(Left=155))[:2] == ["saved", "turn"]
    assert all(club.advance() == [] for _ in range(20))
    assert len(club.lineup.pools["Left"]) == 2


def test_seated_snapshot_outlives_the_window_until_its_match_is_over() -> None:
    club = duel(save_steps=10, window=1, swap_steps=1, play_against_latest_model_ratio=0.0)
    assert club.start()[DUEL1] == 0
    for step in (10, 20):
        change_weights(club.live["Duel"])
        club.advance(Duel=step)
    club.advance(Duel_opponents=1)
    club.sit()
    assert "Duel@0#0" in club.lineup.ratings
    assert club.lineup.pools["Duel"][0].step == 0
    results, _ = club.end(1, -1)
    assert results[0].seats[1] == ((DUEL1, "Duel@0#0"),)
    assert club.sitting()[DUEL1] == 2
    assert [snapshot.number for snapshot in club.lineup.pools["Duel"].all] == [2]
    assert "Duel@0#0" not in club.lineup.ratings


def test_latest_policy_that_is_held_already_is_not_copied_again() -> None:
    club = duel(swap_steps=1, play_against_latest_model_ratio=1.0)
    club.start()
    for count in range(1, 5):
        club.advance(Duel_opponents=count)
    assert len(club.lineup.pools["Duel"].all) == 1


# -- ratings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["auto", "returns", "last_reward"])
def test_winner_gains_what_the_loser_loses(rule: str) -> None:
    club = duel(outcome=rule, rating_k=16.0)
    club.start()
    club.end(1, -1)
    assert (club.rating("Duel"), club.rating("Duel@0#0")) == (1208.0, 1192.0)


def test_rating_moves_in_a_symmetric_game_against_the_latest_only() -> None:
    club = duel(swap_steps=1, play_against_latest_model_ratio=1.0)
    club.start()
    ratings = []
    for count in range(1, 5):
        change_weights(club.live["Duel"])
        club.advance(Duel=count, Duel_opponents=count)
        club.end(1, -1)
        ratings.append(club.rating("Duel"))
    assert ratings == sorted(set(ratings))


def test_frozen_side_at_its_latest_is_rated_as_itself() -> None:
    club = two_roles(play_against_latest_model_ratio=1.0, rating_k=2.0)
    club.start()
    club.end(1, -1)
    assert (club.rating("Left"), club.rating("Right"), club.rating("Right@0#0")) == (1201.0, 1199.0, 1200.0)


def test_frozen_side_in_the_past_is_rated_as_its_snapshot() -> None:
    club = two_roles(play_against_latest_model_ratio=0.0, rating_k=2.0)
    club.start()
    club.end(1, -1)
    assert (club.rating("Left"), club.rating("Right"), club.rating("Right@0#0")) == (1201.0, 1200.0, 1199.0)


def test_no_points_come_or_go_whatever_the_teams_do() -> None:
    club = duel(DUEL0, DUEL1, DUEL2, play_against_latest_model_ratio=0.0, rating_k=32.0)
    club.start()
    rng = np.random.default_rng(0)
    for _ in range(50):
        club.end(*rng.integers(-1, 2, 3).tolist())
    assert club.rating("Duel") + club.rating("Duel@0#0") == pytest.approx(2400.0, abs=1e-8)
    assert club.rating("Duel") != 1200.0


def test_side_of_which_nobody_has_self_play_is_not_rated_against() -> None:
    crowd = BehaviorId("Crowd", 1)
    club = Club({"Duel": plan(**FAR), "Crowd": plan(off=True)}, DUEL0, crowd)
    club.start()
    club.end(1, -1)
    assert club.rating("Duel") == 1200.0
    assert "Crowd" not in club.lineup.ratings


def test_lone_team_is_not_rated() -> None:
    club = duel(DUEL0)
    club.start()
    results, _ = club.end(1)
    assert len(results) == 1
    assert club.lineup.ratings["Duel"].games == 0


def test_interrupted_match_is_not_rated_by_the_last_reward() -> None:
    club = duel(outcome="last_reward")
    club.start()
    club.end(1, -1, interrupted=True)
    assert club.lineup.ratings["Duel"].games == 0


# -- the warning about outcomes that clash ---------------------------------------------------------------------


def warnings_of(club: Club, matches: int, *rewards: float, interrupted: bool = False) -> int:
    return sum(kinds(club.end(*rewards, interrupted=interrupted)[1]).count("warning") for _ in range(matches))


def test_warning_comes_with_the_twentieth_match_that_both_sides_lost_and_once() -> None:
    club = duel(outcome="last_reward")
    club.start()
    assert warnings_of(club, 19, -0.01, -0.01) == 0
    (event,) = club.end(-0.01, -0.01)[1]
    assert event.kind == "warning"
    assert "self_play.outcome" in event.text
    assert warnings_of(club, 60, -0.01, -0.01) == 0


def test_matches_that_mirror_are_not_warned_of() -> None:
    club = duel(outcome="last_reward")
    club.start()
    assert warnings_of(club, 50, 1, -1) == 0


def test_one_match_that_mirrors_starts_the_watch_anew() -> None:
    club = duel(outcome="last_reward")
    club.start()
    assert warnings_of(club, 19, -1, -1) + warnings_of(club, 1, 1, -1) + warnings_of(club, 19, -1, -1) == 0
    assert warnings_of(club, 1, -1, -1) == 1


def test_matches_without_a_result_do_not_hide_the_clash() -> None:
    club = duel(outcome="last_reward")
    club.start()
    warned = 0
    for _ in range(20):
        warned += warnings_of(club, 1, -1, -1)
        warned += warnings_of(club, 1, -1, -1, interrupted=True)
    assert warned == 1


def test_returns_do_not_clash() -> None:
    club = duel(outcome="returns")
    club.start()
    assert warnings_of(club, 50, -0.01, -0.01) == 0


# -- matches nobody learns from --------------------------------------------------------------------------------


def test_endless_match_is_seated_anew_once_the_turn_has_passed() -> None:
    club = duel(team_change=100, play_against_latest_model_ratio=0.0)
    club.start()
    for _ in range(60):
        club.ask(begins=False)
    assert club.lineup.overdue().tolist() == []
    club.advance(Duel=120)
    assert club.lineup.overdue().tolist() == [0]
    assert club.sit(club.lineup.overdue()) == {DUEL0: 0, DUEL1: LIVE}
    assert club.lineup.overdue().tolist() == []


def test_match_that_is_not_long_yet_is_played_out_after_the_turn_has_passed() -> None:
    club = duel(team_change=100)
    club.start()
    club.advance(Duel=120)
    assert club.lineup.overdue().tolist() == []


def test_nothing_is_overdue_without_self_play() -> None:
    club = Club({"Crowd": plan(off=True)}, BehaviorId("Crowd", 0))
    assert club.lineup.overdue().tolist() == []
    club.ask(begins=True)
    club.sit()
    assert club.lineup.overdue().tolist() == []


# -- state -----------------------------------------------------------------------------------------------------

BUSY: dict[str, Any] = {
    "save_steps": 7,
    "swap_steps": 5,
    "team_change": 30,
    "window": 3,
    "play_against_latest_model_ratio": 0.5,
    "outcome": "last_reward",
    "rating_k": 4.0,
}


def play_on(club: Club, rng: np.random.Generator, matches: int) -> list[str]:
    """Plays matches with learning, saving, swapping and turns; gives everything that happened in words."""
    lineup = club.lineup
    told = []
    for _ in range(matches):
        for name, pool in lineup.pools.items():
            clock = lineup.schedule.clock(name)
            if any(lineup.learns(seat) for seat in lineup.book.seats if seat.name == name):
                clock.learner_steps += 4
                change_weights(club.live[name])
            clock.opponent_steps += 3
            told += [snapshot.player for snapshot in pool.all]
        told += [f"{event.kind} {event.text}" for event in club.advance()]
        rewards = rng.integers(-1, 2, len(lineup.book.seats)).tolist()
        told += [str(club.end(*rewards)), str(club.sitting()), str(lineup.ratings.state())]
    return told


def busy_club(kind: str) -> Club:
    if kind == "duel":
        return Club({"Duel": plan(**BUSY)}, DUEL2, DUEL0, DUEL1)
    return Club({"Left": plan(**BUSY), "Right": plan(**{**BUSY, "save_steps": 11})}, RIGHT, LEFT)


@pytest.mark.parametrize("kind", ["duel", "two roles"])
def test_lineup_goes_on_from_its_state_as_if_nothing_had_happened(kind: str) -> None:
    club, rng = busy_club(kind), np.random.default_rng(0)
    club.start()
    play_on(club, rng, 37)
    other = busy_club(kind)
    other.live = {name: policy.with_state(policy.state()) for name, policy in club.live.items()}
    other.lineup.restore(club.lineup.state(), other.live)
    again = np.random.default_rng()
    again.bit_generator.state = rng.bit_generator.state
    first, second = play_on(club, rng, 40), play_on(other, again, 40)
    assert first == second
    assert any(line.startswith("turn") for line in first)
    assert any(line.startswith("saved") for line in first)


def test_watch_for_clashes_goes_on_from_its_state() -> None:
    club, other = duel(outcome="last_reward"), duel(outcome="last_reward")
    club.start()
    warnings_of(club, 15, -1, -1)
    other.lineup.restore(club.lineup.state(), other.live)
    assert warnings_of(other, 4, -1, -1) == 0
    assert warnings_of(other, 1, -1, -1) == 1
    third = duel(outcome="last_reward")
    third.lineup.restore(other.lineup.state(), third.live)
    assert warnings_of(third, 40, -1, -1) == 0


def test_team_that_had_not_appeared_when_the_state_was_taken_still_gets_its_turn() -> None:
    early, late = duel(DUEL0, team_change=100), duel(DUEL0, DUEL1, team_change=100)
    early.start()
    late.lineup.restore(early.lineup.state(), late.live)
    late.ask(begins=True)
    late.advance()
    assert late.sit()[DUEL1] == 0
    late.advance(Duel=100)
    assert late.lineup.learns(DUEL1)


def test_team_of_the_state_that_has_not_appeared_again_keeps_its_turn() -> None:
    early, late = duel(DUEL0, DUEL1, team_change=100), duel(DUEL1, team_change=100)
    early.start()
    late.lineup.restore(early.lineup.state(), late.live)
    assert late.lineup.learns(DUEL0)
    late.join(DUEL0)
    assert late.lineup.book.seats == [DUEL0, DUEL1]


def test_opponents_of_a_behavior_that_has_no_self_play_now_are_told_of() -> None:
    club = duel()
    club.start()
    plain = Club({"Duel": plan(off=True)}, DUEL0, DUEL1)
    with pytest.raises(CheckpointError, match="without self_play") as caught:
        plain.lineup.restore(club.lineup.state(), plain.live)
    assert caught.value.findings[0].where == "Duel"


def test_behavior_that_has_self_play_only_now_starts_with_what_it_has_learned() -> None:
    club = Club({"Duel": plan(off=True)}, DUEL0, DUEL1)
    club.start()
    change_weights(club.live["Duel"])
    other = duel()
    other.lineup.restore(club.lineup.state(), club.live)
    other.live = club.live
    other.ask(begins=True)
    other.advance()
    assert other.lineup.pools["Duel"][0].weights_hash == club.live["Duel"].weights_hash()
    assert other.rating("Duel") == 1200.0
