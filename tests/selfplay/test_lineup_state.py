"""The lineup: it goes on from its state as if nothing had happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparring.errors import CheckpointError
from tests.selfplay.builders import change_weights, plan
from tests.selfplay.club import DUEL0, DUEL1, DUEL2, LEFT, RIGHT, Club, duel, warnings_of

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
