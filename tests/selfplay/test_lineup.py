"""The lineup: who sits where, who comes late, which snapshots are kept."""

from __future__ import annotations

import pytest

from sparring.errors import SettingsError, SpecError
from sparring.selfplay import LIVE
from sparring.specs import BehaviorId
from tests.selfplay.builders import change_weights, plan
from tests.selfplay.club import DUEL0, DUEL1, DUEL2, FAR, LEFT, RIGHT, Club, duel, kinds, two_roles

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
