"""The lineup: what matches do to ratings, and when outcomes clash."""

from __future__ import annotations

import numpy as np
import pytest

from sparring.specs import BehaviorId
from tests.selfplay.builders import change_weights, plan
from tests.selfplay.club import DUEL0, DUEL1, DUEL2, FAR, Club, duel, two_roles, warnings_of


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
